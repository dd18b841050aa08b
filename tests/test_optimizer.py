"""The optimizer as a whole, on the host: invariances, bounds, hostile objectives, policies, and what it finds."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from optimizer_runs import Noisy, bowl, kinked, rastrigin, rosenbrock, run_on_host, turned_ackley, wells

import shapeopt
from shapeopt.dynamics import step
from shapeopt.optimizer import TACTICS, Policy
from shapeopt.tactics import AbstractTactic, Hop, Refine

START = np.array([3.3, -2.1, 4.0, 1.2])
LIMITS = ("refine", "settle")  # tactics that move by steps, not by placements alone
CALLS = 100
FUNCTIONS = {"rastrigin": rastrigin, "wells": wells, "rosenbrock": rosenbrock, "kinks": kinked}


def same_decisions(one, other, calls=CALLS):
    assert one.decisions[:calls] == other.decisions[:calls]


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("a", [2.0**20, 2.0**-20])
def test_a_factor_of_f_changes_no_decision_and_no_place(name, a):
    """A power of two has no round-off: places are the same to the last bit but for those of hypotenuses."""
    fun = FUNCTIONS[name]
    plain, scaled = run_on_host(fun, START), run_on_host(lambda x: tuple(a * part for part in fun(x)), START)
    same_decisions(plain, scaled)
    np.testing.assert_allclose(scaled.x, plain.x, atol=1e-9)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_factor_and_a_moderate_constant_change_no_decision(name):
    fun, a, b = FUNCTIONS[name], 4.0, 2.0
    plain = run_on_host(fun, START)
    other = run_on_host(lambda x: (a * fun(x)[0] + b, a * fun(x)[1]), START)
    calls = first_bottom(plain, other)  # where it ends depends on the round-off of the values
    assert calls > 10
    same_decisions(plain, other, calls)
    np.testing.assert_allclose(other.x[:calls], plain.x[:calls], atol=1e-6)


def first_bottom(*runs):
    """Readings before one of the runs is at the bottom of its first basin."""
    return min(next((i for i, (*_, cause) in enumerate(run.decisions) if cause == "converged"), CALLS) for run in runs)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_units_of_the_coordinates_change_no_decision_and_no_place(name):
    units, fun = np.array([2.0**10, 0.25, 2.0**-8, 8.0]), FUNCTIONS[name]

    def in_units(x):
        f, g = fun(x / units)
        return f, g / units

    plain = run_on_host(fun, START)
    other = run_on_host(in_units, START * units, lower=-5.0 * units, upper=5.0 * units)
    same_decisions(plain, other)
    np.testing.assert_allclose(other.x / units, plain.x, atol=1e-9)


def test_a_box_elsewhere_moves_the_run_with_it():
    shift = 128.0
    plain = run_on_host(wells, START)
    moved = run_on_host(lambda x: wells(x - shift), START + shift, lower=shift - 5.0, upper=shift + 5.0)
    same_decisions(plain, moved, 40)
    np.testing.assert_allclose(moved.x[:40] - shift, plain.x[:40], atol=1e-6)


def test_the_same_seed_gives_the_same_bytes_and_another_one_does_not():
    first, second, third = (run_on_host(wells, START, 150, seed=seed) for seed in (1, 1, 2))
    assert first.x.tobytes() == second.x.tobytes() != third.x.tobytes()


# ------------------------------------------------------------------------------------------------- hostile objectives


def holes(value):
    """A function that is `value` in stripes."""
    return lambda x: (value, x * np.nan) if np.sin(3.0 * x[0]) > 0.3 else rastrigin(x)


def scaled(factor):
    def fun(x):
        with np.errstate(all="ignore"):
            f, g = rastrigin(x)
            return f * factor, g * factor

    return fun


def cliff(x):
    large = 1e190 if x.dtype == np.float64 else 1e30
    return (large, large * np.ones_like(x)) if x[0] > 0 else rastrigin(x)


def one_sided(x):
    """Finite values whose gradient is not."""
    f, g = rastrigin(x)
    return f, np.where(x > 2.0, np.inf, g)


HOSTILE = {
    "nan holes": holes(np.nan),
    "+inf holes": holes(np.inf),
    "-inf holes": holes(-np.inf),
    "nan everywhere": lambda x: (np.nan, x * np.nan),
    "constant": lambda x: (3.0, 0.0 * x),
    "zero": lambda x: (0.0, 0.0 * x),
    "plane": lambda x: (float(x.sum()), np.ones_like(x)),
    "huge": scaled(1e300),
    "large": scaled(1e150),
    "tiny": scaled(1e-150),
    "denormal": scaled(1e-310),
    "cliff": cliff,
    "gradient not finite": one_sided,
    "wrong gradient": lambda x: (rastrigin(x)[0], -rastrigin(x)[1]),
    "random": Noisy(lambda x: (float(np.random.default_rng(abs(hash(x.tobytes()))).normal()), 0.0 * x), 1.0),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("bounded", [True, False])
def test_no_query_leaves_the_bounds_or_is_not_a_number(name, dtype, bounded):
    sides = {"lower": [-4.0, -5.0, -1.0, 1.2], "upper": [4.0, 5.0, 7.0, 1.2]} if bounded else {"lower": -np.inf}
    sides |= {} if bounded else {"upper": np.inf}
    made = run_on_host(HOSTILE[name], START.astype(dtype), 120, **sides)
    assert np.isfinite(made.x).all() and np.isfinite(made.ledger).all()
    if bounded:
        assert np.all((made.x >= np.asarray(sides["lower"], dtype)) & (made.x <= np.asarray(sides["upper"], dtype)))


@given(
    seed=st.integers(0, 10_000),
    d=st.integers(1, 15),
    scale=st.sampled_from([1e-200, 1e-20, 1.0, 1e20, 1e200]),
    width=st.sampled_from([1e-12, 1.0, 1e12]),
)
def test_no_query_leaves_a_drawn_box(seed, d, scale, width):
    rng = np.random.default_rng(seed)
    centre = width * rng.normal(size=d)
    lower, upper = centre - width * rng.uniform(0, 1, d), centre + width * rng.uniform(0, 1, d)
    A = rng.normal(size=(d, d))

    def fun(x):
        z = A @ ((x - centre) / width)
        with np.errstate(all="ignore"):
            return scale * float(np.sum(z * z + np.cos(9.0 * z))), scale / width * (2.0 * z - 9.0 * np.sin(9.0 * z)) @ A

    made = run_on_host(fun, rng.uniform(lower, upper), 60, lower=lower, upper=upper, seed=seed)
    assert np.all((made.x >= lower) & (made.x <= upper))


def test_holes_are_left_and_the_best_finite_value_is_kept():
    made = run_on_host(HOSTILE["nan holes"], START[:2], 200)
    assert np.isnan(made.value).any() and np.isfinite(made.value).sum() > 50 and made.best < 5.0


def test_a_start_that_is_not_finite_is_survived():
    made = run_on_host(lambda x: (np.nan, x) if x[0] > 3.0 else rastrigin(x), START, 100)
    assert np.isnan(made.value[0]) and made.best < 40.0


# ------------------------------------------------------------------------------------------------------------ metrics


@pytest.mark.parametrize(
    ("tactic", "fun"), [(t, rosenbrock if t == "refine" else Noisy(rastrigin, 50.0)) for t in LIMITS]
)
def test_the_metrics_of_refine_and_settle_are_positive_definite(tactic, fun, monkeypatch):
    metrics = []

    def watched(ops, plant, move, board, kinetic):
        if move.way is not None and not move.placed and plant.g @ move.way < 0:
            g, s = plant.g, move.way
            across = np.eye(s.size) - np.outer(g, g) / (g @ g)
            matrix = np.outer(s, s) / -(g @ s) + np.linalg.norm(s) / np.linalg.norm(g) * across
            np.testing.assert_allclose(matrix @ -g, s, atol=1e-9 * np.abs(s).max())
            metrics.append(matrix)
        elif move.solve is not None:
            metrics.append(np.array([move.solve(e) for e in np.eye(plant.q.size)]))
        return step(ops, plant, move, board, kinetic)

    monkeypatch.setattr("shapeopt.optimizer.step", watched)
    tactics = tuple(replace(t, least=0) if t.name == "settle" else t for t in TACTICS)
    policy = Policy(tuple(t for t in tactics if t.name in (tactic, "hop", "noise check")))
    noise = None if tactic == "refine" else 50.0
    assert tactic in run_on_host(fun, START, 150, policy=policy, noise=noise).tactics
    assert len(metrics) > 50
    for matrix in metrics:
        np.testing.assert_allclose(matrix, matrix.T, rtol=1e-6, atol=1e-9 * np.abs(matrix).max())
        assert np.linalg.eigvalsh(0.5 * (matrix + matrix.T)).min() > 0


# ----------------------------------------------------------------------------------------------------------- policies


def test_an_ablation_is_another_tuple_and_the_tactic_is_never_used():
    whole = run_on_host(rastrigin, START)
    without = run_on_host(rastrigin, START, policy=Policy().without("separable sum"))
    assert "separable sum" in whole.tactics and "separable sum" not in without.tactics
    assert whole.best < 1e-8 < without.best


def of_another_class(tactic):
    """The same tactic, of a class that the optimizer has never seen."""
    body = {name: part for name, part in vars(type(tactic)).items() if name not in ("__dict__", "__weakref__")}
    return type("Other", (AbstractTactic,), body)()


@pytest.mark.parametrize("kind", ["values", "sum", "turned", "noise"])
def test_tactics_are_known_by_what_they_say_and_not_by_their_class(kind):
    drawn = np.random.default_rng(0)
    fun = {
        "values": lambda x: rastrigin(x)[0],
        "sum": rastrigin,
        "turned": turned_ackley,
        "noise": lambda x: (rastrigin(x)[0], rastrigin(x)[1] + drawn.normal(size=x.size)),
    }[kind]
    settings = {"bounds": (-5, 5), "budget": 300, "jac": None if kind == "values" else True}
    settings |= {"noise": 1.0} if kind == "noise" else {}
    runs = []
    for policy in (Policy(), Policy(tuple(map(of_another_class, TACTICS)))):
        drawn = np.random.default_rng(0)
        runs.append(shapeopt.minimize(fun, np.linspace(-3, 3.3, 10), policy=policy, **settings))
    assert len({event.tactic for event in runs[0].events}) >= 2
    np.testing.assert_array_equal(runs[0].trace.x, runs[1].trace.x)


def test_a_policy_of_a_descent_and_hops_alone_runs():
    policy = Policy((Refine(), Hop()))
    made = run_on_host(wells, START, policy=policy)
    assert set(made.tactics) == {"start", "refine", "hop"}
    names = {event.tactic for event in shapeopt.minimize(wells, START, jac=True, budget=60, policy=policy).events}
    assert names <= {"start", "refine", "hop"}


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Policy((Hop(), Hop())), "`tactics` must have different names"),
        (lambda: Policy().without("hopp"), r"`names` must be of tactics of the policy; got \['hopp'\]"),
    ],
)
def test_a_wrong_policy_is_refused_by_name(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_settings_of_a_tactic_are_its_fields():
    narrow = Policy(tuple(Hop(radius=1e-9, spread=0.0, widest=0.0) if isinstance(t, Hop) else t for t in TACTICS))
    made = run_on_host(wells, START, policy=narrow)
    hops = [i for i, (_, phase, _) in enumerate(made.decisions) if phase == "around the best"]
    nearest = [np.abs(made.x[:i] - made.x[i]).max(axis=1).min() for i in hops]
    assert hops and max(nearest) < 1e-6


# --------------------------------------------------------------------------------------------------------- what it does


def test_a_minimum_on_a_face_is_found_exactly():
    target, weights = np.array([7.0, -7.0, 1.0, 0.5]), np.arange(1.0, 5.0)
    made = run_on_host(lambda x: (float(weights @ (x - target) ** 2), 2.0 * weights * (x - target)), START, 60)
    best = made.x[np.argmin(made.value)]
    np.testing.assert_allclose(best, np.clip(target, -5.0, 5.0), atol=1e-6)


def test_an_unbounded_search_reaches_a_far_minimum():
    far = lambda x: (float(np.sum((x - 300.0) ** 2)), 2.0 * (x - 300.0))  # noqa: E731
    made = run_on_host(far, START, 60, lower=-np.inf, upper=np.inf)
    np.testing.assert_allclose(made.x[np.argmin(made.value)], 300.0, atol=1e-6)


def test_a_known_basin_is_left_before_it_is_refined_again():
    causes = [cause for _, _, cause in run_on_host(rastrigin, START, 500).decisions]
    assert causes.count("revisit") > 3 and causes.count("hopeless") > 10


@pytest.mark.parametrize(("fun", "d", "budget"), [(bowl, 10, 100), (rosenbrock, 6, 150), (turned_ackley, 10, 300)])
def test_the_minimum_is_found(fun, d, budget):
    found = [
        run_on_host(fun, np.random.default_rng(seed).uniform(-5.0, 5.0, d), budget, seed=seed).best for seed in range(5)
    ]
    assert np.median(found) < 1e-3


def test_minima_near_a_corner_are_found_as_well_as_those_around_the_centre():
    """Round wells on a plain: nothing but a bias of the optimizer could tell the places apart."""
    depths = np.array([1.0, 0.9, 0.85, 0.8, 0.7])

    def gaps(shift):
        found = []
        for seed in range(24):
            draw = np.random.default_rng(seed)
            centres = draw.uniform(-1.0, 1.0, (5, 3))
            corner = shift * np.sign(draw.normal(size=3))

            def fun(x, centres=centres + corner, depths=depths):
                away = x - centres
                squares = 1.0 + 4.0 * np.sum(away * away, axis=1)
                i = int(np.argmin(-depths / squares))
                return float(-depths[i] / squares[i]), 8.0 * depths[i] / squares[i] ** 2 * away[i]

            found.append(run_on_host(fun, draw.uniform(-1.0, 1.0, 3) + corner, 80, seed=seed).best)
        return np.array(found)

    centre, corner = gaps(0.0), gaps(3.9)
    solved = [np.mean(values < -1.0 + 1e-6) for values in (centre, corner)]
    assert min(solved) > 0.3 and abs(solved[0] - solved[1]) < 0.35, solved
