"""The table of baselines and its constructor."""

import pytest

from shapeopt.baselines import BASELINES, AbstractBaseline, make_baseline

NAMES = (
    "gd momentum nag adagrad rmsprop adadelta adam adamw sghmc lookahead sam shampoo soap sophia lion lionk muon "
    "basin_hopping cem"
)


def test_the_table_holds_every_method_once():
    assert " ".join(BASELINES) == NAMES
    assert len({row.constructor for row in BASELINES.values()}) == len({row.title for row in BASELINES.values()}) == 19


@pytest.mark.parametrize("name", BASELINES)
def test_every_family_gets_the_rows_own_class(name):
    row = BASELINES[name]
    for family in ("ackley", "rastrigin", "levy", "multiwell", "double_well", "lennard_jones", "quadratic"):
        assert type(make_baseline(name, family)) is row.constructor
    assert issubclass(row.constructor, AbstractBaseline)


def test_unknown_name_lists_the_known_ones():
    with pytest.raises(ValueError, match=r"`name` must be one of gd, .*basin_hopping, cem; got 'adm'"):
        make_baseline("adm", "ackley")


def test_the_table_can_not_be_changed():
    with pytest.raises(TypeError):
        BASELINES["mine"] = BASELINES["gd"]  # type: ignore[index]
    with pytest.raises(AttributeError):
        BASELINES["gd"].title = "mine"  # type: ignore[misc]
