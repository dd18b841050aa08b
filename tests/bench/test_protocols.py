"""The protocols against the design: families, dimensions, budgets, tasks and starts; whether every method resolves."""

import re

import pytest

from shapeopt.bench.execute import run_keys
from shapeopt.bench.methods import find_method
from shapeopt.bench.metrics import GAP_HIT, PAPER_HIT, Quantity
from shapeopt.bench.protocols import PROTOCOLS
from shapeopt.bench.sensing import EXACT, Minibatch, Noisy, ValueOnly
from shapeopt.peers import PEERS, available
from shapeopt.tasks import FAMILIES, HELD_OUT, LandscapeFamily, StartLaw

SYNTHETIC = ("ackley", "levy", "rastrigin")


def rows(name):
    """(family, dimension, budget, tasks, starts) of each cell."""
    cells = PROTOCOLS[name].cells
    return [(c.family.name, c.family.dimension, c.budget, c.tasks, c.starts) for c in cells]


def options(name):
    """The start laws of a protocol's cells, and whether they are rotated and varied."""
    families = [cell.family for cell in PROTOCOLS[name].cells]
    return {(family.law, family.rotated, family.varied) for family in families}


def test_paper_has_the_horizons_and_starts_that_reproduce_the_paper_s_rows_on_64_tasks():
    horizons = {2: (48, 32), 20: (48, 32), 100: (56, 24), 500: (64, 12)}
    expected = [(name, d, calls, 64, starts) for name in SYNTHETIC for d, (calls, starts) in horizons.items()]
    assert rows("paper") == expected
    assert options("paper") == {(StartLaw.PAPER, False, True)}
    assert {cell.rule for cell in PROTOCOLS["paper"].cells} == {PAPER_HIT}
    assert (PAPER_HIT.quantity, PAPER_HIT.tolerance) == (Quantity.DISTANCE, 0.2)


def test_near_has_500_calls_from_near_starts_in_every_dimension():
    assert rows("near") == [(name, d, 500, 64, 1) for name in SYNTHETIC for d in (2, 20, 100, 500)]
    assert options("near") == {(StartLaw.NEAR, False, False)}
    assert {cell.rule for cell in PROTOCOLS["near"].cells} == {GAP_HIT}
    assert (GAP_HIT.quantity, GAP_HIT.tolerance) == (Quantity.GAP, 1e-2)


@pytest.mark.parametrize(("name", "rotated"), [("box", False), ("box-rotated", True)])
def test_box_has_three_budgets_with_and_without_rotation(name, rotated):
    largest = {100: 500, 500: 500, 2000: 100} if not rotated else dict.fromkeys((100, 500, 2000), 100)
    dimensions = {budget: [d for d in (2, 20, 100, 500) if d <= largest[budget]] for budget in largest}
    expected = {(family, d, budget, 64, 1) for family in SYNTHETIC for budget in largest for d in dimensions[budget]}
    assert set(rows(name)) == expected and len(rows(name)) == len(expected)
    assert options(name) == {(StartLaw.BOX, rotated, False)}


def test_settings_spend_the_same_calls_a_task_as_the_paper_s_six():
    expected = {  # tab. ackley_budget_particle_ablation_full
        "S1": (16, 128, 256),
        "S2": (32, 128, 256),
        "S3": (64, 128, 256),
        "S4": (64, 64, 512),
        "S5": (64, 32, 1024),
        "S6": (64, 16, 2048),
    }
    cells = PROTOCOLS["settings"].cells
    assert {cell.setting: (cell.tasks, cell.starts, cell.budget) for cell in cells} == expected
    assert {cell.starts * cell.budget for cell in cells} == {32768}
    assert {(cell.family.name, cell.family.dimension, cell.rule) for cell in cells} == {("ackley", 2, PAPER_HIT)}
    assert all(cell.counts_minima for cell in cells)


def test_settings_share_their_tasks_and_the_starts_that_they_have_in_common():
    first, last = (run_keys(PROTOCOLS["settings"].cells[i], 0) for i in (0, -1))
    tasks, starts = (16, 64), (128, 16)
    ours, theirs = (keys.start.reshape(t, s, -1) for keys, t, s in zip((first, last), tasks, starts, strict=True))
    assert (ours[:, :16] == theirs[:16]).all()


def test_every_way_of_reading_of_the_design_is_in_a_protocol():
    sensing = {name: [cell.sensing for cell in protocol.cells] for name, protocol in PROTOCOLS.items()}
    assert {s.sigma for s in sensing["noisy"]} >= {0.2} and all(isinstance(s, Noisy) for s in sensing["noisy"])
    assert set(sensing["value-only"]) == {ValueOnly()} and {cell[2] for cell in rows("value-only")} == {1000}
    assert sensing["oracles"] == [EXACT, Noisy(0.2), ValueOnly(1)]
    assert Minibatch() in sensing["science"]
    assert all(s == EXACT for name in ("paper", "near", "box", "box-rotated", "settings") for s in sensing[name])


def test_multiwell_has_500_tasks_at_the_paper_s_mean_calls_and_less():
    assert rows("multiwell") == [("multiwell", 1, budget, 500, 1) for budget in (1251, 500, 100)]


@pytest.mark.parametrize("lost", ["controller", "memory", "horizon"])
def test_an_ablation_has_the_paper_s_three_ackley_cells_and_two_methods(lost):
    ackley = [cell for cell in PROTOCOLS["paper"].cells if cell.family.name == "ackley"][:3]
    wells = [PROTOCOLS["multiwell"].cells[0]] if lost == "memory" else []
    assert list(PROTOCOLS[f"ablation-{lost}"].cells) == [*ackley, *wells]
    assert [cell.family.dimension for cell in ackley] == [2, 20, 100]
    whole, without = PROTOCOLS[f"ablation-{lost}"].methods
    assert whole == "paper" and lost in without


def test_clusters_phase_retrieval_and_control_have_the_design_s_sizes():
    science = {(family, d) for family, d, *_ in rows("science")}
    assert {("lennard_jones", 3 * atoms) for atoms in (6, 13, 38)} <= science
    assert {(name, d) for name in ("phase_retrieval", "double_integrator") for d in (8, 32)} <= science
    assert {row[:3] for row in rows("science") if row[2] != 500} == {("lennard_jones", 114, 2000)}
    paper = [(family, d, budget, tasks) for family, d, budget, tasks, _ in rows("paper-science")]
    assert paper[2:] == [(name, d, 48, 64) for name in ("phase_retrieval", "double_integrator") for d in (8, 32)]


def test_unseen_has_every_held_out_family_in_22_cells_or_more_half_of_the_turnable_ones_turned():
    cells = PROTOCOLS["unseen"].cells
    assert {cell.family.name for cell in cells} == set(HELD_OUT)
    assert len({(cell.family.name, cell.family.dimension) for cell in cells}) == len(cells) >= 22
    assert {cell.family.dimension for cell in cells} >= {2, 50}
    assert all(2 <= cell.family.dimension <= 50 for cell in cells)
    assert {(cell.budget, cell.tasks, cell.starts, cell.sensing, cell.rule) for cell in cells} == {
        (500, 32, 1, EXACT, GAP_HIT)
    }
    kinds = [cell.family for cell in cells if isinstance(cell.family, LandscapeFamily)]
    turned = [family.rotated for family in kinds if family.kind.rotatable]
    assert 0.4 < sum(turned) / len(turned) < 0.6


@pytest.mark.parametrize("name", PROTOCOLS)
def test_names_are_distinct_and_fit_for_files(name):
    protocol = PROTOCOLS[name]
    names = [cell.name for cell in protocol.cells]
    assert protocol.name == name and len(set(names)) == len(names) > 0
    assert all(re.fullmatch(r"[\w.+=-]+", part) and not part.startswith(".") for part in (name, *names))
    assert all(cell.family.name in FAMILIES for cell in protocol.cells)


def test_cells_of_one_name_in_two_protocols_are_one_cell():
    cells: dict = {}
    for protocol in PROTOCOLS.values():
        for cell in protocol.cells:
            assert cells.setdefault(cell.name, cell) == cell


def test_families_that_differ_have_streams_that_differ():
    places = {cell.place: cell.stream for protocol in PROTOCOLS.values() for cell in protocol.cells}
    assert len(set(places.values())) == len(places)


@pytest.mark.parametrize("name", PROTOCOLS)
def test_every_default_method_resolves(name):
    methods = PROTOCOLS[name].methods
    assert len(set(methods)) == len(methods)
    assert methods[0] == ("paper" if name.startswith("ablation") else "universal")
    missing = [method for method in methods if method in PEERS and not available(PEERS[method].package)]
    assert [find_method(method).name for method in methods if method not in missing] == [
        method for method in methods if method not in missing
    ]
    if missing:
        pytest.skip(f"their packages are not installed: {', '.join(missing)}")


def test_the_paper_s_baselines_are_run_on_its_rows_and_peers_on_ours():
    rows_of_the_paper = {"gd", "momentum", "nag", "rmsprop", "adam", "lionk", "shampoo", "soap", "sophia"}
    for name in ("paper", "paper-science", "settings", "oracles"):
        assert set(PROTOCOLS[name].methods) == {"universal", "paper", *rows_of_the_paper}
    assert {"universal", "paper", *rows_of_the_paper} < set(PROTOCOLS["multiwell"].methods)
    for name in ("near", "box", "box-rotated", "noisy", "value-only", "multiwell", "science", "unseen"):
        assert {"basinhopping", "monotonic_hopping", "direct", "cma"} <= set(PROTOCOLS[name].methods)
