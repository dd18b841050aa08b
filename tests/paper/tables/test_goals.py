"""The table of goals: the paper's figure, the best baseline's, ours with an interval, and whether each is met."""

import numpy as np
import pytest

from shapeopt.bench.digest import Digest
from shapeopt.bench.layout import MISSING
from shapeopt.bench.metrics import METRICS
from shapeopt.paper.protocols import PROTOCOLS
from shapeopt.paper.tables.goals import GOALS, goals_table, median_interval

TASKS = 16
WAVE = np.linspace(-1, 1, TASKS)
ACKLEY = PROTOCOLS["paper"].cells[0].name  # where the paper's SHAPE has 1.004
WELLS = PROTOCOLS["multiwell"].cells[0].name  # .602 and .007


def made(method, gap, place=ACKLEY, protocol="paper", **numbers):
    """A digest with these gaps and hits, one number a task."""
    cell = next(cell for cell in PROTOCOLS[protocol].cells if cell.name == place)
    zeros = {name: np.zeros(TASKS) for name in METRICS}
    return Digest(protocol, cell.describe(), method, 0, zeros | {"lowest_gap": gap, **numbers}, 0.0, 0.0, 0.0, {})


def rows(table):
    return [dict(zip(table.columns, (entry.text for entry in row), strict=True)) for row in table.rows]


def test_the_goals_are_the_eighteen_cells_and_two_of_the_multi_wells():
    assert len({goal.place for goal in GOALS}) == 19 and len(GOALS) == 20
    assert [goal.metric for goal in GOALS[:18]] == ["lowest_gap"] * 18


@pytest.mark.parametrize(
    ("ours", "against"),
    [(0.5, ("met", "met")), (1.5, ("missed", "met")), (2.5, ("missed", "missed"))],
)
def test_a_mean_is_met_where_it_is_at_or_below_the_other(ours, against):
    found = [made("paper", ours + 0.1 * WAVE), made("gd", 3 + WAVE), made("nag", 2 + WAVE), made("cma", 0 * WAVE)]
    (row,) = rows(goals_table(found))
    assert (row["paper: SHAPE"], row["Best baseline"], row["its figure"]) == ("1.004 ± 0.401", "nag", "2.00")
    assert (row["against SHAPE"], row["against baselines"]) == against
    low, high = map(float, row["95 % interval"].split(" to "))
    assert ours - 0.05 < low < ours < high < ours + 0.05 and float(row["measured"]) == ours


def test_a_figure_within_our_interval_is_said_to_be():
    found = [made("paper", 1.0 + 0.1 * WAVE), made("gd", 0.999 + WAVE)]
    (row,) = rows(goals_table(found))
    assert (row["against SHAPE"], row["against baselines"]) == ("met, in the interval", "missed, in the interval")


def test_solved_gaps_are_as_good_as_each_other_and_a_run_that_diverges_is_the_worst():
    found = [made("universal", np.full(TASKS, 1e-9)), made("gd", np.full(TASKS, 1e-12))]
    assert rows(goals_table(found))[0]["against baselines"] == "met"
    broken = np.where(np.arange(TASKS) == 0, np.inf, 0.0)
    (row,) = rows(goals_table([made("universal", broken), made("gd", 5 + WAVE)]))
    assert (row["measured"], row["against baselines"], row["95 % interval"]) == (
        "∞",
        "missed, in the interval",
        "-∞ to ∞",
    )


def test_multi_wells_must_do_better_than_the_paper_by_success_and_by_median():
    hits = lambda share: np.where(np.arange(TASKS) < share * TASKS, 1.0, 0.0)  # noqa: E731
    skew = np.where(np.arange(TASKS) < 10, 0.001, 5.0)
    found = [
        made("paper", skew, WELLS, "multiwell", hit_best=hits(0.75)),
        made("gd", 1 + WAVE, WELLS, "multiwell", hit_best=hits(0.25)),
        made("nag", 2 + WAVE, WELLS, "multiwell", hit_best=hits(0.5)),
    ]
    success, median = rows(goals_table(found))
    assert (success["Goal"], success["paper: SHAPE"], success["measured"]) == ("Hit-best ↑", "0.602", "0.750")
    assert success["Best baseline"] == "nag"
    assert success["against SHAPE"].startswith("met") and success["against baselines"].startswith("met")
    assert (median["Goal"], median["paper: SHAPE"], median["measured"]) == ("Lowest gap, median ↓", "0.007", "0.00100")
    assert median["Best baseline"] == "gd" and median["against SHAPE"].startswith("met")
    note = next(note for note in goals_table(found).notes if "multi-wells:" in note)
    assert note.startswith("paper, figures of the multi-wells: SHAPE's figure is met in 2 of 2")


def test_each_policy_has_a_block_and_a_sentence_and_what_is_missing_is_named():
    gaps = {"paper": 0.5, "universal": 1.5, "gd": 1.0}
    table = goals_table([made(name, gap + 0.1 * WAVE) for name, gap in gaps.items()])
    assert [group.heading for group in table.groups] == ["policy paper", "policy universal"]
    assert (
        "paper, cells: SHAPE's figure is met in 1 of 1, the best baseline's in 1 of 1, both in 1 of 1." in table.notes
    )
    assert any(note.endswith(f"both in 0 of 1. Not both: {ACKLEY} (SHAPE, baselines).") for note in table.notes)
    assert sum(note.startswith("Records missing") for note in table.notes) == 2


def test_without_baselines_or_a_figure_of_the_paper_nothing_is_claimed():
    (row,) = rows(goals_table([made("paper", 0.5 + WAVE)]))
    assert row["Best baseline"] == row["its figure"] == row["against baselines"] == MISSING


def test_the_median_s_interval_covers_it_about_as_often_as_it_says():
    rng = np.random.default_rng(0)
    ends = np.array([median_interval(rng.exponential(size=40), seed=i) for i in range(200)])
    covered = np.mean((ends[:, 0] <= np.log(2)) & (np.log(2) <= ends[:, 1]))
    assert 0.9 < covered < 0.99
    assert median_interval(np.array([2.0]), seed=0) == (-np.inf, np.inf)
    assert median_interval(np.full(5, 2.0), seed=0) == (2.0, 2.0)
