"""The user's function as an oracle: read one point a time, or vectorised."""

from typing import Any

from .core.problem import Layout, Problem
from .oracles import SCHEMES, FiniteDifferences, HostOracle, Rows
from .oracles.flat import Flat, FlatPair
from .workers.timed import TimedFunction, ValueAndGradient


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


def host_oracle(fun: Any, jac: Any, problem: Problem, budget: int, call_timeout: float | None) -> HostOracle:
    layout = problem.layout
    named: Any = jac if isinstance(jac, str) and jac in SCHEMES else None
    scheme = None if named is None else FiniteDifferences(named, problem.lower, problem.upper)
    if jac is not None and jac is not True and not callable(jac) and scheme is None:
        raise ValueError(f"`jac` must be None, True, a callable, '2-point', '3-point' or 'cs'; got {jac!r}.")
    jac = None if scheme is not None else jac
    if not callable(fun):
        raise ValueError(f"`fun` must be callable; got {fun!r}.")
    if not layout.flat:
        flat: Any = Flat(fun, layout) if jac is None else FlatPair(fun, None if jac is True else jac, layout)
        fun, jac = flat, None if jac is None else True
    if call_timeout is not None:
        both = fun if jac is None or jac is True else ValueAndGradient(fun, jac)
        fun, jac = TimedFunction(both, call_timeout), None if jac is None else True
    return HostOracle(fun, problem.x0, jac, differences=scheme, limit=budget)
