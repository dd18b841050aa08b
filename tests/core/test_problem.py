"""What a user says about start and bounds, and what is said back."""

import numpy as np
import pytest

import shapeopt
from shapeopt.core.problem import read_problem


def test_two_lists_of_two_numbers_are_pairs_and_the_error_says_so():
    with pytest.raises(ValueError, match=r"coordinate 0 has \[5.0, 0.1\]\. .* is read as two pairs"):
        read_problem(None, ([5.0, 0.1], [20.0, 1.6]), np.random.default_rng(0))


@pytest.mark.parametrize("bounds", [(-2, 2), None])
def test_without_a_start_the_error_shows_how_bounds_give_the_dimension(bounds):
    with pytest.raises(ValueError, match=r"as \[\(-5, 5\)\] \* 3; got"):
        read_problem(None, bounds, np.random.default_rng(0))


def test_a_number_in_a_tree_stays_a_number_and_one_alone_is_a_vector_of_one():
    tree = read_problem({"a": np.ones((2, 2)), "b": 0.5}, None, np.random.default_rng(0))
    seen = tree.layout.restore(tree.x0)
    assert seen["a"].shape == (2, 2) and seen["b"].shape == () and float(seen["b"]) == 0.5
    assert read_problem(0.5, (-1, 1), np.random.default_rng(0)).layout.shapes == ((1,),)


@pytest.mark.parametrize("seed", [-1, 1.5, True, "3"])
def test_a_wrong_seed_is_named_at_every_door(seed):
    message = rf"`seed` must be a whole number of at least 0; got {seed!r}"
    doors = (
        lambda: shapeopt.minimize(np.sum, np.ones(2), seed=seed),
        lambda: shapeopt.least_squares(np.sin, np.ones(2), seed=seed),
        lambda: shapeopt.Shape(np.ones(2), seed=seed),
    )
    for door in doors:
        with pytest.raises(ValueError, match=message):
            door()


def test_a_callback_that_cannot_be_called_and_an_unknown_scheme_are_named_before_a_call():
    def never(x):
        raise AssertionError

    for door in (shapeopt.minimize, shapeopt.least_squares):
        with pytest.raises(ValueError, match="`callback` must be callable; got 3"):
            door(never, np.ones(2), callback=3)
    with pytest.raises(ValueError, match="`jac` must be None, True, a callable, '2-point', '3-point' or 'cs'; got '4"):
        shapeopt.minimize(never, np.ones(2), jac="4-point")


def test_iterators_of_pairs_and_a_number_beside_an_array_are_bounds():
    one = read_problem([1.0, 2.0], zip([-5, -4], [5, 4], strict=True), np.random.default_rng(0))
    assert (one.lower == [-5, -4]).all() and (one.upper == [5, 4]).all()
    two = read_problem([1.0, 2.0], (0, np.array([5, 9])), np.random.default_rng(0))
    assert (two.lower == 0).all() and (two.upper == [5, 9]).all()


@pytest.mark.parametrize(
    ("x0", "bounds", "message"),
    [
        ([None, 1.0], None, r"`x0` must hold numbers; x0\[0\] is None"),
        (np.ma.array([1.0, 2.0], mask=[0, 1]), None, "`x0` must hold numbers; got an array with masked ones"),
        (None, [(0, 1), (0, None)], r"`bounds` must be finite on both sides; coordinate 1 has \[0.0, inf\]"),
        ([1.0, 2.0], [(0, 2), (np.inf, np.inf)], r"`bounds` must leave room for x; coordinate 1 has \[inf, inf\]"),
    ],
)
def test_a_wrong_start_or_bound_is_named_with_its_coordinate(x0, bounds, message):
    with pytest.raises(ValueError, match=message):
        read_problem(x0, bounds, np.random.default_rng(0))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"journal": 3}, "`journal` must be a path; got 3"),
        ({"report": ""}, "`report` must be a path; got ''"),
        ({"call_timeout": "60"}, "`call_timeout` must be a positive number of seconds; got '60'"),
        ({"noise": np.inf}, "`noise` must be None or a standard deviation of at least 0; got inf"),
        ({"jac": False}, "`jac` must be None, True, a callable, .*; got False"),
    ],
)
def test_a_wrong_setting_is_named_before_a_call(given, message):
    def never(x):
        raise AssertionError

    with pytest.raises(ValueError, match=message):
        shapeopt.minimize(never, np.ones(2), **given)
