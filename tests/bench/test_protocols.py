"""The protocols: families, dimensions, budgets, tasks and starts; whether every method resolves."""

import re

import pytest

from shapeopt.bench.methods import find_method
from shapeopt.bench.metrics import GAP_HIT, Quantity
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


def test_every_way_of_reading_is_in_a_protocol():
    sensing = {name: [cell.sensing for cell in protocol.cells] for name, protocol in PROTOCOLS.items()}
    assert {s.sigma for s in sensing["noisy"]} >= {0.2} and all(isinstance(s, Noisy) for s in sensing["noisy"])
    assert set(sensing["value-only"]) == {ValueOnly()} and {cell[2] for cell in rows("value-only")} == {1000}
    assert Minibatch() in sensing["science"]
    assert all(s == EXACT for name in ("near", "box", "box-rotated") for s in sensing[name])


def test_clusters_phase_retrieval_and_control_have_their_sizes():
    science = {(family, d) for family, d, *_ in rows("science")}
    assert {("lennard_jones", 3 * atoms) for atoms in (6, 13, 38)} <= science
    assert {(name, d) for name in ("phase_retrieval", "double_integrator") for d in (8, 32)} <= science
    assert {row[:3] for row in rows("science") if row[2] != 500} == {("lennard_jones", 114, 2000)}


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
    assert methods[0] == "universal"
    missing = [method for method in methods if method in PEERS and not available(PEERS[method].package)]
    assert [find_method(method).name for method in methods if method not in missing] == [
        method for method in methods if method not in missing
    ]
    if missing:
        pytest.skip(f"their packages are not installed: {', '.join(missing)}")


def test_peers_are_run_on_every_protocol():
    for protocol in PROTOCOLS.values():
        assert {"basinhopping", "monotonic_hopping", "direct", "cma"} <= set(protocol.methods)
