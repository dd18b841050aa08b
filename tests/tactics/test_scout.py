"""Trials of few coordinates around the best point, in runs of values alone, and the share of calls that they earn."""

import numpy as np

import shapeopt

BOUNDS = (-5, 5)


def rippled(x):
    """A sum of shallow bowls with deep ripples, its minimum at no special place: 0."""
    y = x - np.linspace(-2.3, 1.9, x.size)
    return float(np.sum(0.2 * y**2 + 3.0 * np.sin(2.5 * y) ** 2))


def spiked(x):
    """Values that tell nothing of those nearby."""
    return float(np.mod(np.sum(np.sin(np.arange(1, x.size + 1) * 91.7 * x)) * 43.7, 1.0))


def bowl(x):
    return float(np.sum(np.arange(1, x.size + 1) * (x - 1.3) ** 2))


def scouted(result):
    return result.trace.tactic == "scout"


def test_half_of_the_trials_change_one_coordinate_and_all_stay_in_the_box():
    result = shapeopt.minimize(rippled, np.full(6, -4.0), bounds=BOUNDS, budget=400)
    points, values = result.trace.x, result.trace.value
    changed = []
    for i in np.flatnonzero(scouted(result)):
        best = points[np.argmin(values[:i])]
        changed.append(int(np.sum(points[i] != best)))
    assert len(changed) > 40 and np.all(np.abs(points) <= 5)
    assert 0.35 < np.mean(np.array(changed) == 1) < 0.65
    assert max(changed) == 6


def test_ripples_are_left_for_lower_ones_more_often_than_without_it():
    without = shapeopt.Policy().without("scout")
    ends = [
        [
            shapeopt.minimize(rippled, np.full(8, -4.0), bounds=BOUNDS, budget=400, seed=s, policy=p).fun
            for s in range(6)
        ]
        for p in (shapeopt.Policy(), without)
    ]
    assert np.mean(ends[0]) < 0.9 * np.mean(ends[1])


def test_a_bowl_hardly_pays_for_it():
    with_it = shapeopt.minimize(bowl, np.full(8, -4.0), bounds=BOUNDS, budget=150)
    assert np.mean(scouted(with_it)[: np.argmax(with_it.trace.value < 1e-8)]) < 0.15
    assert with_it.fun < 1e-8


def test_it_earns_more_calls_where_it_gains():
    rugged = shapeopt.minimize(rippled, np.full(8, -4.0), bounds=BOUNDS, budget=400)
    smooth = shapeopt.minimize(bowl, np.full(8, -4.0), bounds=BOUNDS, budget=400)
    solved = int(np.argmax(smooth.trace.value < 1e-8))
    assert np.mean(scouted(rugged)) > 1.5 * np.mean(scouted(smooth)[:solved])


def test_a_descent_goes_on_with_its_model_where_nothing_better_was_found():
    valley = lambda x: float(np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2))  # noqa: E731
    result = shapeopt.minimize(valley, np.full(5, -1.5), bounds=BOUNDS, budget=400)
    tactics, points, values = result.trace.tactic, result.trace.x, result.trace.value
    resumed = 0
    for i in range(1, len(tactics)):
        if tactics[i] == "interpolate" and tactics[i - 1] == "scout":
            begun = np.flatnonzero(tactics[:i] != "scout")[-1] + 1
            if values[begun:i].min() >= values[:begun].min() and tactics[begun - 1] == "interpolate" and i < 150:
                resumed += 1
                assert np.sum(points[i] != points[np.argmin(values[:i])]) > 1  # a new model reads along coordinates
    assert resumed > 0


def test_it_is_asked_as_soon_as_the_first_trials_of_a_descent_fail():
    """Before d trials of a model that tells nothing of f; where the model is right, not before it is done."""
    d = 8
    rugged, smooth = (shapeopt.minimize(f, np.full(d, -4.0), bounds=BOUNDS, budget=60) for f in (spiked, bowl))
    assert 2 * d < np.argmax(scouted(rugged)) <= 2 * d + 7
    asked = int(np.argmax(scouted(smooth)))
    assert asked == 0 or smooth.trace.value[:asked].min() < 1e-8


def test_few_dimensions_and_gradients_have_none():
    plane = shapeopt.minimize(rippled, np.full(2, -4.0), bounds=BOUNDS, budget=100)
    slope = lambda x: (float(np.sum(x**2)), 2 * x)  # noqa: E731
    told = shapeopt.minimize(slope, np.full(6, -4.0), bounds=BOUNDS, budget=100, jac=True)
    assert not scouted(plane).any() and not scouted(told).any()
