"""The paper's figures: as many as it prints, some of them by eye, and one table against another."""

from collections import Counter

import numpy as np
import pytest

from shapeopt.bench.metrics import METRICS
from shapeopt.paper.tables.published import BUDGET_SETTINGS, TABLES, find, published
from shapeopt.tasks import FAMILIES

SYNTHETIC, REAL, MAIN = "summary:synthetic:benchmarks", "real:world:example:summary", "main:result_placeholder"
BUDGETS, ORACLES = "ackley_budget_particle_ablation_full", "ackley_oracle_ablation_full"
METHODS = {"gd", "momentum", "nag", "rmsprop", "adam", "lionk", "shampoo", "soap", "sophia", "shape"}
COUNTS = {
    MAIN: 12 + 12 * 5,  # three multi-well rows of four figures, twelve others of five
    "multiwell_fair_budget": 6 * 5,
    SYNTHETIC: 12 * 6 * 7,
    REAL: 6 * 6 * 7 - 6,  # NAG's row at d = 32 of the control problems has a hit rate alone
    BUDGETS: 6 * 10 * 6,
    ORACLES: 3 * 10 * 6,
    "ablation_ackley_compact_transposed": 6 * 5,
    "ackley_memory_controller_ablation_main": 2 * 3 * 2,
    "ackley_oracle_ablation_compact_transposed": 3 * 6,
}


def every():
    return [row for table in TABLES for row in published(table)]


def test_there_are_as_many_figures_as_the_paper_prints():
    assert {table: len(published(table)) for table in TABLES} == COUNTS


def test_every_block_of_the_full_tables_has_every_method():
    blocks = Counter((row.table, row.family, row.dimension, row.setting, row.metric) for row in every())
    assert {n for key, n in blocks.items() if key[0] == SYNTHETIC} == {6}
    assert {n for key, n in blocks.items() if key[0] in (BUDGETS, ORACLES)} == {10}
    assert {row.method for row in every()} == METHODS | {"shape_without_memory"}


@pytest.mark.parametrize(
    ("place", "mean", "std"),
    [
        ((SYNTHETIC, "ackley", 2, "", "shape", "final_distance"), 0.273, 0.041),
        ((SYNTHETIC, "ackley", 500, "", "adam", "best_gap"), 0.004, 6.28e-4),
        ((SYNTHETIC, "levy", 500, "", "rmsprop", "final_gap"), 2.05e-9, 5.14e-9),
        ((SYNTHETIC, "levy", 500, "", "rmsprop", "final_distance"), 1.72e-5, 2.05e-5),
        ((SYNTHETIC, "rastrigin", 500, "", "gd", "final_gap"), 1.21e4, 2963.870),
        ((SYNTHETIC, "rastrigin", 500, "", "rmsprop", "auc_best_gap"), 56.395, 9.620),
        ((SYNTHETIC, "rastrigin", 2, "", "momentum", "hit_final"), 0.002, 0.008),
        ((REAL, "phase_retrieval", 32, "", "shape", "best_gap"), 2.08e-5, 4.43e-6),
        ((REAL, "lennard_jones", 18, "", "rmsprop", "best_gap"), 0.021, 0.035),
        ((REAL, "control", 32, "", "gd", "auc_gap"), 3.06e5, 3.59e5),
        ((REAL, "control", 32, "", "nag", "hit_final"), 0.203, 0.371),
        ((REAL, "control", 8, "", "nag", "final_gap"), 4589.6, 1.05e4),
        ((MAIN, "rastrigin", None, "first_order", "shape", "auc_gap"), 1190, None),
        ((MAIN, "multiwell", 1, "noisy_first_order", "shape_without_memory", "calls"), 707.3, None),
        (("multiwell_fair_budget", "multiwell", 1, "", "nag", "best_gap_median"), 1.066, None),
        ((BUDGETS, "ackley", 2, "S1", "shape", "best_gap_lowest"), 2.2e-4, None),
        ((BUDGETS, "ackley", 2, "S6", "nag", "best_gap_lowest"), 1e-10, None),
        ((BUDGETS, "ackley", 2, "S5", "nag", "hit_trajectory"), 0.611, None),
        ((BUDGETS, "ackley", 2, "S3", "sophia", "distinct_minima"), 41, None),
        ((ORACLES, "ackley", 2, "zeroth_order", "rmsprop", "minima_hits"), 121749, None),
        ((ORACLES, "ackley", 2, "stochastic", "shape", "hit_final"), 0.594, None),
        (
            ("ackley_memory_controller_ablation_main", "ackley", 100, "without_controller", "shape", "best_gap"),
            0.685,
            None,
        ),
        (
            ("ackley_oracle_ablation_compact_transposed", "ackley", 2, "zeroth_order", "nag", "hit_trajectory"),
            0.904,
            None,
        ),
    ],
)
def test_a_figure_is_the_one_printed(place, mean, std):
    found = find(*place)
    assert (found.mean, found.std) == (mean, std)


def test_what_the_paper_leaves_out_is_not_found():
    assert find(REAL, "control", 32, "", "nag", "best_gap") is None
    assert find(SYNTHETIC, "ackley", 20, "", "lionk", "best_gap") is None
    with pytest.raises(ValueError, match=r"`table` must be one of .*; got 'tab:none'"):
        published("tab:none")


def test_the_main_table_is_the_average_of_the_full_ones():
    averages = [row for row in published(MAIN) if row.dimension is None]
    assert len(averages) == 60
    for row in averages:
        parts = [
            part.mean
            for table in (SYNTHETIC, REAL)
            for part in published(table)
            if (part.family, part.method, part.metric) == (row.family, row.method, row.metric)
        ]
        np.testing.assert_allclose(np.mean(parts), row.mean, rtol=0.006, atol=6e-4, err_msg=str(row))


def test_hit_rates_of_the_ablations_are_of_512_runs():
    rates = [row.mean for table in (BUDGETS, ORACLES) for row in published(table) if row.metric.startswith("hit")]
    possible = {f"{hits / 512:.3f}" for hits in range(513)}
    assert len(rates) == 180 and {f"{rate:.3f}" for rate in rates} <= possible


def test_no_best_gap_is_above_its_final_gap():
    for row in every():
        if row.metric in ("best_gap", "best_gap_lowest"):
            final = find(row.table, row.family, row.dimension, row.setting, row.method, "final_gap")
            assert final is None or row.mean <= final.mean, row


def test_metrics_families_and_settings_are_named_as_in_the_code():
    names = {row.metric.removesuffix("_median").removesuffix("_lowest") for row in every()}
    assert names <= METRICS.keys()
    assert {row.family for row in every()} - FAMILIES.keys() == {"control"}  # the paper averages over plants
    assert {row.setting for row in published(BUDGETS)} == BUDGET_SETTINGS.keys()
    assert {particles * budget for _, particles, budget in BUDGET_SETTINGS.values()} == {32768}
