"""Counted readings of a sum of squares: residuals and their Jacobian at one point.

    f = |r|^2 / 2 (or a robust loss of r),   force J^T r

A reading is one call where the Jacobian comes with the residuals, from a function of its own, or from JAX. By
differences it is 1 + d calls ("2-point") or 1 + 2 d ("3-point"): every evaluation of the residuals counts.

Departs from the paper: it has no sums of squares.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core import Reading
from ..core.arrays import is_jax
from .checks import short, split_pair
from .finite_differences import precision, step_ahead
from .host import FAILED, BudgetExhausted, Untraceable
from .journal import ANSWER, FAILURE, OPAQUE, TRACEABLE, Journal, Kept
from .losses import Rho, weighed
from .probes import probe_pairs, reaches

JACOBIANS = ("2-point", "3-point")
Pair = Callable[[np.ndarray], tuple[Any, Any]]


class ResidualOracle:
    """Reads residuals on the host, every call counted in `calls`.

    `jac` True: `fun` returns (residuals, Jacobian); a callable: the Jacobian, (m, d); "2-point" or "3-point":
    differences; None: by JAX if `fun` computes with it, else "2-point", which `begin` finds out. `limit` caps `calls`:
    a reading that does not fit raises `BudgetExhausted` before it begins. NaN and infinities pass through; an exception
    of `fun` passes unchanged, its call counted. `fun` gets a copy of x. A `journal` of vectors keeps every call, and
    answers those that it has.

    Departs from the paper: it has no sums of squares.
    """

    def __init__(
        self,
        fun: Callable[[Any], Any],
        x_like: np.ndarray,
        jac: Any,
        *,
        lower: np.ndarray,
        upper: np.ndarray,
        rho: Rho | None = None,
        f_scale: float = 1.0,
        limit: int | None = None,
    ) -> None:
        if not callable(fun):
            raise ValueError(f"`residuals` must be callable; got {fun!r}.")
        if not (jac is None or jac is True or callable(jac) or jac in JACOBIANS):
            raise ValueError(f"`jac` must be None, True, a callable or one of {', '.join(JACOBIANS)}; got {jac!r}.")
        self.fun, self.limit = fun, limit
        self.journal: Journal | None = None
        self.scheme = jac if isinstance(jac, str) else None
        self.pair: Pair | None = None
        if jac is True:
            self.pair = lambda x: split_pair(fun(x.copy()), "residuals", "(residuals, Jacobian)")
        elif callable(jac):
            self.pair = lambda x: (fun(x.copy()), jac(x.copy()))
        self.lower, self.upper, self.rho, self.f_scale = lower, upper, rho, f_scale
        self.dtype, self.dimension = x_like.dtype, x_like.size
        self.calls = 0
        self.readings = 0
        self.best_value = np.inf
        self.best_fit: tuple[np.ndarray, np.ndarray | None] | None = None  # residuals and Jacobian there
        self._m: int | None = None  # residuals
        self._known: tuple[np.ndarray, np.ndarray] | None = None  # what `begin` read
        self._asked = x_like

    @property
    def cost(self) -> int:
        """Calls that one reading spends."""
        if self.pair is not None:
            return 1
        return 1 + (2 if self.scheme == "3-point" else 1) * self.dimension

    def begin(self, x: np.ndarray, suspected: bool, trace: Callable[[], Pair]) -> None:
        """Find out how the Jacobian is to be had, where `jac` was None.

        If the code of `fun` refers to JAX (`suspected`) it is traced, which the first reading pays for; that it could
        not be traced is a call. Else it is called once at x, which the first reading does not do again unless the
        answer is JAX's: then it is traced, too.
        """
        if self.pair is not None or self.scheme is not None:
            return
        if not suspected:
            kept = self._call(x, self._first_answer)
            self._known = x.copy(), self._checked(kept.gradient)
            suspected = kept.kind == TRACEABLE and self._fits(1)
        self.scheme = "2-point"
        if suspected:
            try:
                pair = trace()
                kept = self._call(x, lambda x: self._of_pair(x, pair))
                self.pair, self._known = pair, (x.copy(), kept.gradient)
            except Untraceable:
                self.forgo(OPAQUE)

    def fits(self, x: np.ndarray) -> bool:
        """Whether a reading at x fits into the limit."""
        return self._fits(self.cost - (self._recall(x) is not None))

    def read(self, x: Any) -> Reading:
        """One reading at x, charged."""
        x = np.array(x, self.dtype)
        known = self._recall(x)
        if not self.fits(x):
            raise BudgetExhausted(f"A reading does not fit: {self.calls} of {self.limit} calls are spent.")
        start, self._known = 0 if known is not None else self.calls, None
        self.readings += 1
        r, J = self._with_jacobian(x, known)
        with np.errstate(all="ignore"):
            value, r_model, J_model = weighed(r, J, self.rho, self.f_scale)
            force = r_model @ J_model
        if value < self.best_value and value > -np.inf:
            self.best_value, self.best_fit = value, (r, J)
        sound = np.isfinite(r_model).all() and np.isfinite(J_model).all()
        force = force if sound else np.full(self.dimension, np.nan, self.dtype)
        return Reading(value, force, np.int32(self.calls - start), (r_model, J_model) if sound else None)

    def look(self, x: np.ndarray) -> float:
        """The value at x where no whole reading fits: one call, if it fits and was not made by `begin`."""
        r = self._recall(x)
        if self.pair is not None or (r is None and not self._fits(1)):
            return np.inf
        r = self._residuals(x) if r is None else r
        with np.errstate(all="ignore"):
            value = weighed(r, np.zeros((r.size, self.dimension), self.dtype), self.rho, self.f_scale)[0]
        if np.isfinite(value):
            self.best_value, self.best_fit = value, (r, None)
        return value

    def forgo(self, kind: str = FAILURE) -> None:
        """The last call came to nothing, and the run goes on all the same."""
        if self.journal is not None:
            self.journal.begin(self.calls, self._asked)
            self.journal.forgo(kind)

    def _fits(self, calls: int) -> bool:
        return self.limit is None or self.calls + calls <= self.limit

    def _recall(self, x: np.ndarray) -> np.ndarray | None:
        return self._known[1] if self._known is not None and np.array_equal(self._known[0], x) else None

    def _with_jacobian(self, x: np.ndarray, known: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        if self.pair is None:
            r = self._residuals(x) if known is None else known
            return r, self._differences(x, r)
        pair = self.pair
        numbers = self._call(x, lambda x: self._of_pair(x, pair)).gradient if known is None else known
        m = numbers.size // (self.dimension + 1)
        return self._checked(numbers[:m]), numbers[m:].reshape(m, self.dimension)

    def _differences(self, x: np.ndarray, r: np.ndarray) -> np.ndarray:
        J = np.zeros((r.size, x.size), x.dtype)
        with np.errstate(all="ignore"):  # infinities of the residuals pass through
            if self.scheme == "3-point":
                up, down = reaches(x, None, self.lower, self.upper, np)
                ends = probe_pairs(x, np.eye(x.size, dtype=x.dtype), up, down, self.lower, self.upper, np)
                for i, (ahead, behind) in enumerate(zip(*ends, strict=True)):
                    if ahead[i] > behind[i]:  # bounds may hold it fixed
                        J[:, i] = (self._residuals(ahead) - self._residuals(behind)) / (ahead[i] - behind[i])
                return J
            eps = precision(r, x.dtype)
            for i in range(x.size):
                point, h = step_ahead(x, i, self.lower, self.upper, eps)
                if h:
                    J[:, i] = (self._residuals(point) - r) / h
        return J

    def _residuals(self, x: np.ndarray) -> np.ndarray:
        return self._checked(self._call(x, lambda x: Kept(ANSWER, np.nan, self._vector(self.fun(x.copy())))).gradient)

    def _call(self, x: np.ndarray, ask: Callable[[np.ndarray], Kept]) -> Any:
        """One call, counted; the only place where calls are made, or answered from the journal."""
        self.calls += 1
        self._asked = x
        kept = None if self.journal is None else self.journal.begin(self.calls, x)
        if kept is None:
            kept = ask(x)
            return kept if self.journal is None else self.journal.keep(*kept)
        if kept.kind in FAILED:
            raise FAILED[kept.kind](f"Call {self.calls} failed when it was made, says the journal.")
        return kept

    def _first_answer(self, x: np.ndarray) -> Kept:
        answer = self.fun(x.copy())
        return Kept(TRACEABLE if is_jax(answer) else ANSWER, np.nan, self._vector(answer))

    def _of_pair(self, x: np.ndarray, pair: Pair) -> Kept:
        answer, jacobian = pair(x)
        r = self._vector(answer)
        dense = jacobian.toarray() if hasattr(jacobian, "toarray") else jacobian  # SciPy's sparse arrays
        J = self._numbers(dense, "jac", f"real numbers of shape {(r.size, self.dimension)}")
        J = J.reshape(1, -1) if J.ndim < 2 and r.size == 1 else J
        if J.shape != (r.size, self.dimension):
            raise ValueError(f"`jac` must return shape {(r.size, self.dimension)}; got {J.shape}.")
        return Kept(ANSWER, np.nan, np.concatenate([r, J.ravel()]))

    def _vector(self, answer: Any) -> np.ndarray:
        if isinstance(answer, tuple) and len(answer) == 2 and np.ndim(answer[0]) == 1 and np.ndim(answer[1]) == 2:
            hint = "residuals that come with their Jacobian need `jac=True`"
            raise ValueError(f"`residuals` must return a vector; got a pair, {short(answer)}: {hint}.")
        r = np.atleast_1d(self._numbers(answer, "residuals", "a vector of real numbers"))
        if r.ndim != 1 or not r.size:
            raise ValueError(f"`residuals` must return a vector; got shape {r.shape}.")
        return r

    def _numbers(self, answer: Any, name: str, wanted: str) -> np.ndarray:
        """An array of real numbers in the run's dtype."""
        try:
            array = np.asarray(answer)
            if array.dtype.kind not in "fiubO" and "float" not in array.dtype.name:  # bfloat16 has a kind of its own
                raise TypeError
            if array.dtype.kind == "O" and any(one is None for one in array.flat):
                raise TypeError
            with np.errstate(over="ignore"):
                return array.astype(self.dtype)
        except (TypeError, ValueError) as error:
            raise ValueError(f"`{name}` must return {wanted}; got {short(answer)}.") from error

    def _checked(self, r: np.ndarray) -> np.ndarray:
        """The residuals, of which there are as many as before."""
        if self._m is not None and r.size != self._m:
            raise ValueError(f"`residuals` must return as many numbers at each call; got {r.size} after {self._m}.")
        self._m = r.size
        return r
