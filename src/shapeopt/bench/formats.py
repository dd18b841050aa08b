"""The three forms of a table: Markdown, CSV and LaTeX."""

import csv
import io
import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from .layout import MISSING, TIMES, Entry, Mark, Table

MARKING = (
    "Bold: better than every other method of its block, by Wilcoxon's signed-rank test over tasks with Holm's "
    "correction (5 %) and a bootstrap interval of the mean difference that excludes 0; gaps below 1e-8 count as that. "
    "†: leads, or can't be told from the one that leads. Nothing is marked where no method can be told from any other."
)
PAGE = 45  # rows that fit on a page of LaTeX
SMALL = r"{\scriptsize\setlength{\tabcolsep}{2pt}"
SHRUNK = r"\resizebox{\ifdim\width>\textwidth\textwidth\else\width\fi}{!}{%"
LATEX = MappingProxyType(
    {character: "\\" + character for character in "&%$#_{}"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "|": r"\textbar{}"}
    | {"±": r"$\pm$", "∞": r"$\infty$", "†": r"$^\dagger$", "↓": r"$\downarrow$", "↑": r"$\uparrow$"}
    | {"<": "$<$", ">": "$>$", "≤": r"$\leq$", MISSING: "--", TIMES: r"$\times$"}
)
POWER = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?)e(-?\d+)\b")


def to_markdown(table: Table) -> str:
    """A pipe table; a group's heading is a row of its own. Without rows, the title and the notes alone."""
    lines = [f"**{table.title}**"]
    if table.rows:
        lines += ["", _pipes(table.columns), "|" + "---|" * len(table.columns)]
    for group in table.groups:
        if group.heading:
            lines.append(_pipes([f"*{_no_pipes(group.heading)}*", *[""] * (len(table.columns) - 1)]))
        lines += [_pipes([_markdown(entry) for entry in row]) for row in group.rows]
    return "\n".join([*lines, *(f"\n{note}" for note in _notes(table))]) + "\n"


def to_csv(table: Table) -> str:
    """Comma-separated values in full precision, with columns for groups, deviations and marks where there are any."""
    wide = [any(len(row[i].numbers) > 1 for row in table.rows) for i in range(len(table.columns))]
    marked = [any(row[i].mark is not Mark.NONE for row in table.rows) for i in range(len(table.columns))]
    head = ["group"] if table.headed else []
    for column, has_deviation, has_mark in zip(table.columns, wide, marked, strict=True):
        head += [column] + [f"{column} std"] * has_deviation + [f"{column} mark"] * has_mark
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(head)
    for group in table.groups:
        for row in group.rows:
            fields = [group.heading] if table.headed else []
            for entry, has_deviation, has_mark in zip(row, wide, marked, strict=True):
                fields += _plain_fields(entry, has_deviation) + [entry.mark.value] * has_mark
            writer.writerow(fields)
    return file.getvalue()


def to_latex(table: Table) -> str:
    """A `table` of booktabs, shrunk to the text's width (graphicx); a `longtable` where it would outgrow a page."""
    about = _latex_text(" ".join([f"{table.title}.", *_notes(table)]))
    about = rf"\caption{{{about}}}\label{{tab:{table.name}}}"
    columns, head = "{" + "l" * len(table.columns) + "}", " & ".join(map(_latex_text, table.columns)) + r" \\"
    inner = [r"\toprule", head, r"\midrule", *_latex_rows(table), r"\bottomrule"]
    if len(table.rows) > PAGE:
        inner.insert(3, r"\endhead")
        lines = [SMALL, r"\begin{longtable}" + columns, about + r" \\", *inner, r"\end{longtable}}"]
    else:
        begin = [r"\begin{table}", r"\centering", about, SHRUNK, r"\begin{tabular}" + columns]
        lines = [*begin, *inner, r"\end{tabular}}", r"\end{table}"]
    return "\n".join(lines) + "\n"


def to_plain(table: Table) -> dict[str, Any]:
    """Numbers and words as JSON has them: an entry is its numbers (the figure, then its deviation), or its text."""

    def plain(entry: Entry) -> Any:
        numbers = [float(value) for value in entry.numbers]
        return numbers or (None if entry.text == MISSING else entry.text)

    groups = [
        {"heading": group.heading, "rows": [[plain(entry) for entry in row] for row in group.rows]}
        for group in table.groups
    ]
    about = {"name": table.name, "title": table.title, "columns": list(table.columns)}
    return about | {"groups": groups, "notes": list(table.notes)}


def _latex_rows(table: Table) -> list[str]:
    lines = []
    for i, group in enumerate(table.groups):
        if group.heading:
            lines += [r"\addlinespace[2pt]"] if i else []
            span = rf"\multicolumn{{{len(table.columns)}}}{{l}}"
            lines.append(span + r"{\textit{" + _latex_text(group.heading) + r"}} \\")
        lines += [" & ".join(_latex(entry) for entry in row) + r" \\" for row in group.rows]
    return lines


def _notes(table: Table) -> tuple[str, ...]:
    return (*((MARKING,) if table.marked else ()), *table.notes)


def _pipes(texts: Sequence[str]) -> str:
    return "| " + " | ".join(texts) + " |"


def _no_pipes(text: str) -> str:
    return text.replace("|", r"\|")


def _markdown(entry: Entry) -> str:
    text = _no_pipes(entry.text)
    return {Mark.NONE: text, Mark.BEST: f"**{text}**", Mark.LEADING: f"{text} †"}[entry.mark]


def _plain_fields(entry: Entry, has_deviation: bool) -> list[str]:
    """The figure and, where the column has them, its deviation."""
    fields = [repr(float(value)) for value in entry.numbers] or [entry.text if entry.text != MISSING else ""]
    return fields + [""] * (1 + has_deviation - len(fields))


def _latex_text(text: str) -> str:
    """Plain text with TeX's own characters escaped, and powers of ten as such."""
    parts = POWER.split(text)  # text, mantissa, exponent, text, ...
    escaped = ["".join(LATEX.get(character, character) for character in part) for part in parts]
    powers = (rf"${m}{{\times}}10^{{{e}}}$" for m, e in zip(parts[1::3], parts[2::3], strict=True))
    return escaped[0] + "".join(power + after for power, after in zip(powers, escaped[3::3], strict=True))


def _latex(entry: Entry) -> str:
    text = _latex_text(entry.text)
    return {Mark.NONE: text, Mark.BEST: rf"\textbf{{\boldmath {text}}}", Mark.LEADING: rf"{text}$^\dagger$"}[entry.mark]


FORMATS: Mapping[str, Callable[[Table], str]] = MappingProxyType(
    {"markdown": to_markdown, "csv": to_csv, "latex": to_latex}
)
