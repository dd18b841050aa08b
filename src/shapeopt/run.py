"""One run of an optimizer on one problem, kept on the host: state, best point, record; stepped or stretched."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from scipy.optimize import OptimizeResult

from .core import Box, Cause, Mode, Reading, Status
from .core.problem import Problem
from .core.result import LEDGER_TERMS, RunRecord, list_minima, make_result
from .oracles import AbstractOracle
from .rollout import Best, Carry, Stepper, advance, compiled_start
from .shape import ShapeOptimizer

POINTS_KEPT = 4_000_000  # numbers: beyond it the places of events are not kept, so that memory stays O(d)
MODE_NAMES = tuple(mode.name.lower() for mode in Mode)
STRETCH = 256  # readings between two looks at a compiled run


class Run:
    """An optimizer's run under a budget. Every number that leaves it is NumPy's."""

    def __init__(self, optimizer: ShapeOptimizer, problem: Problem, budget: int, seed: int) -> None:
        if not isinstance(budget, int | np.integer) or isinstance(budget, bool) or budget < 1:
            raise ValueError(f"`budget` must be a whole number of at least 1; got {budget!r}.")
        self.optimizer, self.problem, self.budget, self.seed = optimizer, problem, int(budget), seed
        self.record = RunRecord()
        self.calls = 0
        self.gradients = 0
        self.best_x, self.best = problem.x0, np.inf
        self.keeps_points = budget * problem.x0.size <= POINTS_KEPT
        with self.precision():
            self.box = Box.around(problem.lower, problem.upper, problem.x0)
            key = jax.random.key(seed)
            self._state = compiled_start(optimizer)(jnp.asarray(problem.x0), self.box, self.budget, key)
        self._stepper: Stepper | None = None
        self.mode = MODE_NAMES[Mode.ESCAPE]
        self.x = problem.x0

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

    def tell(self, reading: Reading, calls: int) -> None:
        """Take in a reading at `x` made on the host, after which `calls` calls are spent in all; moves `x`."""
        value, x = float(reading.value), self.x
        self.calls, self.gradients = calls, self.gradients + 1
        if np.isfinite(value) and value < self.best:
            self.best, self.best_x = value, x
        with self.precision():
            self._stepper = self._stepper or Stepper(self.optimizer, self._state)
            self.x, info = self._stepper.tell(*reading)
        names, row = self._columns(value, self.best, calls, info, self.x)
        self.record.append(names, row)
        self.mode = MODE_NAMES[int(info.mode)]

    def saw(self, x: np.ndarray, value: float, calls: int) -> None:
        """A value that was read outside the optimizer's own readings, after which `calls` calls are spent in all."""
        self.calls = max(self.calls, calls)
        if value < self.best:
            self.best, self.best_x = value, x

    def stretch(self, oracle: AbstractOracle, oracle_state: Any, readings: int) -> Any:
        """Up to `STRETCH` readings of a traceable oracle, compiled; returns the oracle's state."""
        with self.precision():
            best = Best(jnp.asarray(self.best_x), jnp.asarray(self.best, self.best_x.dtype))
            carry = Carry(self._state, oracle_state, best)
            carry, steps = advance(self.optimizer, oracle, carry, readings, STRETCH, self.keeps_points)
            self._state = carry.state
            steps, best, self.x = jax.device_get((steps, carry.best, self.optimizer.ask(carry.state)))
        steps = jax.tree.map(lambda rows: rows[:readings], steps)
        self.calls, self.gradients = int(steps.calls[-1]), self.gradients + readings
        self.best, self.best_x = float(best.value), best.x
        next_x = None if steps.x is None else np.concatenate([steps.x[1:], self.x[None]])
        names, columns = self._columns(steps.value, steps.best, steps.calls, steps.info, next_x)
        self.record.extend(**dict(zip(names, columns, strict=True)))
        self.mode = MODE_NAMES[int(steps.info.mode[-1])]
        return carry.oracle

    def result(self, status: Status) -> OptimizeResult:
        restore = self.problem.layout.restore
        minima = list_minima(self.state.policy.archive, self.best_x, self.best, self.box, restore)
        return make_result(
            x=self.best_x,
            fun=self.best,
            calls=self.calls,
            gradients=self.gradients,
            record=self.record,
            minima=minima,
            status=status,
            restore=restore,
        )

    def progress(self) -> OptimizeResult:
        """What a callback sees."""
        x = self.problem.layout.restore(self.best_x)
        return OptimizeResult(x=x, fun=self.best, nfev=self.calls, mode=self.mode, budget=self.budget)

    def extend(self, budget: int) -> None:
        """A larger budget."""
        if budget < self.calls:
            raise ValueError(f"`budget` must be at least the {self.calls} calls already spent; got {budget}.")
        self.budget = int(budget)

    def _columns(
        self, value: Any, best: Any, calls: Any, info: Any, next_x: Any
    ) -> tuple[tuple[str, ...], tuple[Any, ...]]:
        """Names and entries of what is recorded, of one reading or of a stretch."""
        names: tuple[str, ...] = ("value", "best", "calls", "mode", "cause")
        entries: tuple[Any, ...] = (value, best, calls, info.mode, info.cause)
        if info.ledger is not None:
            names, entries = names + LEDGER_TERMS, entries + info.ledger[: len(LEDGER_TERMS)]
        if self.keeps_points:
            names, entries = (*names, "next_x"), (*entries, next_x)
        return names, entries


def last_cause(run: Run) -> str:
    """Why the last stage that ended did so; for progress displays."""
    causes = run.record.column("cause").astype(int)
    ended = np.flatnonzero(causes)
    return Cause(causes[ended[-1]]).name.lower() if ended.size else ""
