"""The table of peers, and packages that are not there."""

import pytest

import shapeopt.peers.packages as packages
from shapeopt.peers import PEERS, AbstractPeer, available, make_peer


def test_every_entry_is_found_under_its_own_name_and_has_settings_of_its_own():
    assert all(isinstance(peer, AbstractPeer) and peer.name == name for name, peer in PEERS.items())
    settings = [(type(peer), *(value for key, value in vars(peer).items() if key != "name")) for peer in PEERS.values()]
    assert len(set(settings)) == len(PEERS)


def test_scipy_peers_are_always_there():
    assert available("scipy")
    assert make_peer("basinhopping") is PEERS["basinhopping"]


def test_the_default_settings_of_basinhopping_are_scipys():
    assert (PEERS["basinhopping"].stepsize, PEERS["basinhopping"].temperature) == (0.5, 1.0)


@pytest.mark.parametrize("name, extra", [("cma", "peers"), ("mlsl", "peers"), ("ngopt", "nevergrad")])
def test_a_missing_package_names_the_extra_that_brings_it(name, extra, monkeypatch):
    monkeypatch.setattr(packages.importlib.util, "find_spec", lambda package: None)
    with pytest.raises(ModuleNotFoundError, match=rf"needs the package '\w+'; .*'shapeopt\[{extra}\]'") as caught:
        make_peer(name)
    assert caught.value.name == PEERS[name].package


def test_an_unknown_name_is_named():
    with pytest.raises(ValueError, match=r"`name` must be one of multistart, .*; got 'simplex'"):
        make_peer("simplex")


def test_peers_can_be_named_without_their_packages(monkeypatch):
    monkeypatch.setattr(packages.importlib.util, "find_spec", lambda package: None)
    assert not available("cma")
    assert PEERS["cma"].package == "cma"
