"""A family's policy: it comes back from disk, refuses what does not fit, and follows a problem's units."""

import json
from dataclasses import replace

import numpy as np
import pytest

import shapeopt
from shapeopt.core.policy_files import PolicyFileError
from shapeopt.core.problem import read_problem
from shapeopt.family import FamilyPolicy, load_family
from shapeopt.family.policy import is_family_file
from shapeopt.family.regression import fit_regression
from shapeopt.optimizer import Policy
from shapeopt.tactics import Recall, Refine

RNG = np.random.default_rng(0)


def made(d=3, **changes):
    shape = np.diag(np.arange(1.0, d + 1))
    given = {"places": RNG.uniform(-1, 1, (4, d)), "width": np.full(d, 0.1), "reach": np.full(d, 0.2), "shape": shape}
    return FamilyPolicy(**(given | changes))


def described(d=3):
    inputs = RNG.normal(size=(20, 2))
    regression, _ = fit_regression(inputs, inputs @ RNG.normal(size=(2, d)))
    return made(d, regression=regression, reach_given=np.full(d, 0.01))


def problem(bounds, x0=None, d=3):
    return read_problem(np.zeros(d) if x0 is None else x0, bounds, np.random.default_rng(0))


def tactic(policy, kind):
    return next(one for one in policy.tactics if isinstance(one, kind))


def test_a_policy_comes_back_as_it_was_saved(tmp_path):
    policy = replace(described(), calm=0.7, fall=0.2)
    policy.save(tmp_path / "p")
    again = load_family(tmp_path / "p")
    assert (again.calm, again.fall) == (0.7, 0.2) and tactic(again.policy_for(problem((-2, 2))), Recall).fall == 0.2
    assert is_family_file(tmp_path / "p") and again.arrays.keys() == policy.arrays.keys()
    assert all(np.array_equal(again.arrays[name], array) for name, array in policy.arrays.items())
    box = problem((-2, 2))
    assert again.given([0.1, 0.2]).policy_for(box) == policy.given([0.1, 0.2]).policy_for(box)


def test_a_policy_that_does_not_pay_is_the_untrained_one_also_from_disk(tmp_path):
    made(pays=False).save(tmp_path / "p")
    again = load_family(tmp_path / "p")
    assert not again.pays and again.policy_for(problem((-2, 2))) == Policy()
    assert made().policy_for(problem((-2, 2))) != Policy()


@pytest.mark.parametrize("damage", ["weights", "card", "kind", "missing", "setting"])
def test_damaged_files_are_refused(tmp_path, damage):
    made().save(tmp_path / "p")
    weights, card = tmp_path / "p.safetensors", tmp_path / "p.json"
    if damage == "weights":
        weights.write_bytes(weights.read_bytes()[:-1] + b"x")
    elif damage == "card":
        card.write_text("{")
    elif damage == "missing":
        weights.unlink()
    else:
        fields = json.loads(card.read_text())
        fields |= {"kind": "paper"} if damage == "kind" else {"settings": {}}
        card.write_text(json.dumps(fields))
    with pytest.raises(PolicyFileError):
        load_family(tmp_path / "p")


@pytest.mark.parametrize(("bounds", "d"), [((-2, 2), 4), (None, 3), ((-2, np.inf), 3)])
def test_a_problem_of_another_kind_is_refused(bounds, d):
    with pytest.raises(ValueError, match="policy"):
        made().policy_for(problem(bounds, d=d))


def test_another_unit_of_x_is_the_same_policy_inside():
    """Places and metric in metres or in millimetres lead to the same internal ones."""
    metres, factor = made(), 1000.0
    shape = factor**2 * metres.shape
    same = {name: factor * getattr(metres, name) for name in ("places", "width", "reach")}
    millimetres = FamilyPolicy(**same, shape=shape)
    one, two = metres.policy_for(problem((-2, 2))), millimetres.policy_for(problem((-2000, 2000)))
    np.testing.assert_allclose(tactic(one, Recall).places, tactic(two, Recall).places)
    np.testing.assert_allclose(tactic(one, Refine).shape, tactic(two, Refine).shape)
    assert one.affine  # the places are those of a box that is searched by its numbers


def test_the_metric_is_positive_definite_whatever_is_stored():
    shape = np.array([[1.0, 2.0, 0.0], [2.0, -1.0, 0.0], [0.0, 0.0, 0.0]])
    used = np.array(tactic(made(shape=shape).policy_for(problem((-2, 2))), Refine).shape)
    assert np.linalg.eigvalsh(used).min() > 0


def test_a_descriptor_moves_the_first_place_and_an_objective_may_carry_it():
    policy, box = described(), problem((-50, 50))
    fun = lambda x: float(x @ x)  # noqa: E731
    fun.descriptor = [0.5, -1.0]
    carried, told, neither = (
        policy.policy_for(box, fun),
        policy.given([0.5, -1.0]).policy_for(box),
        policy.policy_for(box),
    )
    assert carried == told
    expected = policy.regression.predict([0.5, -1.0]) / 10.0
    np.testing.assert_allclose(tactic(carried, Recall).places, [expected])
    np.testing.assert_allclose(tactic(neither, Recall).places, policy.places / 10.0)
    with pytest.raises(ValueError, match="descriptor"):
        policy.given([1.0]).policy_for(box)


def test_minimize_and_shape_take_the_path(tmp_path):
    policy = made(places=np.array([[0.3, 0.2, 0.1]]))
    policy.save(tmp_path / "p")
    pair = lambda x: (float(x @ x), 2.0 * x)  # noqa: E731
    result = shapeopt.minimize(pair, np.ones(3), bounds=(-2, 2), jac=True, budget=10, policy=tmp_path / "p")
    np.testing.assert_allclose(result.trace.x[1], [0.3, 0.2, 0.1])
    shape = shapeopt.Shape(np.ones(3), bounds=(-2, 2), budget=10, policy=str(tmp_path / "p"))
    shape.tell(shape.ask(), 3.0, 2.0 * np.ones(3))
    np.testing.assert_allclose(shape.ask(), [0.3, 0.2, 0.1])


def test_a_path_without_files_is_refused_in_one_line():
    with pytest.raises(ValueError, match="`policy` must be"):
        shapeopt.minimize(lambda x: float(x @ x), np.ones(2), bounds=(-1, 1), policy="nothing/here")


def turning():
    turn = np.array([[-2.0] * 3, [2.0] * 3])
    return made(profiles=RNG.normal(size=(5, 4)), seam=(1.0, None, -0.5), turn=turn, fall=0.3)


def test_profiles_and_seam_come_back_from_disk(tmp_path):
    policy = turning()
    policy.save(tmp_path / "p")
    again, box = load_family(tmp_path / "p"), problem((-2, 2))
    assert again.seam == policy.seam and again.policy_for(box) == policy.policy_for(box)
    np.testing.assert_array_equal(tactic(again.policy_for(box), Recall).profiles, policy.profiles)


def test_a_box_opens_at_the_seam_only_between_the_bounds_of_the_family():
    """A place at 1.2 lies next to the seam at 1: at the lower side of the turned box, inside of any other."""
    policy = replace(turning(), places=np.full((4, 3), 1.2))
    own, other = (policy.policy_for(problem(bounds)) for bounds in ((-2, 2), (-3, 3)))
    assert own.seam == policy.seam and other.seam is None
    np.testing.assert_allclose(tactic(own, Recall).places[0], [-4.5, 3.0, -0.75])
    np.testing.assert_allclose(tactic(other, Recall).places[0], [2.0] * 3)


@pytest.mark.parametrize("seam", [[1.0], [1.0, float("inf"), None], ["x", None, None]])
def test_a_seam_that_does_not_fit_is_refused(tmp_path, seam):
    turning().save(tmp_path / "p")
    card = json.loads((tmp_path / "p.json").read_text())
    card["settings"]["seam"] = seam
    (tmp_path / "p.json").write_text(json.dumps(card))
    with pytest.raises(PolicyFileError):
        load_family(tmp_path / "p")


def test_a_minimum_across_the_bounds_is_reached_in_a_turned_box():
    """x0 lies at one bound, the minimum a little beyond it, that is at the other one."""
    wave = lambda x: float(2.0 - np.cos(x - 3.3).sum())  # noqa: E731
    around, plain = {"budget": 60, "bounds": [(-np.pi, np.pi)] * 2}, np.full(2, 3.0)
    turned = shapeopt.minimize(wave, plain, policy=Policy(seam=(0.0, 0.0)), **around)
    assert turned.fun < 1e-6 and (abs(turned.x) <= np.pi).all()
    np.testing.assert_allclose(turned.x, 3.3 - 2.0 * np.pi, atol=1e-3)
    assert (abs(np.array(turned.trace.x)) <= np.pi).all()
