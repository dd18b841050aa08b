"""The paper's protocols: families, dimensions, budgets, tasks and starts; whether every method resolves."""

import re

import pytest

from shapeopt.baselines import BASELINES
from shapeopt.bench import protocols
from shapeopt.bench.execute import run_keys
from shapeopt.bench.metrics import PAPER_HIT, Quantity
from shapeopt.bench.sensing import EXACT, Noisy, ValueOnly
from shapeopt.paper.methods import find_method
from shapeopt.paper.protocols import PROTOCOLS
from shapeopt.peers import PEERS, available
from shapeopt.tasks import FAMILIES, StartLaw

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


def test_every_way_of_reading_of_the_paper_is_in_a_protocol():
    sensing = {name: [cell.sensing for cell in protocol.cells] for name, protocol in PROTOCOLS.items()}
    assert sensing["oracles"] == [EXACT, Noisy(0.2), ValueOnly(1)]
    assert all(s == EXACT for name in ("paper", "settings") for s in sensing[name])


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


def test_the_paper_s_scientific_rows_have_its_sizes():
    paper = [(family, d, budget, tasks) for family, d, budget, tasks, _ in rows("paper-science")]
    assert paper[2:] == [(name, d, 48, 64) for name in ("phase_retrieval", "double_integrator") for d in (8, 32)]


@pytest.mark.parametrize("name", PROTOCOLS)
def test_names_are_distinct_and_fit_for_files(name):
    protocol = PROTOCOLS[name]
    names = [cell.name for cell in protocol.cells]
    assert protocol.name == name and len(set(names)) == len(names) > 0
    assert all(re.fullmatch(r"[\w.+=-]+", part) and not part.startswith(".") for part in (name, *names))
    assert all(cell.family.name in FAMILIES for cell in protocol.cells)


def test_cells_of_one_name_in_two_protocols_are_one_cell():
    cells: dict = {}
    for protocol in (*PROTOCOLS.values(), *protocols.PROTOCOLS.values()):
        for cell in protocol.cells:
            assert cells.setdefault(cell.name, cell) == cell
    places = {cell.place: cell.stream for cell in cells.values()}
    assert len(set(places.values())) == len(places), "families that differ have streams that differ"
    assert not PROTOCOLS.keys() & protocols.PROTOCOLS.keys()


@pytest.mark.parametrize("name", PROTOCOLS)
def test_every_default_method_resolves(name):
    methods = PROTOCOLS[name].methods
    assert len(set(methods)) == len(methods)
    assert methods[0] == ("paper" if name.startswith(("ablation", "paper-learning")) else "universal")
    missing = [method for method in methods if method in PEERS and not available(PEERS[method].package)]
    assert [find_method(method).name for method in methods if method not in missing] == [
        method for method in methods if method not in missing
    ]
    if missing:
        pytest.skip(f"their packages are not installed: {', '.join(missing)}")


def test_the_paper_s_baselines_are_run_on_its_rows():
    rows_of_the_paper = {"gd", "momentum", "nag", "rmsprop", "adam", "lionk", "shampoo", "soap", "sophia"}
    for name in ("settings", "oracles"):
        assert set(PROTOCOLS[name].methods) == {"universal", "paper", "tuned", "tuned_box", *rows_of_the_paper}
    for name in ("paper", "paper-science"):
        assert set(PROTOCOLS[name].methods) == {"universal", "paper", "tuned", *BASELINES}
    assert {"universal", "paper", "tuned", *BASELINES} < set(PROTOCOLS["multiwell"].methods)
