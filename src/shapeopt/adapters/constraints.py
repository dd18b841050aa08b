"""SciPy's constraints (dictionaries, linear, nonlinear) as one vector with an interval for each entry."""

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import Bounds

from ..core.arrays import double_precision, is_jax, loaded_jax, namespace
from ..core.tree import flatten
from ..oracles import SCHEMES, FiniteDifferences


class Part(NamedTuple):
    """lower <= values(x) <= upper; `jacobian` is a function, or the name of a scheme of differences."""

    values: Callable[[Any], Any]
    jacobian: Callable[[Any], Any] | str
    lower: Any
    upper: Any


class Constraints:
    """All constraints as one vector c(x) with lower <= c <= upper.

    Values at NumPy points are remembered, so that judging what a round has read costs no evaluation; `evaluations`
    counts those that were made, differences included.
    """

    def __init__(self, parts: Sequence[Part], x0: np.ndarray, box: Bounds) -> None:
        self.parts, self.box, self.evaluations = parts, box, 0
        self._known: dict[bytes, np.ndarray] = {}
        self._x0 = x0
        sizes = [_vector(part.values(x0.copy())).size for part in parts]
        self.lower = np.concatenate([_wide(part.lower, n) for part, n in zip(parts, sizes, strict=True)])
        self.upper = np.concatenate([_wide(part.upper, n) for part, n in zip(parts, sizes, strict=True)])

    @functools.cached_property
    def with_jax(self) -> bool:
        """Whether every part answers a JAX array with JAX arrays, so that all may be traced; JAX must be loaded.

        The evaluation that shows it is not counted.
        """
        try:
            with double_precision():
                x = loaded_jax().device_put(self._x0)
                return all(_of_jax(part.values(x)) for part in self.parts)
        except Exception:  # one that takes NumPy arrays only
            return False

    def __eq__(self, other: object) -> bool:
        """Whether the same functions are held in the same intervals: compiled code is then shared."""
        if not isinstance(other, Constraints) or len(self.parts) != len(other.parts):
            return False
        same = all(one.values == its.values for one, its in zip(self.parts, other.parts, strict=True))
        return same and all(map(np.array_equal, (self.lower, self.upper), (other.lower, other.upper)))

    def __hash__(self) -> int:
        return hash(tuple(part.values for part in self.parts))

    def __call__(self, x: Any) -> Any:
        """c(x): a JAX array if x is one and every part computes with JAX, else a NumPy array."""
        if isinstance(x, np.ndarray):
            return self._on_host(x)
        answers = [part.values(x) for part in self.parts]
        self.evaluations += 1
        if _of_jax(answers):
            xp: Any = namespace(x)
            return xp.concatenate([leaf.reshape(-1).astype(x.dtype) for leaf in flatten(answers)[0]])
        return np.concatenate([_vector(answer) for answer in answers])

    def _on_host(self, x: np.ndarray) -> np.ndarray:
        key = x.tobytes()
        if key not in self._known:
            self.evaluations += 1
            with double_precision():
                self._known[key] = np.concatenate([_vector(part.values(x.copy())) for part in self.parts])
        return self._known[key]

    def jacobian(self, x: np.ndarray) -> np.ndarray:
        """dc/dx at x, a row a constraint."""
        return np.concatenate([self._rows(part, x) for part in self.parts])

    def _rows(self, part: Part, x: np.ndarray) -> np.ndarray:
        if callable(part.jacobian):
            rows = part.jacobian(x.copy())
            rows = rows.toarray() if hasattr(rows, "toarray") else rows
            return np.asarray(rows, float).reshape(-1, x.size)
        scheme = FiniteDifferences(part.jacobian, self.box.lb, self.box.ub)  # type: ignore[arg-type]
        known: dict[bytes, np.ndarray] = {}

        def at(point: np.ndarray) -> np.ndarray:
            key = point.tobytes()
            if key not in known:
                self.evaluations += 1
                known[key] = np.ravel(np.asarray(part.values(point.copy())))
            return known[key]

        return np.array([scheme.estimate(x, lambda point, i=i: at(point)[i])[1] for i in range(at(x).size)])

    def violation(self, c: np.ndarray) -> float:
        """The largest distance of an entry from its interval."""
        return float(np.max(np.abs(c - np.clip(c, self.lower, self.upper))))


def read_constraints(constraints: Any) -> list[Part]:
    """One constraint or a sequence of them, in any of SciPy's forms."""
    return [_read(one) for one in (constraints if isinstance(constraints, list | tuple) else [constraints])]


def _read(one: Any) -> Part:
    if isinstance(one, dict):
        return _read_dictionary(one)
    if hasattr(one, "A"):
        matrix = np.atleast_2d(one.A.toarray() if hasattr(one.A, "toarray") else np.asarray(one.A, float))
        return Part(_Linear(matrix), lambda x: matrix, one.lb, one.ub)
    if hasattr(one, "fun"):
        jacobian = one.jac if callable(one.jac) or one.jac in SCHEMES else "2-point"
        return Part(one.fun, jacobian, one.lb, one.ub)
    raise ValueError(
        f"`constraints` must be dictionaries, LinearConstraint or NonlinearConstraint objects; got {one!r}."
    )


def _read_dictionary(one: dict[str, Any]) -> Part:
    kind = str(one.get("type", "")).lower()
    if kind not in ("eq", "ineq"):
        raise ValueError(f"`constraints` must have the type 'eq' or 'ineq'; got {one.get('type')!r}.")
    if not callable(one.get("fun")):
        raise ValueError(f"`constraints` must have a function `fun`; got {one.get('fun')!r}.")
    fun, jac, args = one["fun"], one.get("jac"), one.get("args", ())
    jacobian: Any = (lambda x: jac(x, *args)) if callable(jac) else jac if jac in SCHEMES else "2-point"
    return Part((lambda x: fun(x, *args)) if args else fun, jacobian, 0.0, 0.0 if kind == "eq" else np.inf)


class _Linear:
    def __init__(self, matrix: np.ndarray) -> None:
        self.matrix = matrix

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Linear) and np.array_equal(self.matrix, other.matrix)

    def __hash__(self) -> int:
        return hash(self.matrix.tobytes())

    def __call__(self, x: Any) -> Any:
        xp: Any = namespace(x)
        return xp.asarray(self.matrix, x.dtype) @ x if is_jax(x) else self.matrix @ x


def _of_jax(answer: Any) -> bool:
    """Whether an answer consists of JAX arrays."""
    leaves = flatten(answer)[0]
    return bool(leaves) and all(map(is_jax, leaves))


def _vector(answer: Any) -> np.ndarray:
    array = np.ravel(np.asarray(answer))
    return array if np.iscomplexobj(array) else array.astype(float)  # a complex step's answer stays complex


def _wide(side: Any, size: int) -> np.ndarray:
    return np.broadcast_to(np.asarray(side, float), (size,))
