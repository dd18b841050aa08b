"""Minimise a JAX objective with a policy of the paper's kind, by the compiled loop."""

import os
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..core import Box, Cause, Status
from ..core.event_log import EventLog
from ..core.problem import Layout, Problem, read_problem
from ..core.result import LEDGER_TERMS, MODE_NAMES, Result, RunRecord, list_minima, make_result
from ..oracles import AbstractOracle, AdditiveNoise, ExactOracle, NoisyOracle
from ..rollout import Best, Carry
from .dynamics import PassivityMonitor, SemiImplicitStep
from .events import writes_memory
from .find import load_policy
from .optimizer import ShapeOptimizer, potential_of
from .policy import PaperPolicy
from .stage_list import SHAPING_COLUMNS, list_stages
from .stretches import advance, compiled_start
from .weights import cast_policy

POINTS_KEPT = 4_000_000  # numbers: beyond it the places of events are not kept, so that memory stays O(d)
STRETCH = 256  # readings of one compiled stretch
LOOKS = 50  # stretches of a run that a callback watches, at least

Callback = Callable[[Result], Any]


def minimize(
    fun: Callable[..., Any],
    x0: Any = None,
    *,
    bounds: Any = None,
    budget: int = 500,
    policy: str | os.PathLike | PaperPolicy,
    noise: float | None = None,
    port_allowance: float | None = None,
    stages: bool = False,
    seed: int = 0,
    callback: Callback | None = None,
    descriptor: Any = None,
) -> Result:
    """Minimise a JAX function with a policy of the paper's kind.

    Args:
        fun: the objective; JAX must be able to trace and differentiate it.
        x0: start: an array of any shape, or a pytree of arrays. None: drawn uniformly inside `bounds`. Its dtype is the
            run's (float64 unless all of it is float32).
        bounds: (lower, upper), a sequence of pairs, a `scipy.optimize.Bounds`, or None. No query leaves them.
        budget: the largest number of calls; a value with its gradient is one call.
        policy: a stored policy's name or path, or the policy itself; it must be for the dimension of `x0`.
        noise: standard deviation of Gaussian noise added to each coordinate of the gradients (eq. app:noisy_fo_oracle).
            None: exact gradients.
        port_allowance: how much energy the port may feed in, as a multiple of the energy dissipated so far; an input
            that would exceed it is cut. None: no monitor; infinity: monitored and never cut.
        stages: keep the shaping of each stage in `result.stages` (q_bar, kappa, memory and barrier centres).
        seed: all randomness follows from it.
        callback: called at intervals with a `Result` of x, fun, nfev, mode, budget and the new events; returning True
            or raising StopIteration ends the run.
        descriptor: the numbers d_tau that say which task it is, for a policy that was trained to be told them
            (eq. dp_assimilated_signal). None: none.

    Returns:
        The `Result` of `shapeopt.minimize`: x, fun, nfev, minima, events, trace, energy, passivity and, where asked
        for, stages.

    Raises:
        ValueError: an argument is wrong, or `fun` can't be traced; the message names the argument.

    Example:
        result = shapeopt.paper.minimize(lambda x: (x**2).sum(), [2.0, 3.0], policy="paper-ackley-2")
    """
    for name, value, least in (("budget", budget, 1), ("seed", seed, None)):
        whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
        if not whole or (least is not None and value < least):
            raise ValueError(f"`{name}` must be a whole number{' of at least 1' if least else ''}; got {value!r}.")
    problem = read_problem(x0, bounds, np.random.default_rng(seed))
    with jax.enable_x64(problem.x0.dtype == np.float64):
        run = _Run(problem, _oracle(fun, problem, noise), load_policy(policy), int(budget), int(seed), descriptor)
        return run.finish(port_allowance, stages, callback)


class _Flat(eqx.Module):
    """A function of the user's structure as a function of the flat vector; equal ones share compiled code."""

    fun: Callable[..., Any]
    layout: Layout = eqx.field(static=True)

    def __call__(self, x: Any) -> Any:
        return self.fun(self.layout.restore(x))


def _oracle(fun: Any, problem: Problem, noise: float | None) -> AbstractOracle:
    """The oracle of `fun`, which must trace."""
    if not callable(fun):
        raise ValueError(f"`fun` must be callable; got {fun!r}.")
    if noise is not None and not noise >= 0:
        raise ValueError(f"`noise` must be None or a standard deviation of at least 0; got {noise!r}.")
    exact = ExactOracle(fun if problem.layout.flat else _Flat(fun, problem.layout))
    try:
        jax.eval_shape(lambda x: exact.measure(x, jax.random.key(0)), problem.x0)
    except (jax.errors.ConcretizationTypeError, jax.errors.TracerArrayConversionError) as error:
        raise ValueError("`fun` must be a function that JAX can trace; use `shapeopt.minimize` for others.") from error
    return NoisyOracle(exact, AdditiveNoise(float(noise))) if noise else exact


class _Run:
    """A run under a budget: the compiled loop's carry, and the record of its readings on the host."""

    def __init__(
        self,
        problem: Problem,
        oracle: AbstractOracle,
        policy: PaperPolicy,
        budget: int,
        seed: int,
        descriptor: Any = None,
    ) -> None:
        self.descriptor = None if descriptor is None else jnp.asarray(descriptor, problem.x0.dtype).reshape(-1)
        self.problem, self.oracle, self.policy, self.budget, self.seed = problem, oracle, policy, budget, seed
        self.keeps_points = budget * problem.x0.size <= POINTS_KEPT
        self.box = Box.around(problem.lower, problem.upper, problem.x0)
        self.record, self.calls, self.readings, self.mode = RunRecord(), 0, 0, MODE_NAMES[0]

    def finish(self, port_allowance: float | None, stages: bool, callback: Callback | None) -> Result:
        optimizer = self._optimizer(port_allowance, stages)
        run_key, noise_key = jax.random.split(jax.random.key(self.seed))
        state, first = compiled_start(optimizer)(self.problem.x0, self.box, self.budget, run_key)
        worst: Any = np.asarray(np.inf, self.problem.x0.dtype)
        self.carry = Carry(state, self.oracle.init(noise_key), Best(self.problem.x0, worst))  # type: ignore[arg-type]
        self.first = np.atleast_2d(jax.device_get(first))
        self.log = EventLog(self.first, _writes, jax.device_get(self.box).outward, self.problem.layout.restore)
        return self._result(self._advance(optimizer, callback), port_allowance)

    def _optimizer(self, port_allowance: float | None, stages: bool) -> ShapeOptimizer:
        return ShapeOptimizer(
            cast_policy(self.policy, self.problem.x0.dtype),
            SemiImplicitStep(self.policy.h),
            record_anchor=self.keeps_points,
            monitor=_monitor(port_allowance),
            observer=potential_of if stages and self.keeps_points else None,
            descriptor=self.descriptor,
        )

    def _advance(self, optimizer: ShapeOptimizer, callback: Callback | None) -> Status:
        """Compiled stretches until the budget is spent or the callback asks to stop."""
        look = STRETCH if callback is None else max(1, min(STRETCH, self.budget // LOOKS))
        while (left := (self.budget - self.calls) // self.oracle.cost) > 0:
            shown = len(self.log.entries)
            self._stretch(optimizer, min(look, left))
            if callback is not None and _stops(callback, self._progress(shown)):
                return Status.STOPPED_BY_CALLBACK
        return Status.BUDGET_SPENT

    def _stretch(self, optimizer: ShapeOptimizer, readings: int) -> None:
        self.carry, steps, x = advance(optimizer, self.oracle, self.carry, readings, STRETCH, self.keeps_points)
        steps, after = jax.device_get((steps, x))
        steps = jax.tree.map(lambda column: column[:readings], steps)
        self.calls, self.readings = int(steps.calls[-1]), self.readings + readings
        self.mode = MODE_NAMES[int(steps.info.mode[-1])]
        next_x = None if steps.x is None else np.concatenate([steps.x[1:], np.atleast_2d(after)])
        self._keep(steps, next_x)

    def _keep(self, steps: Any, next_x: np.ndarray | None) -> None:
        """A stretch of readings joins the record, and its events the log."""
        info = steps.info
        columns = {"value": steps.value, "best": steps.best, "calls": steps.calls}
        terms = {term: column for term, column in info.ledger._asdict().items() if term in LEDGER_TERMS}
        columns |= {"mode": info.mode, "cause": info.cause} | terms
        columns |= {} if info.cut is None else {"cut": info.cut}
        columns |= {} if next_x is None else {"next_x": next_x}
        shaping = {} if info.seen is None else dict(zip(SHAPING_COLUMNS, jax.tree.leaves(info.seen), strict=True))
        self.record.extend(**columns, **shaping)
        self.log.extend(columns if info.anchor is None else columns | {"anchor": info.anchor})

    def _progress(self, shown: int) -> Result:
        """What a callback sees; `shown` events of the log are known to it."""
        best = jax.device_get(self.carry.best)
        x, events = self.problem.layout.restore(self._inside(best.x)), self.log.entries[shown:]
        return Result(
            x=x, fun=float(best.value), nfev=self.calls, mode=self.mode, budget=self.budget, events=list(events)
        )

    def _result(self, status: Status, port_allowance: float | None) -> Result:
        best, archive, box = jax.device_get((self.carry.best, self.carry.state.policy.archive, self.box))
        x, fun, restore = self._inside(best.x), float(best.value), self.problem.layout.restore
        points = None
        if "next_x" in self.record:
            points = self._inside(np.concatenate([self.first, self.record.column("next_x")])[:-1])
        return make_result(
            x=x,
            fun=fun,
            calls=self.calls,
            gradients=self.readings,
            record=self.record,
            minima=list_minima(archive, x, fun, box, restore),
            log=self.log,
            allowance=port_allowance,
            stages=list_stages(self.record, box, 1),
            points=points,
            gradient_fit=None,
            status=status,
            restore=restore,
        )

    def _inside(self, points: np.ndarray) -> np.ndarray:
        """The points, moved onto bounds so small that compiled code, which flushes denormals, took them for 0."""
        return points.clip(self.problem.lower, self.problem.upper)


def _monitor(allowance: float | None) -> PassivityMonitor | None:
    try:
        return None if allowance is None else PassivityMonitor(allowance)
    except ValueError as error:
        raise ValueError(f"`port_allowance` must be a number that is not negative; got {allowance!r}.") from error


def _writes(modes: np.ndarray, causes: np.ndarray) -> np.ndarray:
    """Which ends of stages write memory (eq. dp_event_indicator); where nothing finite was read, none does."""
    written: Any = writes_memory(modes, causes)  # type: ignore[arg-type]
    return written & (causes != Cause.NONFINITE)


def _stops(callback: Callback, progress: Result) -> bool:
    try:
        return callback(progress) is True
    except StopIteration:
        return True
