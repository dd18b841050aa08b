"""The user's function as an oracle: of its own structure and one call a reading, or traced by JAX, or vectorised."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import numpy as np

from .core.problem import Layout, Problem
from .oracles import (
    SCHEMES,
    AbstractOracle,
    AdjointOracle,
    ExactOracle,
    FiniteDifferences,
    HostDifferences,
    HostOracle,
    Rows,
)
from .run import Run
from .workers.timed import TimedFunction, ValueAndGradient


class _Flat(eqx.Module):
    """A function of the user's structure as a function of the flat vector; equal ones share compiled code."""

    fun: Callable[..., Any]
    layout: Layout = eqx.field(static=True)

    def __call__(self, x: Any) -> Any:
        return self.fun(self.layout.restore(x))


class _FlatPair(eqx.Module):
    """(value, gradient) of the flat vector, from one function or two of the user's structure."""

    fun: Callable[..., Any]
    jac: Callable[..., Any] | None
    layout: Layout = eqx.field(static=True)

    def __call__(self, x: Any) -> Any:
        point = self.layout.restore(x)
        value, gradient = self.fun(point) if self.jac is None else (self.fun(point), self.jac(point))
        return value, _raveled(gradient, x)


def _raveled(gradient: Any, x: Any) -> Any:
    leaves = jax.tree.leaves(gradient)
    if len(leaves) == 1:
        return leaves[0].reshape(-1) if getattr(leaves[0], "size", None) == x.size else leaves[0]
    concatenate = np.concatenate if isinstance(x, np.ndarray) else jax.numpy.concatenate
    return concatenate([leaf.reshape(-1) for leaf in leaves])


def vectorised_rows(fun: Any, jac: Any, layout: Layout, call_timeout: float | None) -> list[Rows]:
    """A vectorised objective, and its gradient where that is a function of its own."""
    if not layout.flat:
        raise ValueError("`x0` must be a flat array where `batched` is True.")
    if isinstance(jac, str):
        raise ValueError(f"`jac` must be None, True or a callable where `batched` is True; got {jac!r}.")
    if call_timeout is not None:
        raise ValueError(f"`call_timeout` must be None where `batched` is True; got {call_timeout!r}.")
    for name, one in (("fun", fun), ("jac", jac)):
        if not callable(one) and (name == "fun" or one not in (None, True)):
            raise ValueError(f"`{name}` must be callable; got {one!r}.")
    return [Rows(one) for one in (fun, jac) if callable(one)]


def host_oracle(fun: Any, jac: Any, problem: Problem, run: Run, call_timeout: float | None) -> HostOracle:
    layout = problem.layout
    scheme = FiniteDifferences(jac, problem.lower, problem.upper) if jac in SCHEMES else None
    jac = None if scheme is not None else jac
    if not callable(fun) or (jac is not None and jac is not True and not callable(jac)):
        return HostOracle(fun, problem.x0, jac)  # raises with the argument's name
    if not layout.flat:
        flat = _Flat(fun, layout) if jac is None else _FlatPair(fun, None if jac is True else jac, layout)
        fun, jac = flat, None if jac is None else True
    if call_timeout is not None:
        both = fun if jac is None or jac is True else ValueAndGradient(fun, jac)
        fun, jac = TimedFunction(both, call_timeout), None if jac is None else True
    differences = scheme or HostDifferences.for_budget(problem.lower, problem.upper, run.budget, run.seed)
    return HostOracle(fun, problem.x0, jac, differences=differences, limit=run.budget)


def traceable_oracle(fun: Any, jac: Any, layout: Layout) -> AbstractOracle:
    if jac is None:
        return ExactOracle(fun if layout.flat else _Flat(fun, layout))
    return AdjointOracle(_FlatPair(fun, None if jac is True else jac, layout))


def traces(oracle: AbstractOracle, run: Run) -> bool:
    """Whether the objective, which answered a JAX array with a JAX array, can be compiled; one that branches on its
    values can't, and is then called as it is."""
    with run.precision():
        try:
            jax.eval_shape(lambda x: oracle.measure(x, jax.random.key(0)), run.problem.x0)
        except (jax.errors.ConcretizationTypeError, jax.errors.TracerArrayConversionError):
            return False
    return True
