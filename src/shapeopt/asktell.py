"""`shapeopt.Shape`: the optimizer turned inside out, for objectives that only their owner can call."""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from .core import Reading, Status
from .core.problem import read_problem
from .core.result import Result
from .oracles import BudgetExhausted, HostDifferences
from .policy import AbstractPolicy, find_policy
from .run import Run, prefer_prompt_dispatch

FORMAT = "shapeopt-run-1"


class Shape:
    """Ask for a point, evaluate it wherever and whenever, tell what came out.

        shape = Shape(bounds=(lower, upper), budget=200)
        while shape.left:
            x = shape.ask()
            shape.tell(x, value, gradient)
        shape.result()

    Without gradients (`gradients=False`) every value told is one call; where a policy wants a force, the points of its
    differences are asked one after another. `ask` gives the same point until it was told. `save` keeps all that was
    told; `load` replays it, so a run goes on in another process to the same end.
    """

    def __init__(
        self,
        x0: Any = None,
        *,
        bounds: Any = None,
        budget: int = 500,
        policy: str | AbstractPolicy = "universal",
        noise: float | None = None,
        num_starts: int = 1,
        port_allowance: float | None = None,
        gradients: bool = True,
        seed: int = 0,
    ) -> None:
        prefer_prompt_dispatch()
        problem = read_problem(x0, bounds, np.random.default_rng(seed))
        self._settings: dict[str, Any] = {
            "budget": budget,
            "policy": policy,
            "noise": noise,
            "num_starts": num_starts,
            "port_allowance": port_allowance,
            "gradients": gradients,
            "seed": seed,
        }
        self._run = Run(find_policy(policy, noise), problem, budget, seed, num_starts, port_allowance)
        self._gradients = gradients
        self._alone = not gradients and self._run.read_values()
        self._values: list[float] = []  # of the reading under way, when there are no gradients
        self._probes: np.ndarray | None = None
        self._told_values: list[float] = []
        self._told_gradients: list[np.ndarray] = []

    @property
    def left(self) -> int:
        """Calls that the budget still allows."""
        return self._run.budget - len(self._told_values)

    @property
    def best(self) -> Result:
        """The best point told so far: x, fun, nfev, mode."""
        return self._run.progress()

    def ask(self) -> Any:
        """The point to evaluate next, in the structure of x0."""
        if self.left < 1:
            raise BudgetExhausted(f"All {self._run.budget} calls are spent; `extend` the budget to go on.")
        return self._run.problem.layout.restore(self._point().copy())

    def tell(self, x: Any, value: float, gradient: Any = None) -> None:
        """What came out at the point that was asked for; a failed evaluation is told as NaN."""
        layout, run = self._run.problem.layout, self._run
        if self.left < 1:
            raise BudgetExhausted(f"All {run.budget} calls are spent; `extend` the budget to go on.")
        if not np.array_equal(layout.flatten(x, "x").astype(run.x.dtype), self._point()):
            raise ValueError("`x` must be the point that `ask` gave last; got another one.")
        if np.ndim(value) != 0 or isinstance(value, complex):
            raise ValueError(f"`value` must be a real number; got {value!r}.")
        if self._gradients and gradient is None and np.isfinite(value):
            raise ValueError("`gradient` is missing; for objectives without gradients say Shape(gradients=False).")
        if not self._gradients and gradient is not None:
            raise ValueError("`gradient` was told, but this run was begun with gradients=False.")
        self._take(float(value), None if gradient is None else layout.flatten(gradient, "gradient"))

    def result(self) -> Result:
        """As `minimize` returns it."""
        return self._run.result(Status.BUDGET_SPENT)

    def extend(self, budget: int) -> None:
        """A larger budget in all (not in addition)."""
        self._run.extend(budget)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Everything told so far and the settings, in one safetensors file, written at once or not at all."""
        if not isinstance(self._settings["policy"], str):
            raise ValueError("`policy` must be a name or a path for a run that is saved; got an object.")
        problem = self._run.problem
        if not problem.layout.flat:
            raise ValueError("`x0` must be a flat array for a run that is saved.")
        gradients = np.array(self._told_gradients).reshape(len(self._told_gradients), problem.x0.size)
        arrays = {"x0": problem.x0, "lower": problem.lower, "upper": problem.upper, "gradients": gradients}
        arrays["values"] = np.array(self._told_values, float)
        settings = self._settings | {"total": self._run.budget}
        scratch = Path(f"{os.fspath(path)}.part")
        save_file(arrays, scratch, metadata={"format": FORMAT, "settings": json.dumps(settings)})
        os.replace(scratch, path)

    @staticmethod
    def load(path: str | os.PathLike[str]) -> "Shape":
        """A saved run, replayed."""
        try:
            with safe_open(path, framework="numpy") as file:
                metadata = file.metadata() or {}
                if metadata.get("format") != FORMAT:
                    raise ValueError(f"`path` {os.fspath(path)!r} is not a saved run of shapeopt.")
                arrays = {name: file.get_tensor(name) for name in ("x0", "lower", "upper", "values", "gradients")}
                settings = json.loads(metadata["settings"])
        except (SafetensorError, KeyError, json.JSONDecodeError) as error:
            raise ValueError(f"`path` {os.fspath(path)!r} is damaged: {error}") from error
        total = settings.pop("total")
        shape = Shape(arrays["x0"], bounds=(arrays["lower"], arrays["upper"]), **settings)
        shape.extend(max(total, settings["budget"]))
        for i, value in enumerate(arrays["values"]):
            shape._take(float(value), arrays["gradients"][i] if settings["gradients"] else None)
        shape._run.budget = total
        return shape

    def _point(self) -> np.ndarray:
        """The flat point to evaluate: the plant's, or the next probe around it."""
        if self._gradients or self._alone or not self._values:
            return self._run.x
        return self._reading_probes()[len(self._values) - 1]

    def _reading_probes(self) -> np.ndarray:
        if self._probes is None:
            points: list[np.ndarray] = []

            def note(x: np.ndarray) -> float:
                points.append(x)
                return 0.0

            self._differences().estimate(self._run.x, note, self._run.gradients)
            self._probes = np.array(points)
        return self._probes

    def _differences(self) -> HostDifferences:
        problem = self._run.problem
        return HostDifferences.for_budget(problem.lower, problem.upper, self._settings["budget"], self._run.seed)

    def _take(self, value: float, gradient: np.ndarray | None) -> None:
        """One call's outcome; the policy hears of it when its reading is complete."""
        run = self._run
        self._told_values.append(value)
        if self._gradients:
            gradient = np.full_like(run.x, np.nan) if gradient is None else gradient.astype(run.x.dtype)
            self._told_gradients.append(gradient)
            return self._read(value, gradient, 1)
        if self._alone:
            return self._read(value, np.zeros_like(run.x), 1)
        run.saw(self._point(), value if np.isfinite(value) else np.inf, len(self._told_values))
        self._values.append(value)
        if len(self._values) > len(self._reading_probes()):
            answers = iter(self._values[1:])
            _, estimate = self._differences().estimate(run.x, lambda x: next(answers), run.gradients)
            return self._read(self._values[0], estimate, len(self._values))

    def _read(self, value: float, gradient: np.ndarray, cost: int) -> None:
        numbers: Any = (self._run.x.dtype.type(value), gradient, np.int32(cost))
        self._run.tell(Reading(*numbers), len(self._told_values))
        self._values, self._probes = [], None
