"""Objectives that a test can count, break and hand to another process."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np

START = np.array([3.3, -2.2])


def ripples(x):
    """Rastrigin's function and its gradient, in NumPy."""
    x = np.asarray(x)
    return float(np.sum(x * x - 10 * np.cos(2 * np.pi * x) + 10)), 2 * x + 20 * np.pi * np.sin(2 * np.pi * x)


def value(x):
    return ripples(x)[0]


def gradient(x):
    return ripples(x)[1]


def traceable(x):
    return jnp.sum(x * x - 10 * jnp.cos(2 * jnp.pi * x) + 10)


def branching(x):
    """Answers JAX with JAX, and yet can't be compiled."""
    return jnp.sum(x * x) if x[0] > 0 else jnp.sum(x * x) + 1.0


def writing(x):
    """Can't take a JAX array."""
    x[0] += 1.0
    return value(x)


def placing(x):
    """Can't take a NumPy array, and can't be traced."""
    return value(x.at[0].add(1.0))


class Counted:
    """A function that counts its calls and keeps its points; what `spoil` says of the call's number is raised, or is
    the answer where it is no exception."""

    def __init__(self, fun, spoil=lambda number: None):
        self.fun, self.spoil, self.calls, self.points = fun, spoil, 0, []

    def __call__(self, x):
        self.calls += 1
        self.points.append(x if isinstance(x, jax.core.Tracer) else np.array(x))
        bad = self.spoil(self.calls)
        if isinstance(bad, BaseException):
            raise bad
        return self.fun(x) if bad is None else bad


@dataclasses.dataclass(frozen=True)
class Frozen(Exception):
    """Takes no attributes by itself."""

    code: int = 3


class Silent(BaseException):
    """What no `except Exception` catches."""


THROWN = (RuntimeError("broke"), KeyboardInterrupt(), SystemExit(4), Frozen(), Silent(), MemoryError(), StopIteration())

# Every way to hand an objective over whose calls happen on the host: (function, jac).
HOST = {
    "pair": (ripples, True),
    "two functions": (value, gradient),
    "values": (value, None),
    "differences": (value, "2-point"),
    "branching": (branching, None),
    "writing": (writing, None),
    "placing": (placing, None),
}
