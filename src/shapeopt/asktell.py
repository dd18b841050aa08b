"""`shapeopt.Shape`: the optimizer turned inside out, for objectives that only their owner can call."""

import json
import numbers
import os
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from .core import Reading, Status
from .core.problem import read_problem, seeded
from .core.result import Result
from .core.tree import flatten
from .engines.host import HostRun, whole
from .family import FamilyPolicy
from .optimizer import Policy
from .oracles import BudgetExhausted
from .policies import find_policy

FORMAT = "shapeopt-run-2"
ARRAYS = ("x0", "lower", "upper", "numbers", "values", "gradients")


class Told(NamedTuple):
    """A call's outcome; `number` is that of its point in the order in which the run hears of them."""

    number: int
    value: float
    gradient: np.ndarray | None


class Shape:
    """Ask for a point, evaluate it wherever and whenever, tell what came out.

    Without gradients (`gradients=False`) every value told is one call. `ask` gives the same point until it was told.
    `ask(n)` gives several at once, those of the particles of a round (`num_starts`); they may be told in any order,
    and the run does not depend on it. `save` keeps all that was told; `load` replays it, so a run goes on in another
    process to the same end, and what was asked before may be told there.

    Args:
        x0, bounds, budget, policy, noise, num_starts, port_allowance, seed: as `shapeopt.minimize` has them.
        gradients: whether a gradient is told with each value.

    Raises:
        ValueError: if an argument is wrong; the message names it.

    Example:
        shape = shapeopt.Shape(bounds=[(-5, 5)] * 3, budget=200)
        while shape.left:
            x = shape.ask()
            shape.tell(x, x @ x, 2 * x)
        print(shape.result())
    """

    def __init__(
        self,
        x0: Any = None,
        *,
        bounds: Any = None,
        budget: int = 500,
        policy: str | os.PathLike[str] | Policy | FamilyPolicy = "universal",
        noise: float | None = None,
        num_starts: int = 1,
        port_allowance: float | None = None,
        gradients: bool = True,
        seed: int = 0,
    ) -> None:
        problem = read_problem(x0, bounds, seeded(seed))
        budget, num_starts = whole("budget", budget), whole("num_starts", num_starts)
        self._settings: dict[str, Any] = {
            "budget": budget,
            "policy": policy,
            "noise": noise,
            "num_starts": num_starts,
            "port_allowance": port_allowance,
            "gradients": gradients,
            "seed": seed,
        }
        found = find_policy(policy, problem)
        self._run = HostRun(found, problem, budget, seed, num_starts, port_allowance, noise, not gradients)
        self._gradients = gradients
        self._told: list[Told] = []
        self._taken = 0  # points of this round of which the run has heard, in order
        self._answers: dict[int, Told] = {}  # to points of this round, by their place in it
        self._points = self._run.round.copy()

    @property
    def left(self) -> int:
        """Calls that the budget still allows."""
        return self._run.budget - len(self._told)

    @property
    def best(self) -> Result:
        """The best point told so far, with x, fun, nfev and mode."""
        best = self._run.progress()
        for place in range(self._taken, len(self._points)):  # told before its turn
            told = self._answers.get(place)
            if told is not None and np.isfinite(told.value) and told.value < best.fun:
                best.update(x=self._restore(self._points[place]), fun=told.value)
        best.update(nfev=len(self._told))
        return best

    def ask(self, n: int | None = None) -> Any:
        """The point to evaluate next.

        Args:
            n: ask for at most so many points at once; there are fewer where the round has no more.

        Returns:
            A point in the structure of x0; with `n` a list of them. They come again until their values were told.

        Raises:
            ValueError: if `n` is not a whole number of at least 1.
            BudgetExhausted: if all calls are spent.
        """
        if n is not None and (not isinstance(n, int | np.integer) or isinstance(n, bool) or n < 1):
            raise ValueError(f"`n` must be a whole number of at least 1; got {n!r}.")
        self._require_budget()
        points = [self._restore(self._points[place]) for place in self._open()[: n or 1]]
        return points[0] if n is None else points

    def tell(self, x: Any, value: float, gradient: Any = None) -> None:
        """Report what came out at a point that `ask` gave.

        Args:
            x: the point.
            value: the objective there; NaN where the evaluation failed.
            gradient: in the structure of x; None with `gradients=False`, or where the value is not finite.

        Raises:
            ValueError: if x was not asked for, if the value is no number, or if a gradient is missing or unexpected.
            BudgetExhausted: if all calls are spent.
        """
        layout = self._run.problem.layout
        self._require_budget()
        flat = layout.flatten(x, "x").astype(self._points.dtype)
        place = next((place for place in self._open() if np.array_equal(flat, self._points[place])), None)
        if place is None:
            raise ValueError(f"`x` must be a point that `ask` gave and whose value is not reported yet; got {x!r}.")
        number = isinstance(value, numbers.Real | Decimal) or np.asarray(value).dtype.kind in "fiub"
        if np.ndim(value) != 0 or not number:
            raise ValueError(f"`value` must be a real number; got {value!r}.")
        if self._gradients and gradient is None and np.isfinite(value):
            raise ValueError("`gradient` is missing; for objectives without gradients use Shape(gradients=False).")
        if not self._gradients and gradient is not None:
            raise ValueError(f"`gradient` must be None in a run with gradients=False; got {gradient!r}.")
        if gradient is not None and (size := sum(map(np.size, flatten(gradient)[0]))) != layout.size:
            raise ValueError(f"`gradient` must have as many numbers as `x`, {layout.size}; got {size}.")
        slope = None if gradient is None else layout.flatten(gradient, "gradient").astype(self._points.dtype)
        self._take(Told(self._begun + place, float(value), slope))

    def result(self) -> Result:
        """The result so far.

        Returns:
            What `shapeopt.minimize` returns.
        """
        return self._run.result(Status.BUDGET_SPENT)

    def extend(self, budget: int) -> None:
        """Give the run a larger budget.

        Args:
            budget: calls in all, those that were made among them.

        Raises:
            ValueError: if so many calls were made already, or if it is no whole number.
        """
        self._run.extend(budget)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Keep the settings and all that was told in one safetensors file, written at once or not at all.

        Args:
            path: the file.

        Raises:
            ValueError: if the policy is no name, or x0 no flat array.
        """
        if not isinstance(self._settings["policy"], str):
            raise ValueError("`policy` must be a name for a run that is saved; got an object.")
        problem = self._run.problem
        if not problem.layout.flat:
            raise ValueError("`x0` must be a flat array for a run that is saved.")
        nothing = np.full(problem.x0.size, np.nan)
        rows = [nothing if told.gradient is None else told.gradient for told in self._told if self._gradients]
        gradients = np.array(rows, problem.x0.dtype).reshape(len(rows), problem.x0.size)
        arrays = {"x0": problem.x0, "lower": problem.lower, "upper": problem.upper, "gradients": gradients}
        arrays["values"] = np.array([told.value for told in self._told], float)
        arrays["numbers"] = np.array([told.number for told in self._told], np.int64)
        settings = self._settings | {"total": self._run.budget}
        scratch = Path(f"{os.fspath(path)}.part")
        save_file(arrays, scratch, metadata={"format": FORMAT, "settings": json.dumps(settings)})
        os.replace(scratch, path)

    @staticmethod
    def load(path: str | os.PathLike[str]) -> "Shape":
        """A saved run, replayed.

        Args:
            path: the file that `save` wrote.

        Returns:
            The run; it goes on as the saved one would have.

        Raises:
            ValueError: if the file is damaged or is no saved run.
        """
        try:
            with safe_open(path, framework="numpy") as file:
                metadata = file.metadata() or {}
                if metadata.get("format") != FORMAT:
                    raise ValueError(f"`path` {os.fspath(path)!r} is not a saved run of shapeopt.")
                arrays = {name: file.get_tensor(name) for name in ARRAYS}
                settings = json.loads(metadata["settings"])
        except (SafetensorError, KeyError, json.JSONDecodeError) as error:
            raise ValueError(f"`path` {os.fspath(path)!r} is damaged: {error}") from error
        total = settings.pop("total")
        shape = Shape(arrays["x0"], bounds=(arrays["lower"], arrays["upper"]), **settings)
        shape.extend(max(total, settings["budget"]))
        for i, (number, value) in enumerate(zip(arrays["numbers"], arrays["values"], strict=True)):
            shape._take(Told(int(number), float(value), arrays["gradients"][i] if settings["gradients"] else None))
        shape._run.budget = total
        return shape

    @property
    def _begun(self) -> int:
        """Calls that were made before this round."""
        return len(self._told) - len(self._answers)

    def _require_budget(self) -> None:
        if self.left < 1:
            raise BudgetExhausted(f"All {self._run.budget} calls are spent; `extend` the budget to go on.")

    def _restore(self, point: np.ndarray) -> Any:
        return self._run.problem.layout.restore(point.copy())

    def _open(self) -> list[int]:
        """Places of the round's points that were not told and fit into the budget."""
        last = self._run.budget - self._begun
        return [place for place in range(min(len(self._points), last)) if place not in self._answers]

    def _take(self, told: Told) -> None:
        """One call's outcome; the run hears of it when it is its turn, so that the order of answers has no effect."""
        self._answers[told.number - self._begun] = told
        self._told.append(told)
        while self._taken in self._answers:
            self._hear()
        if self._taken == len(self._points):
            self._taken, self._answers = 0, {}
            self._points = self._run.round.copy()

    def _hear(self) -> None:
        """The next answer in order."""
        answer = self._answers[self._taken]
        self._taken += 1
        x = self._run.x
        gradient = np.full_like(x, np.nan) if answer.gradient is None else answer.gradient
        numbers: Any = (x.dtype.type(answer.value), gradient, np.int32(1))
        self._run.tell(Reading(*numbers), self._begun + self._taken)
