"""Programs of JAX without equations that repeat an earlier one, change nothing, or lead to nothing.

Tactics are written for readers, so that a traced program computes many things more than once: the box that is searched,
which tactic is active, lengths. XLA would find most of that out, after it has been traced and lowered.
"""

from collections.abc import Callable
from typing import Any

import jax
from jax.extend.core import Literal

ALIKE = {"convert_element_type", "copy", "broadcast_in_dim", "reshape"}  # nothing, where the type stays as it is
Known = dict[Any, Any]


def simplified(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, traced as a program that is made simpler first."""

    def run(*arguments: Any) -> Any:
        leaves, structure = jax.tree.flatten(arguments)
        shape: list[Any] = []

        def flat(*leaves: Any) -> list[Any]:
            ends, found = jax.tree.flatten(function(*jax.tree.unflatten(structure, leaves)))
            shape.append(found)
            return ends

        closed = jax.make_jaxpr(flat)(*leaves)
        return jax.tree.unflatten(shape[-1], jax.core.eval_jaxpr(simplify(closed.jaxpr), closed.consts, *leaves))

    return run


def simplify(jaxpr: Any) -> Any:
    """The program with each equation once, and with those alone that its results need."""
    known: Known = {}  # what an equation is -> its results
    same: Known = {}  # a variable -> the earlier one that has its value
    equations = []
    for equation in jaxpr.eqns:
        equation = equation.replace(invars=[_first(same, var) for var in equation.invars])
        source = _copied(equation)
        if source is not None:
            same[equation.outvars[0]] = source
            continue
        name = _name(equation)
        if name is not None and name in known:
            same.update(zip(equation.outvars, known[name], strict=True))
            continue
        if name is not None:
            known[name] = equation.outvars
        equations.append(equation)
    results = [_first(same, var) for var in jaxpr.outvars]
    return jaxpr.replace(eqns=_needed(equations, results), outvars=results)


def _first(same: Known, var: Any) -> Any:
    return var if isinstance(var, Literal) else same.get(var, var)


def _copied(equation: Any) -> Any:
    """What the equation only copies; None: it does something."""
    if equation.primitive.name == "select_n" and all(case is equation.invars[1] for case in equation.invars[2:]):
        return None if isinstance(equation.invars[1], Literal) else equation.invars[1]
    if equation.primitive.name not in ALIKE or len(equation.invars) != 1 or isinstance(equation.invars[0], Literal):
        return None
    before, after = equation.invars[0].aval, equation.outvars[0].aval
    return equation.invars[0] if before == after else None


def _name(equation: Any) -> Any:
    """What two equations have in common that compute the same; None where that can't be told."""
    if equation.effects:
        return None
    name = (equation.primitive, tuple(map(_operand, equation.invars)), tuple(sorted(equation.params.items(), key=_key)))
    try:
        hash(name)
    except TypeError:
        return None
    return name


def _key(parameter: tuple[str, Any]) -> str:
    return parameter[0]


def _operand(var: Any) -> Any:
    return (str(var.aval), repr(var.val)) if isinstance(var, Literal) else var


def _needed(equations: list[Any], results: list[Any]) -> list[Any]:
    """The equations without those that nothing depends on."""
    wanted = {var for var in results if not isinstance(var, Literal)}
    kept = []
    for equation in reversed(equations):
        if equation.effects or any(var in wanted for var in equation.outvars):
            kept.append(equation)
            wanted.update(var for var in equation.invars if not isinstance(var, Literal))
    return kept[::-1]
