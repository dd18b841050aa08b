"""One method against others: differences by hand, corrections over everything, and names that are not there."""

import numpy as np
import pytest

from shapeopt.bench.comparison import Scale, comparison_table, contests, summary
from shapeopt.bench.digest import Digest
from shapeopt.bench.formats import to_csv, to_markdown
from shapeopt.bench.metrics import METRICS
from shapeopt.bench.protocols import PROTOCOLS
from shapeopt.bench.statistics import Verdict

CELLS = PROTOCOLS["near"].cells[:2]
TASKS = 20
BASE = np.linspace(1, 2, TASKS)


def made(method, gap, cell=CELLS[0], metric="best_gap"):
    values = {name: np.full(TASKS, np.nan) for name in METRICS} | {metric: np.asarray(gap, float)}
    return Digest("near", cell.describe(), method, 0, values, 0.0, 0.0, 0.0, {})


def only(found, *words, **settings):
    (contest,) = contests(found, *words, **settings)
    return contest.comparison


def test_the_difference_of_logarithms_is_in_decades():
    told = only([made("a", BASE * 1e-3), made("b", BASE)], "a")
    np.testing.assert_allclose(told.mean_difference, -3.0)
    assert told.verdict is Verdict.BETTER and (told.wins, told.ties, told.losses) == (TASKS, 0, 0)
    np.testing.assert_allclose(told.interval, (-3, -3))
    assert only([made("a", BASE * 1e-3), made("b", BASE)], "b").verdict is Verdict.WORSE


def test_gaps_below_the_floor_are_as_good_as_the_floor():
    told = only([made("a", np.zeros(TASKS)), made("b", np.full(TASKS, 1e-10))], "a")
    np.testing.assert_allclose(told.mean_difference, -2.0)
    assert only([made("a", np.zeros(TASKS)), made("b", np.full(TASKS, 1e-13))], "a").ties == TASKS


def test_numbers_that_agree_to_three_digits_tie():
    assert only([made("a", BASE), made("b", BASE * 1.0009)], "a").ties == TASKS
    assert only([made("a", BASE), made("b", BASE * 1.002)], "a").wins == TASKS
    assert only([made("a", BASE * 1e-9), made("b", BASE * 1.0009e-9)], "a").ties == TASKS


def test_plain_differences_are_in_the_metric_s_unit_and_higher_hits_are_better():
    assert only([made("a", BASE), made("b", BASE + 1)], "a", scale=Scale.PLAIN).mean_difference == pytest.approx(-1)
    hits = [made("a", np.tile([1.0, 0.5], 10), metric="hit_best"), made("b", np.zeros(TASKS), metric="hit_best")]
    told = only(hits, "a", metric="hit_best", scale=Scale.PLAIN)
    assert told.mean_difference == 0.75 and told.verdict is Verdict.BETTER


def test_a_run_that_broke_is_the_worst():
    broken = BASE.copy()
    broken[:15] = np.inf
    told = only([made("a", BASE), made("b", broken)], "a")
    assert (told.wins, told.ties, told.losses) == (15, 5, 0) and told.verdict is Verdict.BETTER


def test_the_correction_is_over_all_cells_and_rivals():
    found = [made("a", BASE, cell) for cell in CELLS]
    found += [made(rival, BASE * 10, cell) for rival in ("b", "c") for cell in CELLS]
    alone = only([found[0], found[2]], "a")
    fought = contests(found, "a")
    assert [(contest.rival, contest.first.place) for contest in fought] == [
        ("b", CELLS[0].name),
        ("b", CELLS[1].name),
        ("c", CELLS[0].name),
        ("c", CELLS[1].name),
    ]
    for contest in fought:
        assert contest.comparison.p == alone.p
        np.testing.assert_allclose(contest.comparison.p_holm, 4 * alone.p)
    assert {contest.rival for contest in contests(found, "a", ["c"])} == {"c"}


def test_cells_that_one_of_them_lacks_or_that_nobody_knows_are_left_out():
    unknown = np.full(TASKS, np.nan)
    found = [made("a", BASE, CELLS[0]), made("b", BASE, CELLS[0]), made("a", BASE, CELLS[1])]
    assert len(contests(found, "a")) == 1
    assert contests([made("a", unknown), made("b", unknown)], "a") == []


def test_the_table_and_its_summary_line():
    found = [made("a", BASE * 1e-3, CELLS[0]), made("b", BASE, CELLS[0])]
    found += [made("a", BASE, CELLS[1]), made("b", BASE, CELLS[1])]
    table = comparison_table(found, "a", seed=3)
    rows = [[entry.text for entry in row] for row in table.rows]
    assert rows[0][0] == "ackley 2, near, 500 calls, 64 tasks"
    assert rows[0][1:3] == ["-3", "-3.00 to -3.00"] and rows[0][4:] == ["better", "20", "0", "0"]
    assert rows[1][1:] == ["+0", "0.00 to 0.00", "1.0", "tie", "0", "20", "0"]
    line = (
        "a against b: better in 1, worse in 0, not told apart in 1 of 2 cells; 20 wins, 20 ties, 0 losses over tasks."
    )
    assert table.notes[0] == line == summary(contests(found, "a"))
    assert "negative is good" in to_markdown(table) and "all 2 comparisons" in to_markdown(table)
    assert to_csv(table).splitlines()[1].split(",")[-4:] == ["better", "20", "0", "0"]
    assert summary([]) == "No cell has both methods."


@pytest.mark.parametrize(
    ("words", "settings", "said"),
    [
        (["c"], {}, "`method` must be one of a, b; got 'c'"),
        (["a", ["c"]], {}, "`against` must be one of a, b; got 'c'"),
        (["a", ["a"]], {}, "`against` must not have the method itself; got 'a'"),
        (["a"], {"metric": "gap"}, "`metric` must be one of .*; got 'gap'"),
        (["a"], {"metric": "hit_best"}, "`scale` must be plain for what is not a gap; got log of 'hit_best'"),
    ],
)
def test_wrong_names_are_refused(words, settings, said):
    with pytest.raises(ValueError, match=said):
        contests([made("a", BASE), made("b", BASE)], *words, **settings)


def test_where_ranks_and_mean_disagree_the_table_says_which_it_trusts_and_why():
    better = BASE * 0.5
    better[0] = BASE[0] * 1e9  # one task lost by so much that the mean says nothing
    found = [made("a", better), made("b", BASE)]
    told = only(found, "a")
    assert told.verdict is Verdict.TIE and told.ranks is Verdict.BETTER and told.interval[0] < 0 < told.interval[1]
    text = to_markdown(comparison_table(found, "a"))
    assert "| better, by ranks |" in text and "the test is trusted there, as it weighs every task alike" in text
    assert "better in 1, worse in 0, not told apart in 0 of 1 cells" in text
    assert only(found, "b").ranks is Verdict.WORSE
