"""Peers on plain functions without bounds: scaled, transformed, restarted, and the specialist for sums of squares."""

import numpy as np
import pytest

from shapeopt.oracles import FunctionReader
from shapeopt.peers import PEERS, available, run_peer
from shapeopt.peers.free import FreeCoordinates
from shapeopt.peers.scaled import ScaledReader

FREE = np.full(2, -np.inf), np.full(2, np.inf)


def valley(x):
    """Rosenbrock's, with coordinates of very different units: the minimum is at (1e3, 1e-3)."""
    u, v = x[0] / 1e3, x[1] * 1e3
    slope = np.array([-400 * u * (v - u * u) - 2 * (1 - u), 200 * (v - u * u)])
    return float(100 * (v - u * u) ** 2 + (1 - u) ** 2), slope * np.array([1e-3, 1e3])


BOX = np.array([-5e3, -5e-3]), np.array([5e3, 5e-3])
X0 = np.array([-1.2e3, 1e-3])


def test_scaled_coordinates_have_the_box_and_the_gradient_in_one_unit():
    reader = FunctionReader(valley, True, *BOX, budget=10)
    scaled = ScaledReader(reader, *BOX)
    np.testing.assert_allclose(scaled.lower, [-5, -5])
    found, gradient = scaled.value_and_gradient(scaled.scale(X0))
    expected = valley(X0)
    assert found == pytest.approx(expected[0]) and scaled.calls == reader.calls == 1
    np.testing.assert_allclose(gradient, expected[1] * np.array([1e3, 1e-3]))
    scaled.value(np.full(2, 5.0))
    assert reader.outside == 0, "round-off does not leave the box"


@pytest.mark.parametrize("name", [name for name in PEERS if name.endswith("_scaled")])
def test_scaled_peers_search_where_units_differ(name):
    peer = PEERS[name]
    reader = FunctionReader(valley, True, *FREE, budget=400)
    run_peer(peer, reader, X0, *BOX, 0)
    assert reader.calls == 400 and reader.best_value < (1e-8 if peer.uses_gradients else 1e-1)  # 5.8 at the start


@pytest.mark.parametrize(
    "lower, upper",
    [([-1.0, -1.0], [2.0, 2.0]), ([0.0, -np.inf], [np.inf, 3.0]), ([-np.inf, -np.inf], [np.inf, np.inf])],
)
def test_free_coordinates_reach_every_point_and_no_other(lower, upper):
    lower, upper = np.array(lower), np.array(upper)
    free, x = FreeCoordinates(lower, upper), np.array([0.5, 0.25])
    np.testing.assert_allclose(free.bounded(free.free(x)), x)
    u = np.random.default_rng(0).normal(0, 5, (100, 2))
    points = np.array([free.bounded(row) for row in u])
    assert np.all((points >= lower) & (points <= upper))
    step = 1e-6
    slopes = (free.bounded(u[0] + step) - free.bounded(u[0] - step)) / (2 * step)
    np.testing.assert_allclose(free.slope(u[0]), slopes, rtol=1e-5, atol=1e-7)


def test_bfgs_leaves_a_start_on_a_bound():
    reader = FunctionReader(lambda x: (float(x @ x), 2 * x), True, np.full(2, -1.0), np.full(2, 3.0), budget=60)
    run_peer(PEERS["bfgs"], reader, np.full(2, 3.0), reader.lower, reader.upper, 0)
    assert reader.best_value < 1e-10 and reader.outside == 0


def test_local_methods_leave_the_search_box_where_the_problem_has_no_bounds():
    def far(x):
        return float(np.sum((x - 100.0) ** 2)), 2 * (x - 100.0)

    for name in ("multistart", "bfgs", "slsqp", "multistart_scaled"):
        reader = FunctionReader(far, True, *FREE, budget=60)
        run_peer(PEERS[name], reader, np.zeros(2), np.full(2, -10.0), np.full(2, 10.0), 0)
        assert reader.best_value < 1e-6, name
    reader = FunctionReader(far, True, *FREE, budget=60)
    run_peer(PEERS["direct"], reader, np.zeros(2), np.full(2, -10.0), np.full(2, 10.0), 0)
    assert np.all(np.abs(reader.points) <= 10.0)


def test_the_specialist_counts_residuals_with_their_jacobian_as_one_call():
    x, y = np.linspace(0, 3, 20), 2.5 * np.exp(-1.3 * np.linspace(0, 3, 20))
    residuals = lambda b: b[0] * np.exp(-b[1] * x) - y  # noqa: E731
    jacobian = lambda b: np.stack([np.exp(-b[1] * x), -b[0] * x * np.exp(-b[1] * x)], axis=1)  # noqa: E731
    fun = lambda b: (float(residuals(b) @ residuals(b)), 2 * jacobian(b).T @ residuals(b))  # noqa: E731
    reader = FunctionReader(fun, True, *FREE, budget=40)
    with pytest.raises(ValueError, match="must have residuals"):
        run_peer(PEERS["least_squares"], reader, np.array([1.0, 0.2]), *BOX, 0)
    reader.residuals, reader.jacobian = residuals, jacobian
    run_peer(PEERS["least_squares"], reader, np.array([1.0, 0.2]), np.full(2, -5.0), np.full(2, 5.0), 0)
    assert reader.calls == 40 and reader.best_value < 1e-20
    assert PEERS["least_squares"].specialist and not PEERS["bfgs"].specialist


@pytest.mark.parametrize("name", ["bfgs", "multistart", "multistart_scaled", "nelder_mead", "cobyqa", "bobyqa", "cma"])
def test_a_method_s_own_count_is_the_counter_s(name):
    if not available(PEERS[name].package):
        pytest.skip(f"{PEERS[name].package} is not installed")
    reader = FunctionReader(lambda x: (float(x @ x), 2 * x), True, np.full(2, -4.0), np.full(2, 5.0), budget=800)
    run_peer(PEERS[name], reader, np.array([3.0, -2.0]), reader.lower, reader.upper, 0)
    assert reader.reported == reader.reported_asked > 0 and reader.calls == 800


def branin(x):
    a = x[1] - 5.1 / (4 * np.pi**2) * x[0] ** 2 + 5 / np.pi * x[0] - 6
    return float(a**2 + 10 * (1 - 1 / (8 * np.pi)) * np.cos(x[0]) + 10)


WELLS = np.array([[4, 4, 4, 4], [1, 1, 1, 1], [8, 8, 8, 8], [6, 6, 6, 6], [3, 7, 3, 7]])
SHARP = np.array([[3, 10, 30], [0.1, 10, 35], [3, 10, 30], [0.1, 10, 35]])
PEAKS = np.array(
    [[0.3689, 0.1170, 0.2673], [0.4699, 0.4387, 0.7470], [0.1091, 0.8732, 0.5547], [0.0381, 0.5743, 0.8828]]
)


def shekel(x):
    return -float(np.sum(1 / (np.sum((x - WELLS) ** 2, axis=1) + np.array([0.1, 0.2, 0.2, 0.4, 0.4]))))


def hartmann(x):
    return -float(np.array([1, 1.2, 3, 3.2]) @ np.exp(-np.sum(SHARP * (x - PEAKS) ** 2, axis=1)))


PUBLISHED = {  # function: bounds, minimum, values to 0.01 % that DIRECT-L needs (Gablonsky and Kelley 2001)
    branin: ([-5, 0], [10, 15], 0.397887, 159),
    hartmann: ([0] * 3, [1] * 3, -3.86278, 111),
    shekel: ([0] * 4, [10] * 4, -10.1532, 147),
}


@pytest.mark.parametrize("name", ["direct", "shgo"])
@pytest.mark.parametrize("fun", PUBLISHED)
def test_direct_l_and_shgo_behave_as_published(fun, name):
    lower, upper, minimum, calls = PUBLISHED[fun]
    reader = FunctionReader(fun, False, np.array(lower, float), np.array(upper, float), budget=2 * calls)
    run_peer(PEERS[name], reader, reader.lower, reader.lower, reader.upper, 0)
    assert reader.best_value <= minimum + 1e-4 * abs(minimum)
