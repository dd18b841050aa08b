"""One method on one cell: the same tasks, starts and noise for all, curves as a slow loop has them, odd cases kept."""

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from shapeopt.baselines import Adam, GradientDescent
from shapeopt.bench import execute
from shapeopt.bench.cells import Cell
from shapeopt.bench.curves import Curves
from shapeopt.bench.execute import run_cell, run_keys
from shapeopt.bench.methods import Hosted, Traceable, find_method
from shapeopt.bench.metrics import GAP_HIT, distinct_minima, summarise
from shapeopt.bench.records import ARRAYS
from shapeopt.bench.sensing import EXACT, AbstractSensing, Noisy, ValueOnly
from shapeopt.core import AbstractOptimizer
from shapeopt.oracles import AdditiveNoise, ExactOracle, NoisyOracle
from shapeopt.peers import AbstractPeer, Start
from shapeopt.rollout import rollout
from shapeopt.tasks import AbstractFamily, AbstractTask, Multiwell, cube

NAN, INF = np.nan, np.inf
RATE = 0.05
MEASURED = execute._objective_seconds


@pytest.fixture(autouse=True)
def unmeasured(monkeypatch):
    """The objective's time, for which a second program would be compiled, is not measured."""
    monkeypatch.setattr(execute, "_objective_seconds", lambda cell, seed: 0.0)


class BowlTask(AbstractTask):
    """|q - s|^2 on [-5, 5]^2, broken where q_0 > `broken_above`; the minimum need not be known."""

    minimiser: jax.Array
    minimum: jax.Array
    broken: float = eqx.field(static=True)
    broken_above: float = eqx.field(static=True)

    def __call__(self, q):
        return jnp.where(q[0] > self.broken_above, self.broken, jnp.sum((q - self.minimiser) ** 2) + 1.0)

    @property
    def box(self):
        return cube(2, 5.0, np.float64)

    def start(self, key):
        return jax.random.uniform(key, (2,), minval=-5.0, maxval=5.0)

    def distance(self, q):
        return jnp.linalg.norm(q - self.minimiser)


class Bowls(AbstractFamily):
    known: bool = eqx.field(static=True, default=True)
    broken: float = eqx.field(static=True, default=INF)
    broken_above: float = eqx.field(static=True, default=INF)
    dimension: int = eqx.field(static=True, default=2)

    @property
    def name(self):
        return "bowls"

    @property
    def minimum_source(self):
        return "exact"

    def sample(self, key):
        s = jax.random.uniform(key, (2,), minval=-4.0, maxval=4.0)
        return BowlTask(s, jnp.asarray(1.0 if self.known else NAN), self.broken, self.broken_above)


class HeldTask(BowlTask):
    form: Callable

    def __call__(self, q):
        return jnp.sum(self.form(q - self.minimiser)) + 1.0


class Held(Bowls):
    """Bowls whose tasks have a function as a field."""

    def sample(self, key):
        task = super().sample(key)
        return HeldTask(task.minimiser, task.minimum, INF, INF, jnp.square)


@dataclass(frozen=True)
class NoisyValues(AbstractSensing):
    """Values and gradients with noise."""

    sigma: float = 5.0
    label: ClassVar[str] = "noisy-values"

    def oracle(self, task, budget):
        return NoisyOracle(ExactOracle(task), AdditiveNoise(0.1), value_sigma=self.sigma)


class Walk(AbstractOptimizer):
    """Takes the same step after every reading, whatever it heard."""

    step: float

    def init(self, x0, box, budget, key):
        return x0

    def ask(self, state):
        return state

    def tell(self, state, reading):
        return state + self.step


class Sweep(AbstractOptimizer):
    """Reads its start, then points at equal distances over a line of [-5, 5]."""

    def init(self, x0, box, budget, key):
        return x0, jnp.linspace(-5.0, 5.0, budget), jnp.zeros((), jnp.int32)

    def ask(self, state):
        return state[0]

    def tell(self, state, reading):
        return state[1][state[2]][None], state[1], state[2] + 1


class Pairs(AbstractOptimizer):
    """Asks for two points at once, which a cell does not allow."""

    def init(self, x0, box, budget, key):
        return jnp.stack([x0, x0])

    def ask(self, state):
        return state

    def tell(self, state, reading):
        return state


@dataclass(frozen=True)
class HostedSteps(AbstractPeer):
    """Gradient descent written for the host, clipped to the box."""

    name: str = "hosted_steps"
    package: ClassVar[str] = "numpy"
    uses_gradients: ClassVar[bool] = True
    start: ClassVar[Start] = Start.READS

    def search(self, reader, x0, lower, upper, seed):
        x = x0
        while True:
            _, gradient = reader.value_and_gradient(x)
            x = np.clip(x - RATE * gradient, lower, upper)


@dataclass(frozen=True)
class HostedSweep(AbstractPeer):
    """What `Sweep` does, for the host."""

    name: str = "hosted_sweep"
    package: ClassVar[str] = "numpy"
    uses_gradients: ClassVar[bool] = False
    start: ClassVar[Start] = Start.READS

    def search(self, reader, x0, lower, upper, seed):
        reader.value(x0)
        for x in np.linspace(lower, upper, reader.budget):
            reader.value(x)


@dataclass(frozen=True)
class Quits(AbstractPeer):
    """Reads `readings` times, the last time far outside the box, and then stops or raises."""

    name: str = "quits"
    readings: int = 0
    raises: bool = False
    package: ClassVar[str] = "numpy"
    uses_gradients: ClassVar[bool] = False
    start: ClassVar[Start] = Start.IGNORES

    def search(self, reader, x0, lower, upper, seed):
        for i in range(self.readings):
            reader.value(x0 if i + 1 < self.readings else np.full(2, 99.0))
        if self.raises:
            raise RuntimeError("the library gave up")


def cell(budget=7, tasks=2, starts=2, **changes):
    return Cell(**({"family": Bowls(), "budget": budget, "tasks": tasks, "starts": starts} | changes))


def traceable(optimizer):
    return Traceable("ours", lambda cell: optimizer)


def run(cell, method, seed=3):
    return run_cell(cell, method, seed)


@functools.lru_cache
def slow(cell, optimizer, seed=3):
    """All runs of a cell by plain rollouts, one after another: lists of (trace, gaps, distances), the end's last."""

    @jax.jit
    def one(task_key, start_key, own):
        task = cell.family.sample(jax.random.wrap_key_data(task_key))
        oracle, x0 = cell.sensing.oracle(task, cell.budget), task.start(jax.random.wrap_key_data(start_key))
        own = jax.random.wrap_key_data(own)
        trace = rollout(optimizer, oracle, x0, task.box, cell.budget, own, record_points=True)
        points = jnp.concatenate([trace.steps.x, optimizer.ask(trace.end.state)[None]])
        return trace.steps, jax.lax.map(task, points) - task.minimum, jax.lax.map(task.distance, points)

    return [jax.device_get(one(*words)) for words in zip(*run_keys(cell, seed), strict=True)]


def assert_same(a: Curves, b: Curves, rtol: float):
    for name in ARRAYS:
        ours, theirs = getattr(a, name), getattr(b, name)
        if ours is None:
            assert theirs is None
        else:
            np.testing.assert_allclose(ours, theirs, rtol=rtol, atol=rtol, err_msg=name)


@pytest.mark.full
@pytest.mark.parametrize("method", [traceable(Adam(0.1, 0.9, 0.999)), Hosted("hosted", HostedSteps())])
def test_one_seed_gives_the_same_curves_bit_for_bit_and_another_seed_others(method):
    noisy = cell(sensing=Noisy(0.3))
    first = run(noisy, method)
    assert_same(run(noisy, method), first, rtol=0)
    assert np.all(run(noisy, method, seed=4).gap != first.gap)


@pytest.mark.grid(4)
@pytest.mark.parametrize("sensing", [EXACT, Noisy(0.5), NoisyValues(), ValueOnly(1)], ids=lambda s: type(s).__name__)
def test_a_compiled_and_a_hosted_method_meet_the_same_tasks_starts_and_noise(sensing):
    """One rule twice, compiled in a batch and on the host: only with the same noise do they stay together."""
    both = cell(budget=13, sensing=sensing)
    ours, theirs = run(both, traceable(GradientDescent(RATE))), run(both, Hosted("steps", HostedSteps()))
    for name in ("gap", "best_gap", "distance", "calls"):
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-11, atol=1e-11, err_msg=name)
    assert len(np.unique(ours.gap[:, -1])) == both.runs


def test_all_methods_read_the_same_start_first():
    first = [
        run(cell(), find_method(name)) for name in ("gd", "adam", "basinhopping", "differential_evolution_10", "cma")
    ]
    for curves in first[1:]:
        np.testing.assert_allclose(curves.gap[:, 0], first[0].gap[:, 0], rtol=1e-10)
        np.testing.assert_allclose(curves.distance[:, 0], first[0].distance[:, 0], rtol=1e-10)
    assert len(np.unique(first[0].gap[:, 0])) == 4


@pytest.mark.grid(4)
@pytest.mark.parametrize("sensing", [EXACT, NoisyValues(), ValueOnly(1)], ids=lambda s: type(s).__name__)
def test_curves_are_those_of_a_slow_loop(sensing):
    one, optimizer = cell(budget=8, starts=1, sensing=sensing), Adam(0.2, 0.9, 0.999)
    curves = run(one, traceable(optimizer))
    for i, (steps, gaps, distances) in enumerate(slow(one, optimizer)):
        expected, best, reading = np.full((3, 8), NAN), INF, -1
        for k in range(8):
            if reading + 1 < len(steps.calls) and steps.calls[reading + 1] == k + 1:
                reading += 1
                if steps.value[reading] < best:
                    best, best_gap = steps.value[reading], gaps[reading]
            if reading >= 0:
                expected[:, k] = gaps[reading], best_gap, distances[reading]
        np.testing.assert_allclose([curves.gap[i], curves.best_gap[i], curves.distance[i]], expected, rtol=1e-11)
        np.testing.assert_allclose(
            [curves.final_gap[i], curves.final_distance[i]], [gaps[-1], distances[-1]], rtol=1e-11
        )
        assert curves.calls[i] == steps.calls[-1] == (6 if isinstance(sensing, ValueOnly) else 8)


@pytest.mark.full
def test_the_best_gap_under_noise_is_the_true_gap_at_the_lowest_observed_value():
    noisy, optimizer = cell(budget=13, sensing=NoisyValues()), GradientDescent(RATE)
    expected = [gaps[np.argmin(steps.value)] for steps, gaps, _ in slow(noisy, optimizer)]
    ours, theirs = run(noisy, traceable(optimizer)), run(noisy, Hosted("steps", HostedSteps()))
    for curves in (ours, theirs):
        np.testing.assert_allclose(curves.best_gap[:, -1], expected, rtol=1e-11)
        assert np.any(curves.best_gap[:, -1] > curves.gap.min(axis=1) + 1e-3), "else the noise decided nothing"
    # A compiled method ends at its last position, which is never read; a hosted one at its best reading.
    np.testing.assert_allclose(ours.final_gap, [gaps[-1] for _, gaps, _ in slow(noisy, optimizer)], rtol=1e-11)
    np.testing.assert_array_equal(theirs.final_gap, theirs.best_gap[:, -1])


@pytest.mark.parametrize("budget", [1, 2, 3, 7])
@pytest.mark.parametrize("name", ["gd", "basinhopping", "direct"])
def test_small_budgets_are_spent_to_the_last_call(name, budget):
    curves = run(cell(budget=budget, tasks=1), find_method(name))
    np.testing.assert_array_equal(curves.calls, budget)
    assert curves.gap.shape == (2, budget) and np.all(curves.gap >= 0) and np.all(np.isfinite(curves.final_gap))


@pytest.mark.full
def test_shape_itself_lives_with_two_calls():
    curves = run(cell(budget=2), find_method("universal"))
    np.testing.assert_array_equal(curves.calls, 2)
    np.testing.assert_allclose(curves.gap[:, 0], run(cell(budget=2), find_method("gd")).gap[:, 0], rtol=1e-10)
    assert np.all(curves.final_gap < curves.gap[:, 0])


def test_readings_of_three_calls_stand_on_the_axis_of_calls():
    curves = run(cell(budget=8, sensing=ValueOnly(1)), find_method("gd"))
    np.testing.assert_array_equal(curves.calls, 6)
    assert np.isnan(curves.gap[:, :2]).all() and not np.isnan(curves.gap[:, 2:]).any()
    np.testing.assert_array_equal(curves.gap[:, 2:5], curves.gap[:, 2:3].repeat(3, axis=1))
    np.testing.assert_array_equal(curves.gap[:, 5:], curves.gap[:, 5:6].repeat(3, axis=1))
    assert np.all(curves.gap[:, 5] != curves.gap[:, 4])


@pytest.mark.parametrize("budget", [1, 2])
def test_a_budget_below_the_cost_of_a_reading_leaves_a_method_at_its_start(budget):
    values = cell(budget=budget, sensing=ValueOnly(1))
    starts = run(cell(), find_method("gd")).gap[:, 0]
    for name in ("gd", "basinhopping"):
        curves = run(values, find_method(name))
        assert np.isnan(curves.gap).all() and np.isnan(curves.best_gap).all() and not curves.calls.any()
        np.testing.assert_allclose(curves.final_gap, starts, rtol=1e-10)
    np.testing.assert_array_equal(run(values, find_method("cma")).calls, budget)  # it needs values alone


def test_a_batch_that_is_not_full_leaks_nothing(monkeypatch):
    whole = cell(tasks=3, starts=2, sensing=Noisy(0.2))
    expected = run(whole, find_method("gd"))
    monkeypatch.setattr(execute, "LANES", 4)
    curves = run(whole, find_method("gd"))
    assert curves.gap.shape == (6, 7)
    assert_same(curves, expected, rtol=1e-12)


def test_runs_of_a_task_share_it_and_differ_in_their_starts():
    curves = run(cell(tasks=2, starts=3), traceable(Walk(0.0)))
    distance = curves.by_task(curves.distance)[:, :, 0]
    assert len(np.unique(distance)) == 6
    np.testing.assert_allclose(curves.gap, curves.distance**2, rtol=1e-10)
    np.testing.assert_array_equal(curves.gap, np.repeat(curves.gap[:, :1], 7, axis=1))


@pytest.mark.full
def test_a_task_may_hold_what_is_no_array():
    whole = run(cell(tasks=2, starts=2), traceable(Walk(0.1)))
    held = run(replace(cell(tasks=2, starts=2), family=Held()), traceable(Walk(0.1)))
    np.testing.assert_array_equal(held.gap, whole.gap)


def test_every_run_has_its_own_task_of_those_that_are_sampled_once():
    cell = Cell(Multiwell(), 6, tasks=3, starts=2)
    tasks, keys = execute._tasks(cell, 0), run_keys(cell, 0)
    assert {len(leaf) for leaf in jax.tree.leaves(tasks)} == {3}
    given = execute._of_runs(cell, tasks, np.arange(6))
    for run in range(6):
        alone = cell.family.sample(jax.random.wrap_key_data(keys.task[run]))
        np.testing.assert_allclose(given.knots[run], alone.knots, rtol=1e-12)


def test_the_minima_that_runs_were_at_are_counted_for_both_kinds_of_method():
    wells = Cell(Multiwell(), budget=101, tasks=2, starts=2, counts_minima=True)
    ours, theirs = run(wells, traceable(Sweep())), run(wells, Hosted("sweep", HostedSweep()))
    np.testing.assert_array_equal(ours.minimum_index, theirs.minimum_index)
    grid = np.linspace(-5, 5, 101)[:-1]  # the first reading is the start's
    for i in range(wells.runs):
        task = wells.family.sample(jax.random.wrap_key_data(run_keys(wells, 3).task[i]))
        knots, heights = np.asarray(task.knots)[1::2], np.asarray(task.values)[1::2]
        knots = knots[np.argsort(heights)]
        away = np.abs(grid[:, None] - knots)
        expected = np.where(away.min(axis=1) < 0.2, away.argmin(axis=1), -1)
        np.testing.assert_array_equal(ours.minimum_index[i, 1:], expected)
    np.testing.assert_array_equal(distinct_minima(ours), 4)
    assert run(cell(), find_method("gd")).minimum_index is None


def test_queries_outside_the_box_are_moved_to_its_nearest_point_for_both_kinds_of_method():
    curves = run(cell(), traceable(Walk(40.0)))
    for i in range(4):
        task = cell().family.sample(jax.random.wrap_key_data(run_keys(cell(), 3).task[i]))
        corner = float(task(jnp.full(2, 5.0)) - 1.0)
        np.testing.assert_allclose(curves.gap[i, 1:], corner, rtol=1e-10)
        np.testing.assert_allclose(curves.final_gap[i], corner, rtol=1e-10)
        hosted = run(cell(), Hosted("quits", Quits(readings=2)))
        np.testing.assert_allclose(hosted.gap[i, 1], corner, rtol=1e-10)


def test_points_that_are_no_numbers_are_read_at_a_corner_and_never_the_best():
    curves = run(cell(), traceable(Walk(NAN)))
    np.testing.assert_array_equal(curves.calls, 7)
    assert np.all(np.isfinite(curves.gap)) and np.all(curves.best_gap <= curves.gap[:, :1])


def test_a_method_that_asks_for_two_points_at_once_is_refused():
    with pytest.raises(ValueError, match=r"`ask` must give one point of shape \(2,\); got shape \(2, 2\)"):
        run(cell(), traceable(Pairs()))


@pytest.mark.parametrize("broken", [NAN, INF, -INF])
@pytest.mark.parametrize("method", [traceable(Walk(1.5)), Hosted("sweep", HostedSweep())], ids=["compiled", "hosted"])
def test_values_that_are_not_finite_are_the_worst_gap_and_never_the_best(method, broken):
    half = cell(family=Bowls(broken=broken, broken_above=0.0))
    curves = run(half, method)
    assert np.isinf(curves.gap).any() and not np.isneginf(curves.gap).any() and not np.isnan(curves.gap).any()
    known = np.where(np.isinf(curves.gap), INF, curves.distance**2)
    np.testing.assert_allclose(curves.best_gap, np.minimum.accumulate(known, axis=1), rtol=1e-10)


def test_an_objective_that_is_never_finite_is_the_worst_and_not_unknown():
    never = cell(family=Bowls(broken_above=-INF))
    for method in (find_method("gd"), Hosted("sweep", HostedSweep())):
        curves = run(never, method)
        assert (
            np.isposinf(curves.gap).all() and np.isposinf(curves.best_gap).all() and np.isposinf(curves.final_gap).all()
        )
        assert np.all(summarise(curves, GAP_HIT)["wasted_budget"] == 1)


def test_without_a_known_minimum_gaps_are_unknown_and_the_rest_is_there():
    unknown = cell(family=Bowls(known=False))
    for method in (find_method("gd"), find_method("basinhopping")):
        curves = run(unknown, method)
        assert np.isnan(curves.gap).all() and np.isnan(curves.best_gap).all() and np.isnan(curves.final_gap).all()
        np.testing.assert_array_equal(curves.calls, 7)
        assert np.all(np.isfinite(curves.distance)) and np.all(curves.distance[:, 0] > 0)


def test_a_peer_that_stops_early_or_never_reads_is_charged_for_what_it_read():
    curves = run(cell(), Hosted("quits", Quits(readings=2)))
    np.testing.assert_array_equal(curves.calls, 2)
    np.testing.assert_array_equal(curves.gap[:, 1:], curves.gap[:, 1:2].repeat(6, axis=1))
    silent = run(cell(), Hosted("silent", Quits()))
    assert not silent.calls.any() and np.isnan(silent.gap).all()
    np.testing.assert_allclose(silent.final_gap, curves.gap[:, 0], rtol=1e-12)


def test_a_peer_s_own_fault_passes_and_one_after_the_budget_is_the_stop():
    with pytest.raises(RuntimeError, match="the library gave up"):
        run(cell(), Hosted("breaks", Quits(readings=3, raises=True)))
    np.testing.assert_array_equal(run(cell(budget=2), Hosted("breaks", Quits(readings=3, raises=True))).calls, 2)


def test_one_run_is_enough_and_times_are_told(monkeypatch):
    monkeypatch.setattr(execute, "_objective_seconds", MEASURED)
    for method in (find_method("gd"), Hosted("sweep", HostedSweep())):
        curves = run(cell(tasks=1, starts=1), method)
        assert curves.gap.shape == (1, 7)
        assert 0 < curves.seconds_objective < 60 and 0 <= curves.seconds_optimizer < 60


def test_what_is_no_method_is_refused():
    with pytest.raises(TypeError, match="`method` must be compiled or hosted"):
        run(cell(), "gd")
