"""Units and convergence: whether decisions depend on units, and whether converged points are stationary.

    python benchmarks/invariance.py units        f -> a f + b and, with bounds, x -> D x + c: the same decisions?
    python benchmarks/invariance.py unbounded    without bounds x -> D x, D from 1e-6 to 1e6: the same minima, how soon?
                                                 And in units .6 to 1.6 times as large: what any change of them does
    python benchmarks/invariance.py converged    "converged" events: the projected gradient there, in scaled units

Problems are smooth functions made here, and the unbounded problems of the `dev` half of CUTEst where sif2jax is there.
The exit code is 1 where a figure is missed.
"""

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

import shapeopt

STEP = 1e-30  # of complex derivatives
BUDGET = 500
REACHED = 1e-6  # of the first value's distance to the minimum, at which that counts as reached
NEAR = 1e-5  # of values: differences that round-off may grow to within a descent
MOST_CALLS = 1.5  # in other units, as a multiple
SHARE = 0.95  # of problems
DECADES = 6.0  # of units, to either side of the own ones,
NEARBY = 0.2  # and of those that are as good as the own ones
STEEP = 1e-4  # scaled projected gradient at a converged point, as a share of the start's, that says otherwise,
FALL = 1e-7  # if a descent from there gains this share of what the run gained


@dataclass(frozen=True)
class Problem:
    """A smooth function, x -> (value, gradient), with a start and, maybe, a box."""

    name: str
    fun: Callable[[np.ndarray], tuple[float, np.ndarray]]
    x0: np.ndarray
    lower: np.ndarray
    upper: np.ndarray

    @property
    def bounds(self) -> tuple[np.ndarray, np.ndarray] | None:
        return (self.lower, self.upper) if np.isfinite(self.lower).any() else None

    def changed(self, units: np.ndarray, shift: np.ndarray, a: float = 1.0, b: float = 0.0) -> "Problem":
        """The same in z = units x + shift, with values a f + b."""

        def fun(z: np.ndarray) -> tuple[float, np.ndarray]:
            value, gradient = self.fun((z - shift) / units)
            return a * value + b, a * gradient / units

        sides = (units * side + shift for side in (self.x0, self.lower, self.upper))
        return Problem(self.name, fun, *sides)

    def run(self, budget: int = BUDGET, seed: int = 0) -> "shapeopt.core.result.Result":
        with np.errstate(all="ignore"):
            return shapeopt.minimize(self.fun, self.x0, bounds=self.bounds, budget=budget, jac=True, seed=seed)


def differentiated(f: Callable[[np.ndarray], complex]) -> Callable[[np.ndarray], tuple[float, np.ndarray]]:
    """(value, gradient) of a function that takes complex numbers; the gradient is exact to round-off."""

    def both(x: np.ndarray) -> tuple[float, np.ndarray]:
        with np.errstate(all="ignore"):
            value = float(np.real(f(x)))
            return value, np.array([np.imag(f(row)) / STEP for row in x + 1j * STEP * np.eye(x.size)])

    return both


def quartic(rng: np.random.Generator, d: int) -> Callable[[np.ndarray], complex]:
    """A turned, ill-conditioned quartic."""
    turn, bottom = np.linalg.qr(rng.normal(size=(d, d)))[0], rng.uniform(-2, 2, size=d)
    stiffness = np.logspace(0, rng.uniform(0, 4), d)
    return lambda x: (stiffness * ((z := turn @ (x - bottom)) ** 2 + 0.2 * z**3 + 0.3 * z**4)).sum()


def valley(rng: np.random.Generator, d: int) -> Callable[[np.ndarray], complex]:
    """A chain of curved valleys."""
    steep = 10.0 ** rng.uniform(0.5, 2)
    return lambda x: (steep * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


def network(rng: np.random.Generator, d: int) -> Callable[[np.ndarray], complex]:
    """A fit of some tanh units; d is rounded."""
    units = max(1, d // 3)
    t = rng.normal(size=40)
    y = np.sin(2 * t) + 0.1 * rng.normal(size=40)

    def f(x: np.ndarray) -> complex:
        layers = x[: 3 * units].reshape(3, units)
        misfit = np.tanh(np.outer(t, layers[0]) + layers[1]) @ layers[2] - y
        return (misfit**2).mean() + 1e-4 * (x**2).sum()

    return f


def logistic(rng: np.random.Generator, d: int) -> Callable[[np.ndarray], complex]:
    """A regularised logistic regression."""
    rows = rng.normal(size=(60, d)) * 10.0 ** rng.uniform(-1, 1, size=d)
    sign = np.where(rows @ rng.normal(size=d) + rng.normal(size=60) > 0, 1.0, -1.0)
    return lambda x: np.log(1 + np.exp(-sign * (rows @ x))).mean() + 1e-3 * (x**2).sum()


KINDS = (quartic, valley, network, logistic)


def generated(count: int, boxed: bool, seed: int = 0) -> Iterator[Problem]:
    """Problems of all kinds in 2 to 12 dimensions; a box is so tight that sides are active."""
    for number in range(count):
        rng = np.random.default_rng([seed, number])
        kind, d = KINDS[number % len(KINDS)], int(rng.integers(2, 13))
        d = 3 * max(1, d // 3) if kind is network else d
        f = kind(rng, d)
        half = rng.uniform(0.3, 1.0, size=d) if boxed else np.full(d, np.inf)
        x0 = rng.uniform(-1, 1, size=d) * (half if boxed else 2.0)
        yield Problem(f"{kind.__name__} {number}", differentiated(f), x0, -half, half)


def cutest() -> Iterator[Problem]:
    """Unbounded problems of CUTEst's dev half, in up to 30 dimensions."""
    try:
        from shapeopt.bench.suites.cutest import CUTEST

        problems = [one for one in CUTEST.half("dev") if "unbounded" in one.tags and one.dimension <= 30]
        made = [(one.name, one.make()) for one in problems]
    except ImportError:
        return
    for name, one in made:
        yield Problem(name, one.fun, one.x0, one.lower, one.upper)


def events_of(result: "shapeopt.core.result.Result") -> list[tuple]:
    return [(event.call, event.tactic, event.cause) for event in result.events]


def exact_units(count: int = 24) -> list[str]:
    """Powers of two are exact: whole runs must be the same, call by call. Returns the problems where they are not."""
    failed = []
    for number, problem in enumerate([*generated(count, boxed=True), *generated(count // 2, boxed=False)]):
        rng = np.random.default_rng(number)
        bounded = problem.bounds is not None
        units = 2.0 ** rng.integers(-20, 21, size=problem.x0.size) if bounded else np.ones(problem.x0.size)
        other = problem.changed(units, np.zeros(problem.x0.size), a=2.0 ** int(rng.integers(-20, 21)))
        one, two = problem.run(), other.run()
        same = events_of(one) == events_of(two) and np.array_equal(one.trace.x * units, two.trace.x)
        failed += [] if same else [problem.name]
    return failed


def rounded_units(count: int = 24) -> list[str]:
    """Any a, b, D and c: the same first basin, reading by reading up to round-off, left for the same cause. It may be
    left a reading or two sooner or later, since b changes what round-off hides; after it round-off grows from hop to
    hop, so that nothing more is compared."""
    failed = []
    for number, problem in enumerate([*generated(count, boxed=True), *generated(count // 2, boxed=False)]):
        rng = np.random.default_rng(number)
        d, bounded = problem.x0.size, problem.bounds is not None
        units = 10.0 ** rng.uniform(-6, 6, size=d) if bounded else np.ones(d)
        shift = units * rng.uniform(-3, 3, size=d) if bounded else np.zeros(d)
        a = 10.0 ** rng.uniform(-6, 6)
        b = a * rng.uniform(-3, 3)
        one, two = problem.run(), problem.changed(units, shift, a, b).run()
        ends = [events_of(run)[1] for run in (one, two)]
        count = min(ends[0][0], ends[1][0]) - 1
        values, others = one.trace.value[:count], (two.trace.value[:count] - b) / a
        near = np.abs(others - values) <= NEAR * (abs(values) + abs(values[0]))
        same = near.all() and abs(ends[0][0] - ends[1][0]) <= 2 and ends[0][1:] == ends[1][1:]
        failed += [] if same else [problem.name]
    return failed


def calls_to(result: "shapeopt.core.result.Result", goal: float) -> float:
    hit = np.flatnonzero(result.trace.best <= goal)
    return float(result.trace.calls[hit[0]]) if hit.size else np.inf


def unbounded(count: int = 100, decades: float = DECADES) -> tuple[list[tuple[str, float, float]], int]:
    """(problem, calls, calls in other units) of those that are missed, and how many problems there were."""
    problems = list(cutest())[: count // 2]
    problems += list(generated(count - len(problems), boxed=False, seed=1))
    rows = []
    for number, problem in enumerate(problems):
        units = 10.0 ** np.random.default_rng([2, number]).uniform(-decades, decades, size=problem.x0.size)
        one, two = problem.run(), problem.changed(units, np.zeros_like(units)).run()
        lowest = min(one.fun, two.fun)
        goal = lowest + max(REACHED * (one.trace.value[0] - lowest), 1e-12 * abs(lowest))
        rows.append((problem.name, calls_to(one, goal), calls_to(two, goal)))
    missed = [row for row in rows if not (row[2] <= max(MOST_CALLS * row[1], row[1] + 2) or row[2] == row[1])]
    return missed, len(rows)


def converged(count: int = 40) -> tuple[list[tuple[str, int, float, float]], int, int]:
    """(problem, call, gradient, gain) of converged events that were none; how many there were, and how many of
    them with active bounds."""
    wrong, seen, active = [], 0, 0
    for problem in [*generated(count, boxed=True, seed=3), *generated(count // 2, boxed=False, seed=4)]:
        result = problem.run()
        start = _scaled_gradient(problem, problem.x0)[0]
        for event in result.events:
            if event.cause != "converged" or event.tactic not in ("refine", "gauss_newton"):
                continue
            x = np.asarray(event.x)
            steep, on_sides = _scaled_gradient(problem, x)
            seen, active = seen + 1, active + (on_sides > 0)
            if steep > STEEP * start:
                gain = _further_fall(problem, x) / max(result.trace.value[0] - result.fun, 1e-300)
                wrong += [(problem.name, event.call, steep / start, gain)] if gain > FALL else []
    return wrong, seen, active


def _scaled_gradient(problem: Problem, x: np.ndarray) -> tuple[float, int]:
    """The norm of the projected gradient by widths of the box, or by sizes of x, and how many sides are active."""
    width = np.where(np.isfinite(problem.upper), problem.upper - problem.lower, 1.0 + abs(x))
    gradient, slack = problem.fun(x)[1], 1e-12 * width
    pressed = ((x <= problem.lower + slack) & (gradient > 0)) | ((x >= problem.upper - slack) & (gradient < 0))
    return float(np.linalg.norm(np.where(pressed, 0.0, gradient * width))), int(pressed.sum())


def _further_fall(problem: Problem, x: np.ndarray) -> float:
    """What SciPy's L-BFGS-B still gains from x."""
    from scipy.optimize import Bounds, minimize

    sides = Bounds(problem.lower, problem.upper)
    further = minimize(problem.fun, x, jac=True, method="L-BFGS-B", bounds=sides, options={"ftol": 0, "gtol": 1e-12})
    return float(problem.fun(x)[0] - further.fun)


def main(what: str) -> int:
    if what == "units":
        exact, near = exact_units(), rounded_units()
        print(f"powers of two: {len(exact)} of 36 runs differ {exact}; any units: {len(near)} of 36 differ {near}")
        return int(bool(exact or near))
    if what == "unbounded":
        missed, count = unbounded()
        for row in missed:
            print("missed: {} after {:g} calls, in other units {:g}".format(*row))
        print(f"the same minima within {MOST_CALLS} x the calls on {count - len(missed)} of {count} problems")
        near, count = unbounded(decades=NEARBY)
        print(f"in units that are as good as the own ones: on {count - len(near)} of {count}")
        return int(len(missed) > (1 - SHARE) * count)
    wrong, seen, active = converged()
    for row in wrong:
        print("not converged: {} at call {}: gradient {:.1e}, still gains {:.1e}".format(*row))
    print(f"{seen} converged events, {active} with active bounds; {len(wrong)} were none")
    return int(bool(wrong) or seen < 200 or 2 * active < seen)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1]) if sys.argv[1:] in (["units"], ["unbounded"], ["converged"]) else __doc__)
