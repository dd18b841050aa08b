"""What every reader does: it counts, refuses what does not fit into the budget, and remembers what was read."""

import abc
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from .host import BudgetExhausted

DIFFERENCE = float(np.sqrt(np.finfo(np.float64).eps))  # SciPy's relative step of two-point differences


class AbstractReader(abc.ABC):
    """An objective as a method of another library reads it, point by point.

    A point outside the bounds is moved to the nearest point inside before it is read, and counted in `outside`; bounds
    may be infinite. A reading that does not fit into the budget is refused, and `exhausted` says that one was. The
    lowest finite value is kept in `best_x` and `best_value`. `cost` is the calls of a value with its gradient,
    `value_cost` those of a value. Points and values have the dtype of the bounds.

    A method that counts its own readings says so with `report`: the sum of what was said is in `reported`, and what
    was counted here over the same stretches in `reported_asked`.
    """

    def __init__(self, lower: np.ndarray, upper: np.ndarray, budget: int, cost: int, value_cost: int) -> None:
        if budget < 0:
            raise ValueError(f"`budget` must not be negative; got {budget}.")
        self.lower, self.upper = np.asarray(lower), np.asarray(upper)
        self.budget, self.cost, self.value_cost = budget, cost, value_cost
        self._points: list[np.ndarray] = []
        self._values: list[float] = []
        self._calls: list[int] = []
        self.calls = self.asked = self.outside = 0
        self.reported = self.reported_asked = 0
        self._strayed = 0  # `asked` at the last point that was not finite
        self.exhausted = False
        self.best_x: np.ndarray | None = None
        self.best_value = np.inf

    @property
    def readings(self) -> int:
        return len(self._values)

    @property
    def points(self) -> np.ndarray:
        """Where it was read, one row a reading."""
        return np.array(self._points, self.lower.dtype).reshape(-1, self.lower.size)

    @property
    def values(self) -> np.ndarray:
        """What was observed, noise included."""
        return np.array(self._values, self.lower.dtype)

    @property
    def calls_after(self) -> np.ndarray:
        """Calls spent once each reading was made."""
        return np.array(self._calls, np.int64)

    @abc.abstractmethod
    def value(self, x: Any) -> float:
        """The value at x."""

    @abc.abstractmethod
    def value_and_gradient(self, x: Any) -> tuple[float, np.ndarray]:
        """Value and gradient at x."""

    def report(self, count: int, since: int) -> None:
        """A method's own count of what it asked since `asked` was `since`.

        SciPy counts a point with NaN once and asks for it twice, so that a count with such points is no count.
        """
        if self._strayed > since:
            return
        self.reported += int(count)
        self.reported_asked += self.asked - since

    def _inside(self, x: Any) -> np.ndarray:
        x = np.asarray(x, self.lower.dtype)
        if x.shape != self.lower.shape:
            raise ValueError(f"`x` must have shape {self.lower.shape}, as the box; got {x.shape}.")
        if not np.isfinite(x).all():
            self._strayed = self.asked
        point = np.fmin(np.fmax(x, self.lower), self.upper)  # unlike clip, these send NaN to a bound
        if not np.isfinite(point).all():  # where there is no bound, to the point that was read last
            point = np.where(np.isfinite(point), point, self._points[-1] if self._points else 0.0)
        self.outside += not np.array_equal(point, x)
        return point

    def _charge(self, cost: int) -> None:
        """Count `cost` calls, or refuse them."""
        if self.calls + cost > self.budget:
            self.exhausted = True
            raise BudgetExhausted(f"A reading of {cost} calls does not fit: {self.calls} of {self.budget} are spent.")
        self.calls += cost

    def _keep(self, point: np.ndarray, value: float) -> None:
        self._points.append(point)
        self._values.append(value)
        self._calls.append(self.calls)
        if -np.inf < value < self.best_value:
            self.best_x, self.best_value = point, value


class FunctionReader(AbstractReader):
    """Reads a NumPy function: x -> (value, gradient) if `gradients`, else x -> value.

    Without gradients, `value_and_gradient` makes one of two-point differences, as SciPy does: d further values, each a
    call, taken inwards where a bound is near; the value at x is not paid twice if it was the last one read.
    A value that is not finite is kept as it is, and the method gets one above all finite ones so far, with a gradient
    of zero: many methods would turn NaN into points that are NaN, and spend their budget there.
    `seconds` limits the processor's time between making the reader and a reading: `late` says that it was passed, and
    the reading is refused like one that does not fit.

    Departs from the paper: it has no host objectives.
    """

    def __init__(
        self,
        fun: Callable[[np.ndarray], Any],
        gradients: bool,
        lower: np.ndarray,
        upper: np.ndarray,
        budget: int,
        seconds: float = np.inf,
    ) -> None:
        super().__init__(lower, upper, budget, 1 if gradients else np.size(lower) + 1, 1)
        self._fun, self._gradients = fun, gradients
        self._ends = time.process_time() + seconds
        self.late = False
        self._highest = -np.inf
        self.residuals: Callable[[np.ndarray], np.ndarray] | None = None  # for methods that see a sum of squares
        self.jacobian: Callable[[np.ndarray], np.ndarray] | None = None

    def value(self, x: Any) -> float:
        self.asked += 1
        return self._value(self._inside(x))

    def value_and_gradient(self, x: Any) -> tuple[float, np.ndarray]:
        self.asked += 1
        point = self._inside(x)
        if not self._gradients:
            return self._differences(point)
        self._charge(1)
        value, gradient = self._fun(point.copy())
        gradient = np.array(gradient, np.float64)
        self._keep(point, float(value))
        sound = np.isfinite(value) and np.isfinite(gradient).all()
        return self._sound(float(value)), gradient if sound else np.zeros_like(gradient)

    def _value(self, point: np.ndarray) -> float:
        self._charge(1)
        answer = self._fun(point.copy())
        value = float(answer[0] if self._gradients else answer)
        self._keep(point, value)
        return self._sound(value)

    def _sound(self, value: float) -> float:
        if np.isfinite(value):
            self._highest = max(self._highest, value)
            return value
        low, high = (self.best_value, self._highest) if self._highest > -np.inf else (0.0, 0.0)
        return high + max(high - low, 1.0)

    def _differences(self, point: np.ndarray) -> tuple[float, np.ndarray]:
        known = self._points and np.array_equal(self._points[-1], point)
        value = self._sound(self._values[-1]) if known else self._value(point)
        step = np.where(point >= 0, 1, -1) * DIFFERENCE * np.maximum(1.0, np.abs(point))
        inside = (point + step >= self.lower) & (point + step <= self.upper)
        moved = point + np.where(inside, step, -step)
        steps = [np.where(np.arange(point.size) == i, moved, point) for i in range(point.size)]
        rises = np.array([self._value(np.clip(x, self.lower, self.upper)) for x in steps]) - value
        return value, rises / (moved - point)

    def _charge(self, cost: int) -> None:
        if time.process_time() > self._ends:
            self.late = self.exhausted = True
            raise BudgetExhausted(f"The time for this run is over after {self.calls} of {self.budget} calls.")
        super()._charge(cost)
