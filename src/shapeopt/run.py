"""One run of an optimizer on one problem, kept on the host: state, best point, record; stepped or stretched."""

import math
from dataclasses import replace
from typing import Any

import jax
import numpy as np

from .core import AbstractOptimizer, Box, Cause, Mode, Reading, Status
from .core.event_log import EventLog
from .core.gradient_fit import fit_gradients
from .core.problem import Problem
from .core.result import (
    LEDGER_TERMS,
    MODE_NAMES,
    SHAPING_COLUMNS,
    Result,
    RunRecord,
    list_minima,
    list_stages,
    make_result,
)
from .oracles import AbstractOracle
from .paper.dynamics import PassivityMonitor, SemiImplicitStep
from .paper.events import writes_memory
from .paper.weights import cast_policy
from .policy import AbstractPolicy
from .policy.base import AbstractProvidentPolicy
from .policy.universal import UniversalPolicy
from .rollout import Best, Carry, Stepper, advance, compiled_start
from .shape import ShapeOptimizer, potential_of
from .swarm import SwarmOptimizer
from .values import ValueOptimizer

POINTS_KEPT = 4_000_000  # numbers: beyond it the places of events are not kept, so that memory stays O(d)
STRETCH = 256  # readings between two looks at a compiled run


def prefer_prompt_dispatch() -> None:
    """Let JAX run CPU work in the calling thread, if it has not started yet; else this changes nothing.

    Handing each step of a host objective's run to another thread would take longer than the step. It is a setting of
    the whole process, so a program that wants the other one only has to use JAX before it first minimises.
    """
    jax.config.update("jax_cpu_enable_async_dispatch", False)


class Run:
    """An optimizer's run under a budget. Every number that leaves it is NumPy's.

    `stages` keeps what shapes each stage for `result.stages`, where points are kept at all.
    """

    def __init__(
        self,
        policy: AbstractPolicy,
        problem: Problem,
        budget: int,
        seed: int,
        num_starts: int = 1,
        port_allowance: float | None = None,
        stages: bool = False,
    ) -> None:
        for name, value in (("budget", budget), ("num_starts", num_starts)):
            if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < 1:
                raise ValueError(f"`{name}` must be a whole number of at least 1; got {value!r}.")
        self.problem, self.budget, self.seed, self.port_allowance = problem, int(budget), seed, port_allowance
        self.keeps_points = budget * problem.x0.size <= POINTS_KEPT
        self.judges_gradients = False  # whether `result.gradient_fit` is asked for
        self._forces: list[np.ndarray] = []  # gradients for it, in rows
        with self.precision():
            shape = ShapeOptimizer(
                cast_policy(policy, problem.x0.dtype),
                SemiImplicitStep(policy.h),
                record_anchor=self.keeps_points,
                monitor=_monitor(port_allowance),
                onlooker=potential_of if stages and self.keeps_points else None,
            )
        optimizer: AbstractOptimizer = shape if num_starts == 1 else SwarmOptimizer(shape, int(num_starts))
        self._shape = shape
        self.reads_values = False
        self.particles = int(num_starts)
        self.record = RunRecord()
        self.calls = 0
        self.gradients = 0
        self.best_x, self.best = problem.x0, np.inf
        self._denormal = _has_denormal(problem.lower) or _has_denormal(problem.upper)
        with self.precision():
            self.box = Box.around(problem.lower, problem.upper, problem.x0)
        self._start(optimizer)
        outward = jax.device_get(self.box).outward
        self.log = EventLog(self._first, _writes(policy), outward, problem.layout.restore)
        self._shown = 0  # entries of the log that a callback has seen
        self._stepper: Stepper | None = None
        self._round: list[Reading] = []
        self._rows: list[tuple[float, float, int]] = []  # value, best, calls of the readings made one by one
        self._outcomes: list[np.ndarray] = []  # what the optimizer made of each round of them
        self._mode = int(Mode.ESCAPE)
        self._ended = False  # whether a stage ended since these joined the record

    def _start(self, optimizer: AbstractOptimizer) -> None:
        self.optimizer = optimizer
        with self.precision():
            key = jax.random.key(self.seed)
            self._state, x = compiled_start(optimizer)(self.problem.x0, self.box, self.budget, key)
            self._points = self._inside(np.atleast_2d(jax.device_get(x)))
        self._first = self._points

    def read_values(self) -> bool:
        """Begin again, before the first reading, as a run whose readings are values alone; False where the policy, or
        several particles, need a force with each of them."""
        policy = self._shape.policy
        if self.particles > 1 or not isinstance(policy, UniversalPolicy):
            return False
        shape = replace(self._shape, policy=replace(policy, values=True))
        self._start(ValueOptimizer(shape))
        self.reads_values = True
        return True

    def precision(self) -> Any:
        """The context in which this run's numbers keep their dtype."""
        return jax.enable_x64(self.problem.x0.dtype == np.float64)

    @property
    def left(self) -> int:
        return self.budget - self.calls

    @property
    def state(self) -> Any:
        with self.precision():
            return self._state if self._stepper is None else self._stepper.state

    @property
    def mode(self) -> str:
        """The mode of the stage in which the last reading was made."""
        return MODE_NAMES[self._mode]

    @property
    def x(self) -> np.ndarray:
        """The point to read next."""
        return self._points[len(self._round)]

    @property
    def round(self) -> np.ndarray:
        """The points that are still to be read before the optimizer hears of them, `x` first; a row each."""
        return self._points[len(self._round) :]

    def _inside(self, points: np.ndarray) -> np.ndarray:
        """The points, moved onto bounds so small that compiled code, which has no denormal numbers, took them for 0."""
        return points.clip(self.problem.lower, self.problem.upper) if self._denormal else points

    def tell(self, reading: Reading, calls: int) -> None:
        """Take in a reading at `x` made on the host, after which `calls` calls are spent in all; moves `x`."""
        value = float(reading.value)
        self.saw(self.x, value if math.isfinite(value) else math.inf, calls)
        self.gradients += not self.reads_values
        if self.judges_gradients and self.keeps_points:
            self._forces.append(np.reshape(reading.gradient, (1, -1)))
        self._rows.append((value, self.best, self.calls))
        self._round.append(reading)
        if len(self._round) == self.particles:
            self._finish_round()

    def _finish_round(self) -> None:
        """The optimizer hears of the readings when every particle has its own."""
        values, gradients, costs = self._round[0] if self.particles == 1 else zip(*self._round, strict=True)
        with self.precision():
            self._stepper = self._stepper or Stepper(self.optimizer, self._state)
            outcome = self._stepper.tell(values, costs, gradients if self.particles == 1 else np.ravel(gradients))
        self._round = []
        size = self._points.size
        self._points = self._inside(outcome[:size].reshape(self._points.shape))
        self._outcomes.append(outcome if self.keeps_points else outcome[size:].copy())
        modes, causes = outcome[size : size + 2 * self.particles].reshape(2, -1)  # with which `Info` begins
        self._mode, self._ended = int(modes[-1]), self._ended or bool(causes.any())

    def _settle(self) -> None:
        """Readings that were made one by one join the record."""
        if self._stepper is None or not self._outcomes:
            return
        outcomes, self._outcomes = np.array(self._outcomes), []
        heard = len(outcomes) * self.particles
        (values, bests, calls), self._rows = np.array(self._rows[:heard]).T, self._rows[heard:]
        size = self._points.size if self.keeps_points else 0
        next_x = outcomes[:, :size].reshape(heard, -1) if self.keeps_points else None
        self._keep(values, bests, calls, self._stepper.info(outcomes[:, size:]), next_x)
        self._ended = False

    def saw(self, x: np.ndarray, value: float, calls: int) -> None:
        """A value that was read outside the optimizer's own readings, after which `calls` calls are spent in all."""
        self.calls = max(self.calls, calls)
        if value < self.best:
            self.best, self.best_x = value, x.copy()

    def stretch(self, oracle: AbstractOracle, oracle_state: Any, rounds: int) -> Any:
        """Up to `STRETCH` rounds of readings of a traceable oracle, compiled; returns the oracle's state."""
        with self.precision():
            incumbent: Any = self.best_x, np.asarray(self.best, self.best_x.dtype)
            carry = Carry(self._state, oracle_state, Best(*incumbent))
            judges = self.judges_gradients and self.keeps_points
            carry, steps, x = advance(self.optimizer, oracle, carry, rounds, STRETCH, self.keeps_points, judges)
            self._state = carry.state
            steps, best, points = jax.device_get((steps, carry.best, x))
        self._points = self._inside(np.atleast_2d(points))
        rows, batch = rounds * self.particles, points.ndim  # a swarm's leaves begin with (round, particle)
        flat = jax.tree.map(lambda part: part[:rounds].reshape(rows, *part.shape[batch:]), steps)
        next_x = None if flat.x is None else np.concatenate([flat.x[self.particles :], self._points])
        self.calls, self.gradients = int(flat.calls[-1]), self.gradients + flat.calls.size
        self.best, self.best_x = float(best.value), self._inside(best.x)
        self._forces += [] if flat.gradient is None else [flat.gradient]
        self._keep(flat.value, flat.best, flat.calls, flat.info, next_x)
        self._mode = int(flat.info.mode[-1])
        return carry.oracle

    def result(self, status: Status) -> Result:
        self._settle()
        restore, box = self.problem.layout.restore, jax.device_get(self.box)
        minima = list_minima(self._archive(), self.best_x, self.best, box, restore)
        return make_result(
            x=self.best_x,
            fun=self.best,
            calls=self.calls,
            gradients=self.gradients,
            record=self.record,
            minima=minima,
            log=self.log,
            allowance=self.port_allowance,
            stages=list_stages(self.record, box, self.particles),
            points=self._read_points(),
            gradient_fit=self._gradient_fit(),
            status=status,
            restore=restore,
        )

    def _read_points(self) -> np.ndarray | None:
        """Where each reading was made, in rows of flat vectors."""
        if "next_x" not in self.record:
            return None
        return np.concatenate([self._first, self.record.column("next_x")])[: -self.particles]

    def _gradient_fit(self) -> Result | None:
        """Whether the gradients read are those of the values; None where nobody asked or too little is known."""
        points, values = self._read_points(), self.record.column("value")
        if points is None or not self._forces:
            return None
        return fit_gradients(points, values, np.concatenate(self._forces)[: len(values)], self.particles)

    def _archive(self) -> Any:
        """The basins found; None if an interrupt hit the very moment at which the state was handed over."""
        try:
            state = self.state
            archive = (state.shape if self.reads_values else state).policy.archive
        except RuntimeError:
            return None
        return archive if self.particles == 1 else jax.tree.map(lambda leaf: leaf[0], archive)  # all hold the same one

    def progress(self) -> Result:
        """What a callback sees."""
        x = self.problem.layout.restore(self.best_x)
        return Result(x=x, fun=self.best, nfev=self.calls, mode=self.mode, budget=self.budget)

    def new_events(self) -> list[Result]:
        """The entries of the log since they were last asked for."""
        if self._ended:
            self._settle()
        new = self.log.entries[self._shown :]
        self._shown += len(new)
        return new

    def extend(self, budget: int) -> None:
        """A larger budget."""
        if budget < self.calls:
            raise ValueError(f"`budget` must be at least the {self.calls} calls already spent; got {budget}.")
        self.budget = int(budget)

    def _keep(self, value: Any, best: Any, calls: Any, info: Any, next_x: Any) -> None:
        """A stretch of readings joins the record, and its events the log."""
        columns = {"value": value, "best": best, "calls": calls, "mode": info.mode, "cause": info.cause}
        if info.ledger is not None:
            columns |= dict(zip(LEDGER_TERMS, info.ledger, strict=False))
        columns |= {} if info.cut is None else {"cut": info.cut}
        columns |= {} if next_x is None else {"next_x": next_x}
        shaping = {} if info.seen is None else dict(zip(SHAPING_COLUMNS, jax.tree.leaves(info.seen), strict=True))
        self.record.extend(**columns, **shaping)
        self.log.extend(columns if info.anchor is None else columns | {"anchor": info.anchor})


def _monitor(allowance: float | None) -> PassivityMonitor | None:
    try:
        return None if allowance is None else PassivityMonitor(allowance)
    except ValueError as error:
        raise ValueError(f"`port_allowance` must be a number that is not negative; got {allowance!r}.") from error


def _has_denormal(side: np.ndarray) -> bool:
    return bool(np.any((side != 0) & (np.abs(side) < np.finfo(side.dtype).tiny)))


def _writes(policy: AbstractPolicy) -> Any:
    """Which ends of stages, by mode and cause, write memory: a provident policy's at every signal, another one's at
    escapes too (eq. dp_event_indicator). Where nothing finite was read there is nothing to write."""
    provident = isinstance(policy, AbstractProvidentPolicy)

    def writes(modes: np.ndarray, causes: np.ndarray) -> np.ndarray:
        written = (causes != Cause.CLOCK) if provident else writes_memory(modes, causes)  # type: ignore[arg-type]
        return written & (causes != Cause.NONFINITE)

    return writes
