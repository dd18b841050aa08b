"""Every way to hand an objective over, each with a spy inside the objective: what `guarantees.py` runs through.

A door takes a `Spy` and a `Problem`, lets the library search, and says how many calls the library reports. Where the
caller makes the calls (ask/tell, PyTorch, Optax) it goes on until it is refused, so that one call too many would show.
"""

import functools
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

import shapeopt
from shapeopt.oracles import BudgetExhausted


class Problem(NamedTuple):
    """Where to start, what to keep to, and how many calls there are."""

    start: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    budget: int
    seed: int


class Counter:
    """How often an objective was evaluated, and how often outside the bounds."""

    def __init__(self, lower: np.ndarray, upper: np.ndarray) -> None:
        self.lower, self.upper = lower, upper
        self.count = self.outside = 0

    def look(self, points: Any) -> int:
        """Whether these lie inside; how many they are."""
        points = np.asarray(points).reshape(-1, self.lower.size)
        self.outside += int(np.sum(~np.all((points >= self.lower) & (points <= self.upper), axis=1)))
        return len(points)

    def see(self, points: Any) -> None:
        self.count += self.look(points)

    def __call__(self, points: Any) -> np.ndarray:
        """From compiled code: a zero for every point."""
        self.see(points)
        return np.zeros(np.shape(points)[:-1], np.asarray(points).dtype)


class Spy(Counter):
    """Rastrigin's function, fitted into the bounds, with a counter inside."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.lower, problem.upper)
        start, lower, upper = problem[:3]
        finite = np.isfinite(lower) & np.isfinite(upper) & (upper > lower)
        with np.errstate(all="ignore"):
            self.middle = np.where(finite, lower + (upper - lower) / 2, start)
            width = np.where(finite, (upper - lower) / 10, np.maximum(1.0, np.abs(start)))
        self.scale = width.astype(start.dtype)

    def pair(self, x: Any) -> tuple[float, np.ndarray]:
        self.see(np.real(x))
        return self.quiet(np.asarray(x))

    def quiet(self, x: np.ndarray) -> tuple[Any, np.ndarray]:
        """Value and gradient, uncounted; complex where x is."""
        with np.errstate(all="ignore"):
            z = (x - self.middle) / self.scale + 0.3
            value = np.sum(z * z - 10 * np.cos(2 * np.pi * z) + 10)
            return value, (2 * z + 20 * np.pi * np.sin(2 * np.pi * z)) / self.scale

    def value(self, x: Any) -> float:
        return self.pair(x)[0]

    def gradient(self, x: Any) -> np.ndarray:
        return self.quiet(np.asarray(x))[1]

    def rows(self, x: Any) -> np.ndarray:
        return np.array([self.value(row) for row in np.asarray(x)])

    def pairs(self, x: Any) -> tuple[np.ndarray, np.ndarray]:
        values, gradients = zip(*(self.pair(row) for row in np.asarray(x)), strict=True)
        return np.array(values), np.array(gradients)

    def branching(self, x: Any) -> Any:
        """Answers JAX with JAX, and yet can't be compiled: to be begun on a tracer is a call."""
        self.see(self.lower if isinstance(x, jax.core.Tracer) else x)
        return jnp.sum(x * x) if x[0] > 0 else jnp.sum(x * x) + 1.0

    def writing(self, x: Any) -> float:
        """Can't take a JAX array."""
        self.see(x)
        x[0] += 0.0
        return self.quiet(x)[0]


class Lent:
    """What compiled code calls; it passes on to the spy of the moment, so that nothing is compiled for each."""

    def __init__(self) -> None:
        self.to: Counter | None = None

    def __call__(self, points: Any) -> np.ndarray:
        assert self.to is not None
        return self.to(points)


def counting(counter: Callable[[Any], np.ndarray]) -> Callable[[Any], Any]:
    """A traceable objective that tells `counter` of every evaluation."""

    def fun(q):
        zero = jax.ShapeDtypeStruct(q.shape[:-1], q.dtype)
        seen = jax.pure_callback(counter, zero, jax.lax.stop_gradient(q), vmap_method="expand_dims")
        return jnp.sum(q * q - 10 * jnp.cos(2 * jnp.pi * q) + 10) + seen

    return fun


LENT = Lent()
COUNTING = counting(LENT)


def minimize(fun: Any, problem: Problem, **settings: Any) -> int:
    start, lower, upper, budget, seed = problem
    return shapeopt.minimize(fun, start, bounds=(lower, upper), budget=budget, seed=seed, **settings).nfev


def compiled(spy: Spy, problem: Problem, **settings: Any) -> int:
    LENT.to = spy
    return minimize(COUNTING, problem, **settings)


def kept(spy: Spy, problem: Problem) -> int:
    with tempfile.TemporaryDirectory() as folder:
        return minimize(spy.pair, problem, jac=True, journal=Path(folder, "journal"))


def at_once(fun: Callable[[Any], Any], problem: Problem, **settings: Any) -> int:
    """Four threads; the spy hears of one call a time, so that it counts right."""
    lock = threading.Lock()

    def seen(x: Any) -> Any:
        with lock:
            return fun(x)

    return minimize(seen, problem, workers=4, **settings)


def scipy(fun: Any, problem: Problem, jac: Any) -> int:
    start, lower, upper, budget, seed = problem
    bounds = list(zip(lower, upper, strict=True))
    return shapeopt.scipy_method(fun, start, jac=jac, bounds=bounds, budget=budget, seed=seed).nfev


def hopping(spy: Spy, problem: Problem) -> int:
    start, lower, upper, budget, seed = problem
    local = {"jac": True, "bounds": list(zip(lower, upper, strict=True))}
    return shapeopt.basinhopping(spy.pair, start, niter=10**6, minimizer_kwargs=local, rng=seed, budget=budget).nfev


def ask_tell(spy: Spy, problem: Problem, gradients: bool, starts: int = 1, at_once: int | None = None) -> int:
    start, lower, upper, budget, seed = problem
    settings = {"gradients": gradients, "num_starts": starts, "seed": seed}
    shape = shapeopt.Shape(start, bounds=(lower, upper), budget=budget, **settings)
    try:
        while spy.count <= budget:
            points = [shape.ask()] if at_once is None else shape.ask(at_once)
            for x in reversed(points):
                value, gradient = spy.pair(x)
                shape.tell(x, value, gradient if gradients else None)
    except BudgetExhausted:
        pass
    return shape.best.nfev


def torch_steps(spy: Spy, problem: Problem) -> int:
    """Each coordinate is a group of its own, with its own bounds."""
    import torch

    start, lower, upper, budget, seed = problem
    ones = [torch.nn.Parameter(torch.tensor([one], dtype=getattr(torch, str(start.dtype)))) for one in start]
    groups = [{"params": [one], "bounds": pair} for one, *pair in zip(ones, lower, upper, strict=True)]
    optimizer = shapeopt.torch.Shape(groups, budget=budget, seed=seed)

    def place() -> np.ndarray:
        return torch.cat(ones).detach().numpy()

    def closure() -> float:
        value, gradient = spy.pair(place())
        for one, slope in zip(ones, gradient, strict=True):
            one.grad = torch.tensor([slope], dtype=one.dtype)
        return float(value)

    try:
        while spy.count <= budget:
            optimizer.step(closure)
    except BudgetExhausted:
        spy.look(place())
    return optimizer.calls


def torch_minimize(spy: Spy, problem: Problem) -> int:
    import torch

    start, lower, upper, budget, seed = problem
    middle, scale = torch.as_tensor(spy.middle), torch.as_tensor(spy.scale)

    def fun(x: torch.Tensor) -> torch.Tensor:
        spy.see(x.detach().numpy())
        z = (x - middle) / scale + 0.3
        return (z * z - 10 * torch.cos(2 * torch.pi * z) + 10).sum()

    x0, bounds = torch.as_tensor(start), (lower, upper)
    return shapeopt.torch.minimize(fun, x0, bounds=bounds, budget=budget, seed=seed).nfev


@functools.cache
def _update(budget: int) -> Any:
    return jax.jit(shapeopt.optax.shape(budget).update)


def optax(spy: Spy, problem: Problem) -> int:
    """Optax's loop is the caller's, who alone can stop it; it goes two updates further, whose places count, too."""
    start, lower, upper, budget, seed = problem
    with jax.enable_x64(start.dtype == np.float64):
        x = jnp.asarray(start)
        state = shapeopt.optax.shape(budget, bounds=(lower, upper), seed=seed).init(x)
        for call in range(budget + 2):
            value, gradient = spy.pair(x) if call < budget else spy.quiet(np.asarray(x))
            told = jnp.asarray(value, x.dtype), jnp.asarray(gradient, x.dtype)
            updates, state = _update(budget)(told[1], state, x, value=told[0])
            x = x + updates
            spy.look(x)
    return min(int(state.calls), budget)


PROGRAM = """#!{python} -S
import sys
x = [float(word) for word in sys.argv[1:]]
with open({file!r}, "a") as file:
    print(*sys.argv[1:], file=file)
print(sum(v * v for v in x), *(2 * v for v in x) if {gradient} else ())
"""


def command(spy: Spy, problem: Problem, gradient: bool) -> int:
    """A program that writes down where it was asked."""
    with tempfile.TemporaryDirectory() as folder:
        program, file = Path(folder, "program"), Path(folder, "seen")
        program.write_text(PROGRAM.format(python=sys.executable, file=str(file), gradient=gradient))
        program.chmod(0o755)
        told = minimize(shapeopt.Command(f"{program} {{x}}", gradient=gradient), problem, jac=gradient or None)
        spy.see([[float(word) for word in line.split()] for line in file.read_text().splitlines()])
    return told


Door = Callable[[Spy, Problem], int]
DOORS: dict[str, Door] = {
    "pair": lambda spy, problem: minimize(spy.pair, problem, jac=True),
    "two functions": lambda spy, problem: minimize(spy.value, problem, jac=spy.gradient),
    "values": lambda spy, problem: minimize(spy.value, problem),
    "2-point": lambda spy, problem: minimize(spy.value, problem, jac="2-point"),
    "3-point": lambda spy, problem: minimize(spy.value, problem, jac="3-point"),
    "cs": lambda spy, problem: minimize(spy.value, problem, jac="cs"),
    "particles": lambda spy, problem: minimize(spy.pair, problem, jac=True, num_starts=4),
    "particles, values": lambda spy, problem: minimize(spy.value, problem, num_starts=4),
    "branching": lambda spy, problem: minimize(spy.branching, problem),
    "writing": lambda spy, problem: minimize(spy.writing, problem),
    "batched": lambda spy, problem: minimize(spy.pairs, problem, jac=True, batched=True),
    "batched, values": lambda spy, problem: minimize(spy.rows, problem, batched=True),
    "batched, particles": lambda spy, problem: minimize(spy.rows, problem, batched=True, num_starts=4),
    "journal": kept,
    "workers": lambda spy, problem: at_once(spy.pair, problem, jac=True),
    "workers, values": lambda spy, problem: at_once(spy.value, problem),
    "compiled": compiled,
    "compiled particles": functools.partial(compiled, num_starts=4),
    "scipy": lambda spy, problem: scipy(spy.pair, problem, True),
    "scipy, values": lambda spy, problem: scipy(spy.value, problem, None),
    "scipy, 2-point": lambda spy, problem: scipy(spy.value, problem, "2-point"),
    "basinhopping": hopping,
    "ask/tell": functools.partial(ask_tell, gradients=True),
    "ask/tell, values": functools.partial(ask_tell, gradients=False),
    "ask/tell, several": functools.partial(ask_tell, gradients=False, starts=4, at_once=5),
    "torch": torch_steps,
    "torch minimize": torch_minimize,
    "optax": optax,
    "command": functools.partial(command, gradient=True),
    "command, values": functools.partial(command, gradient=False),
}
SLOW = ("command", "command, values")  # a process for each call
