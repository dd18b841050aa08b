"""What can be named as a method: built-in names, files of policies, and what a user's module brings."""

import shutil
import sys
from dataclasses import replace

import equinox as eqx
import jax
import pytest

from shapeopt.baselines import BASELINES, Adam, make_baseline
from shapeopt.bench.cells import Cell
from shapeopt.bench.methods import (
    FITTED,
    Hosted,
    Traceable,
    UnknownMethodError,
    find_method,
    fitted_policy,
    list_methods,
    shape_optimizer,
)
from shapeopt.bench.sensing import Noisy
from shapeopt.core.attribute import UnknownNameError, load_attribute
from shapeopt.paper.find import FOLDER, shipped
from shapeopt.paper.optimizer import ShapeOptimizer
from shapeopt.peers import PEERS, BasinHopping, Direct, available
from shapeopt.policy import find, find_policy, save_policy
from shapeopt.tasks import StartLaw, make_family

CELL = Cell(make_family("ackley", 2), budget=4, tasks=1)
LEVY = Cell(make_family("levy", 2), budget=4, tasks=1)

MODULE = """
from shapeopt.baselines import Adam
from shapeopt.core import AbstractOptimizer
from shapeopt.peers import BasinHopping, Direct

instance = adam = Adam(0.125, 0.9, 0.999)
number = 3

class Rated(AbstractOptimizer):
    rate: float = 0.5

    def init(self, x0, box, budget, key):
        return x0

    def ask(self, state):
        return state

    def tell(self, state, reading):
        return state

def made():
    return Rated(0.25)

def by_cell(cell):
    return Rated(float(cell.budget))

def wrong(cell):
    return cell.budget

Peer = BasinHopping
peer = Direct("renamed")

def made_peer():
    return BasinHopping("made", stepsize=3.0)
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The working folder, with a user's module, a module that can't be imported, and copies of a shipped policy."""
    (tmp_path / "brought.py").write_text(MODULE)
    (tmp_path / "broken.py").write_text("import no_such_thing\n")
    for suffix in (".json", ".safetensors"):
        shutil.copy(FOLDER / f"universal{suffix}", tmp_path / f"mine{suffix}")
        shutil.copy(FOLDER / f"universal{suffix}", tmp_path / f"universal{suffix}")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield tmp_path
    for name in ("brought", "broken"):
        sys.modules.pop(name, None)


def test_every_built_in_name_is_listed_once_with_its_kind():
    kinds = list_methods()
    names = ["universal", "universal-control", *FITTED, *BASELINES, *PEERS]
    assert list(kinds) == names and len(set(names)) == len(names)
    assert kinds["universal"] == kinds["paper"] == "policy"
    assert (kinds["adam"], kinds["direct"]) == ("baseline", "peer")


@pytest.mark.parametrize("name", BASELINES)
def test_a_baseline_has_the_settings_of_the_cell_s_family(name):
    method = find_method(name)
    assert isinstance(method, Traceable) and method.name == name
    assert method.optimizer(CELL) == make_baseline(name, "ackley")
    assert method.optimizer(LEVY) == make_baseline(name, "levy")


@pytest.mark.parametrize("name", [name for name, peer in PEERS.items() if available(peer.package)])
def test_a_peer_is_hosted_and_has_the_settings_of_the_table(name):
    assert find_method(name) == Hosted(name, PEERS[name])


def test_a_peer_whose_package_is_missing_says_what_to_install(monkeypatch):
    monkeypatch.setattr("shapeopt.peers.packages.available", lambda package: False)
    with pytest.raises(ModuleNotFoundError, match=r"needs the package 'nlopt'; .*shapeopt\[peers\]"):
        find_method("mlsl")


@pytest.mark.parametrize("name", shipped())
def test_a_shipped_policy_is_shape_in_double_precision_without_its_ledger(name):
    optimizer = find_method(name).optimizer(CELL)
    assert isinstance(optimizer, ShapeOptimizer) and not optimizer.record_energy
    assert optimizer.step.h == optimizer.policy.h
    assert optimizer == shape_optimizer(name)


@pytest.mark.parametrize("name", ["mine.safetensors", "mine.json", "./mine.json", "./mine"])
def test_a_policy_s_file_is_named_by_its_stem(folder, name):
    method = find_method(name)
    assert method.name == "mine"
    assert isinstance(method.optimizer(CELL), ShapeOptimizer)


def test_a_policy_trained_anew_is_another_version_under_the_same_name(folder):
    first = find_method("mine.json")
    before = first.version(CELL)
    assert len(before) == 64 and find_method("./mine.safetensors").version(LEVY) == before
    assert find_method("universal").version(CELL) == before, "a copy of the shipped one"
    policy = find_policy("mine.json")
    changed = jax.tree.map(lambda leaf: leaf + 1 if eqx.is_inexact_array(leaf) else leaf, policy)
    save_policy("mine", changed, {})
    again = find_method("mine.json")
    assert again.name == first.name and again.version(CELL) != before
    assert find_method("gd").version(CELL) == find_method("direct").version(CELL) == ""


@pytest.mark.parametrize(("name", "ending"), FITTED.items())
def test_a_fitted_method_takes_the_policy_of_the_cell_s_family_dimension_and_ablation(ship, name, ending):
    for i, family in enumerate(("ackley", "levy")):
        ship(f"paper-{family}-2{ending}", seed=i, d=2)
    method = find_method(name)
    assert method.name == name and [fitted_policy(name, cell) for cell in (CELL, LEVY)] == [
        f"paper-ackley-2{ending}",
        f"paper-levy-2{ending}",
    ]
    for cell in (CELL, LEVY):
        assert method.lacks(cell) == ""
        assert eqx.tree_equal(method.optimizer(cell).policy, find_policy(fitted_policy(name, cell)))
    assert method.version(CELL) != method.version(LEVY)
    rotated = replace(CELL, family=make_family("ackley", 2, StartLaw.NEAR, rotated=True), sensing=Noisy(0.5))
    assert method.version(rotated) == method.version(CELL), "start law, rotation and readings choose no policy"


def test_a_fitted_method_s_version_follows_the_weights_of_its_cell_alone(ship):
    ship("paper-ackley-2", d=2)
    ship("paper-levy-2", d=2)
    before = {cell: find_method("paper").version(cell) for cell in (CELL, LEVY)}
    ship("paper-ackley-2", seed=1, d=2)
    assert find_method("paper").version(CELL) != before[CELL] and find_method("paper").version(LEVY) == before[LEVY]


def test_a_cell_without_a_fitted_policy_is_told_and_not_an_error(ship):
    ship("paper-ackley-2-no-memory", d=2, use_memory=False)
    assert find_method("paper").lacks(CELL) == "no policy paper-ackley-2 is shipped"
    assert find_method("paper_without_memory").lacks(CELL) == ""
    assert find_method("paper_without_memory").lacks(LEVY) == "no policy paper-levy-2-no-memory is shipped"
    assert [find_method(name).lacks(CELL) for name in ("universal", "gd", "direct")] == ["", "", ""]


def test_a_single_policy_is_left_out_of_cells_of_another_dimension(ship):
    ship("paper-ackley-3", d=3)
    method = find_method("paper-ackley-3")
    assert method.name == "paper-ackley-3" and method.lacks(CELL) == "the policy is for dimension 3"
    assert method.lacks(replace(CELL, family=make_family("rastrigin", 3))) == ""
    assert "paper-ackley-3" not in list_methods()


def test_a_damaged_fitted_policy_is_refused_at_once(ship):
    ship("paper-ackley-2", d=2)
    (find.FOLDER / "paper-ackley-2.safetensors").write_bytes(b"0" * 100)
    with pytest.raises(UnknownMethodError, match=r"`methods` must name policies that can be read; .*paper-ackley-2"):
        find_method("paper").lacks(CELL)


def test_a_policy_s_file_that_is_missing_or_damaged_is_refused_at_once(folder):
    with pytest.raises(UnknownMethodError, match=r"nothing\.json does not exist"):
        find_method("nothing.safetensors")
    (folder / "mine.safetensors").write_bytes(b"0" * 100)
    with pytest.raises(UnknownMethodError, match=r"`methods` must name policies that can be read; .*mine"):
        find_method("mine.json")


@pytest.mark.parametrize(("name", "rate"), [("Rated", 0.5), ("made", 0.25), ("by_cell", CELL.budget)])
def test_an_optimizer_s_class_or_what_makes_one_can_be_brought(folder, name, rate):
    method = find_method(f"brought:{name}")
    assert isinstance(method, Traceable) and method.name == name
    assert method.optimizer(CELL).rate == rate


def test_an_optimizer_can_be_brought_as_it_is(folder):
    assert find_method("brought:instance").optimizer(CELL) == Adam(0.125, 0.9, 0.999)


@pytest.mark.parametrize(
    ("name", "peer"),
    [("Peer", BasinHopping()), ("peer", Direct("renamed")), ("made_peer", BasinHopping("made", stepsize=3.0))],
)
def test_a_peer_its_class_or_what_makes_it_can_be_brought(folder, name, peer):
    assert find_method(f"brought:{name}") == Hosted(name, peer)


def test_a_package_s_own_attribute_can_be_named():
    assert find_method("shapeopt.peers:BasinHopping") == Hosted("BasinHopping", BasinHopping())


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("adamm", r"`methods` must be among universal, .*paper, .*, gd, .*, direct, .* Got 'adamm'"),
        ("", "Got ''"),
        ("brought:nothing", "'brought:nothing': module 'brought' has no attribute 'nothing'"),
        ("absent:thing", "'absent:thing': No module named 'absent'"),
        ("broken:thing", "'broken:thing': No module named 'no_such_thing'"),
        ("brought:number", "must name an optimizer or a peer; 'brought:number' is 3"),
        (":thing", "must look like package.module:Attribute; got ':thing'"),
        ("..brought:thing", "must look like package.module:Attribute; got '..brought:thing'"),
        ("brought:", "must look like package.module:Attribute; got 'brought:'"),
        ("brought:a.b", "must look like package.module:Attribute; got 'brought:a.b'"),
    ],
)
def test_a_name_that_is_no_method_says_why(folder, name, message):
    with pytest.raises(UnknownNameError, match=message):
        find_method(name)


@pytest.mark.parametrize("name", ["brought:adam", "./universal.json", "universal.safetensors"])
def test_what_is_called_like_a_built_in_method_is_refused_lest_their_records_be_mixed(folder, name):
    with pytest.raises(UnknownMethodError, match=r"not bring a built-in method's name; rename '(adam|universal)'"):
        find_method(name)


def test_what_makes_no_optimizer_for_its_cell_is_refused(folder):
    with pytest.raises(UnknownMethodError, match="'wrong' made 4"):
        find_method("brought:wrong").optimizer(CELL)


def test_an_attribute_is_searched_in_the_working_folder_and_named_by_its_argument(folder):
    assert load_attribute("brought:number", "protocol") == 3
    with pytest.raises(UnknownNameError, match="`protocol` must name something"):
        load_attribute("brought:nothing", "protocol")
