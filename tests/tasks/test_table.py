"""The table of families and its constructor."""

import pytest

from shapeopt.tasks import FAMILIES, Ackley, Quadratic, StartLaw, make_family


def test_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(ValueError, match=r"`name` must be one of multiwell, .*ackley.*; got 'acley'"):
        make_family("acley", 2)
    assert all(name in FAMILIES for name in ("multiwell", "lennard_jones", "phase_retrieval", "dixon_price"))


def test_settings_reach_the_family() -> None:
    family = make_family("ackley", 7, StartLaw.NEAR, rotated=True, varied=True)
    assert isinstance(family, Ackley)
    assert (family.dimension, family.law, family.rotated, family.varied) == (7, StartLaw.NEAR, True, True)


def test_unset_options_keep_the_default_of_the_family() -> None:
    quadratic = make_family("quadratic", 3)
    assert isinstance(quadratic, Quadratic) and quadratic.rotated
    assert make_family("double_well", 1, rotated=False).name == "double_well"


def test_rotation_of_a_family_without_one_is_refused() -> None:
    with pytest.raises(ValueError, match="`rotated` is not an option of the family 'lennard_jones'; got True"):
        make_family("lennard_jones", 18, rotated=True)


def test_the_table_can_not_be_changed() -> None:
    with pytest.raises(TypeError):
        FAMILIES["mine"] = Ackley  # type: ignore[index]
