"""What can be named as a method: built-in names, and what a user's module brings."""

import sys

import pytest

from shapeopt.baselines import BASELINES, Adam, make_baseline
from shapeopt.bench.cells import Cell
from shapeopt.bench.methods import (
    Hosted,
    Traceable,
    UnknownMethodError,
    find_method,
    list_methods,
)
from shapeopt.bench.sensing import ValueOnly
from shapeopt.core.attribute import UnknownNameError, load_attribute
from shapeopt.core.fingerprint import describe
from shapeopt.engines.device import DeviceShape
from shapeopt.optimizer import TACTICS, Policy
from shapeopt.peers import PEERS, BasinHopping, Direct, available
from shapeopt.tasks import make_family

CELL = Cell(make_family("ackley", 2), budget=4, tasks=1)
LEVY = Cell(make_family("levy", 2), budget=4, tasks=1)

MODULE = """
from shapeopt.baselines import Adam
from shapeopt.bench.methods import Hosted
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

method = Hosted("whole", Direct())

def made_peer():
    return BasinHopping("made", stepsize=3.0)
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The working folder, with a user's module and a module that can't be imported."""
    (tmp_path / "brought.py").write_text(MODULE)
    (tmp_path / "broken.py").write_text("import no_such_thing\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield tmp_path
    for name in ("brought", "broken"):
        sys.modules.pop(name, None)


def test_every_built_in_name_is_listed_once_with_its_kind():
    kinds = list_methods()
    names = ["universal", *BASELINES, *PEERS]
    assert list(kinds) == names and len(set(names)) == len(names)
    assert kinds["universal"] == "policy"
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


def test_the_shipped_policy_is_shape_on_the_device_and_reads_values_alone_where_the_cell_does():
    method = find_method("universal")
    assert method.optimizer(CELL) == DeviceShape(Policy())
    values = Cell(make_family("ackley", 2), budget=4, tasks=1, sensing=ValueOnly())
    assert method.optimizer(values) == DeviceShape(Policy(), values_only=True)
    versions = {describe(Policy()), *(describe(Policy().without(tactic.name)) for tactic in TACTICS)}
    assert method.version(CELL) == describe(Policy()) and len(versions) == 1 + len(TACTICS)
    assert find_method("gd").version(CELL) == ""


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
        ("adamm", r"`methods` must be among universal, gd, .*, direct, .* Got 'adamm'"),
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


def test_what_is_called_like_a_built_in_method_is_refused_lest_their_records_be_mixed(folder):
    with pytest.raises(UnknownMethodError, match="not bring a built-in method's name; rename 'adam'"):
        find_method("brought:adam")


def test_a_method_can_be_brought_as_it_is(folder):
    assert find_method("brought:method") == Hosted("whole", Direct())


def test_what_makes_no_optimizer_for_its_cell_is_refused(folder):
    with pytest.raises(UnknownMethodError, match="'wrong' made 4"):
        find_method("brought:wrong").optimizer(CELL)


def test_an_attribute_is_searched_in_the_working_folder_and_named_by_its_argument(folder):
    assert load_attribute("brought:number", "protocol") == 3
    with pytest.raises(UnknownNameError, match="`protocol` must name something"):
        load_attribute("brought:nothing", "protocol")
