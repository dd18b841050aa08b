"""Tables as data, and their three forms to the letter."""

import csv
import io

import pytest

from shapeopt.bench.formats import FORMATS, MARKING, PAGE, to_csv, to_latex, to_markdown
from shapeopt.bench.layout import MISSING, Entry, Group, Mark, Table, as_printed, mean_and_deviation, number, words

PLAIN = Table(
    "plain", "A title", ("Method", "Gap ↓"), (Group("", (words("a|b", "1"), words("c", MISSING))),), ("A note.",)
)
MARKED = Table(
    "marked",
    "Gaps & hits",
    ("Method", "Gap ↓"),
    (
        Group("ackley_2", ((Entry("x"), mean_and_deviation(1 / 3, 0.125, Mark.BEST)), (Entry("y"), Entry(MISSING)))),
        Group("levy_2", ((Entry("x"), mean_and_deviation(1.5e-9, None, Mark.LEADING)),)),
    ),
)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0.00"),
        (0.012, "0.0120"),
        (1.0, "1.00"),
        (99.96, "100"),
        (123.4, "123"),
        (1251.0, "1251"),
        (123456.0, "1.23e5"),
        (1.5e-9, "1.50e-9"),
        (-2.0, "-2.00"),
        (float("inf"), "∞"),
        (float("nan"), MISSING),
    ],
)
def test_a_figure_has_three_digits_and_few_letters(value, text):
    assert number(value) == text


@pytest.mark.parametrize(
    ("value", "text"), [(0.012, "0.012"), (2963.87, "2963.87"), (6.28e-4, "0.000628"), (2.05e-9, "2.05e-9")]
)
def test_a_figure_of_the_paper_keeps_its_digits(value, text):
    assert as_printed(value) == text


def test_markdown_is_a_pipe_table_with_the_notes_below():
    lines = [
        "**A title**",
        "",
        "| Method | Gap ↓ |",
        "|---|---|",
        r"| a\|b | 1 |",
        f"| c | {MISSING} |",
        "",
        "A note.",
        "",
    ]
    assert to_markdown(PLAIN) == "\n".join(lines)


def test_markdown_shows_headings_marks_and_how_marks_were_given():
    text = to_markdown(MARKED)
    rows = [
        "| *ackley_2* |  |",
        "| x | **0.333 ± 0.12** |",
        f"| y | {MISSING} |",
        "| *levy_2* |  |",
        "| x | 1.50e-9 † |",
    ]
    assert "\n".join(rows) in text
    assert text.count(MARKING) == 1 and MARKING not in to_markdown(PLAIN)


def test_markdown_without_rows_is_the_title_and_the_notes():
    empty = Table("empty", "Nothing", ("Method",), (), ("Records missing: all.",))
    assert to_markdown(empty) == "**Nothing**\n\nRecords missing: all.\n"


def test_csv_has_full_precision_deviations_and_marks_in_columns_of_their_own():
    rows = list(csv.reader(io.StringIO(to_csv(MARKED))))
    assert rows == [
        ["group", "Method", "Gap ↓", "Gap ↓ std", "Gap ↓ mark"],
        ["ackley_2", "x", repr(1 / 3), "0.125", "best"],
        ["ackley_2", "y", "", "", ""],
        ["levy_2", "x", "1.5e-09", "", "leading"],
    ]
    assert to_csv(PLAIN) == "Method,Gap ↓\na|b,1\nc,\n"


def test_latex_escapes_and_marks():
    text = to_latex(MARKED)
    assert r"\caption{Gaps \& hits. Bold:" in text and r"\label{tab:marked}" in text
    assert r"Method & Gap $\downarrow$ \\" in text
    assert r"\multicolumn{2}{l}{\textit{ackley\_2}} \\" in text
    assert r"x & \textbf{\boldmath 0.333 $\pm$ 0.12} \\" in text
    assert r"x & $1.50{\times}10^{-9}$$^\dagger$ \\" in text and r"y & -- \\" in text
    assert text.count("{") == text.count("}") and text.endswith("\\end{tabular}}\n\\end{table}\n")


def test_latex_breaks_a_table_that_would_outgrow_a_page():
    rows = tuple(words(str(i), "1") for i in range(PAGE + 1))
    long = to_latex(Table("long", "Long", ("a", "b"), (Group("", rows),)))
    assert r"\begin{longtable}{ll}" in long and r"\endhead" in long and r"\begin{table}" not in long
    assert long.count("{") == long.count("}")
    assert "longtable" not in to_latex(Table("short", "Short", ("a", "b"), (Group("", rows[:-1]),)))


def test_every_form_keeps_every_row():
    assert FORMATS.keys() == {"markdown", "csv", "latex"}
    for form in FORMATS.values():
        assert form(MARKED).count("ackley") and form(MARKED).count("levy")


def test_a_table_with_a_crooked_row_or_a_column_twice_is_refused():
    with pytest.raises(ValueError, match="`groups` must have 2 entries a row; got 1"):
        Table("t", "t", ("a", "b"), (Group("", (words("1"),)),))
    with pytest.raises(ValueError, match="`columns` must have distinct names"):
        Table("t", "t", ("a", "a"), ())
