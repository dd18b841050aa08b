"""Counted readings of any Python callable: NumPy code, compiled extensions, a simulator behind a subprocess."""

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, NamedTuple

import jax
import numpy as np

from ..core import Reading
from .checks import host_gradient, host_scalar, split_pair
from .finite_differences import FiniteDifferences
from .host_differences import HostDifferences
from .journal import ANSWER, FAILURE, OPAQUE, REFUSAL, TRACEABLE, Journal, Kept


class BudgetExhausted(RuntimeError):
    """A reading was refused, before its first call, because it does not fit into the limit."""


class _Known(NamedTuple):
    """What the first reading left for the next `read` at the same point."""

    x: np.ndarray
    value: float
    gradient: np.ndarray | None
    calls: int


def probe_traceable(fun: Callable[[Any], Any], x: np.ndarray) -> tuple[bool, Any]:
    """(traceable, answer) from exactly one ordinary call of `fun`, with a JAX array; the caller counts it.

    A JAX array in the answer (everywhere in it, where it is a pair) says that the objective computes with JAX. `fun` is
    never traced here: a simulator must not be started on a tracer.
    """
    x = np.asarray(x)
    with jax.enable_x64(True) if x.dtype.itemsize == 8 else nullcontext():
        answer = fun(jax.device_put(x.copy()))
    leaves = jax.tree.leaves(answer)
    return bool(leaves) and all(isinstance(leaf, jax.Array) for leaf in leaves), answer


class HostOracle:
    """Reads `fun` on the host: NumPy in, NumPy out, every call counted in `calls`.

    `jac` True: `fun` returns (value, gradient). A callable: it returns the gradient, and the pair is one call, as for
    every first-order oracle. None: `differences` says how values become a gradient. `x_like` gives shape and dtype.
    `limit` caps `calls`: a reading that does not fit raises `BudgetExhausted` before it begins. NaN and infinities pass
    through; an exception of `fun` passes unchanged, its call counted. `fun` gets a copy that it may write to. A
    `journal` keeps every call, and answers those that it has.

    Departs from the paper: it has no host objectives; the estimates are those of eq. app:zo_oracle.
    """

    def __init__(
        self,
        fun: Callable[[Any], Any],
        x_like: Any,
        jac: bool | Callable[[Any], Any] | None = None,
        *,
        differences: HostDifferences | FiniteDifferences | None = None,
        limit: int | None = None,
        journal: Journal | None = None,
    ) -> None:
        if not callable(fun):
            raise ValueError(f"`fun` must be callable; got {fun!r}.")
        if jac is not None and jac is not True and not callable(jac):
            raise ValueError(f"`jac` must be None, True or a callable; got {jac!r}.")
        if limit is not None and limit < 0:
            raise ValueError(f"`limit` must not be negative; got {limit}.")
        like = np.asarray(x_like)
        if not np.issubdtype(like.dtype, np.floating):
            raise ValueError(f"`x_like` must have a real floating dtype; got {like.dtype}.")
        self.fun, self.jac, self.limit, self.journal = fun, jac, limit, journal
        self.shape, self.dtype = like.shape, like.dtype
        self.differences = HostDifferences() if differences is None else differences
        self.calls = 0
        self.readings = 0
        self.traceable: bool | None = None  # unknown until `first_reading`
        self.best_x, self.best_value = np.array(like), np.inf  # the lowest finite value of all calls, probes included
        self._known: _Known | None = None
        self.alone = False  # whether readings are values without a force
        self._probe_calls = 0 if jac is not None else self.differences.probe_calls(like.size)
        self._asks_at_x = jac is not None or self.differences.include_value

    @property
    def cost(self) -> int:
        """Calls that one reading spends."""
        return self._probe_calls + self._asks_at_x

    def first_reading(self, x: Any) -> bool:
        """Ask once at x with a JAX array; learn, and return, whether the objective is traceable.

        What was read is kept: the next `read` at the same x does not pay for it again, and its cost includes it. If
        `fun` cannot take a JAX array (it writes into it, or hands it to a compiled extension), it is asked once more
        with NumPy, which is a second call; where the limit has no room for one, it is asked with NumPy at once.
        """
        x = self._point(x)
        self._admit(1)
        before = self.calls
        last = self.limit is not None and self.calls + 1 >= self.limit
        try:
            kept = self._call(x, self._answer if last else self._probe)
        except Exception as error:
            if last or not _blames_jax_array(error):
                raise
            self.forgo(REFUSAL)
            kept = self._call(x, self._answer)
        self.traceable = kept.kind == TRACEABLE
        self._known = _Known(x, kept.value, kept.gradient, self.calls - before)
        return self.traceable

    def compiles(self, x: Any, attempt: Callable[[], bool]) -> bool:
        """Whether `attempt` could compile the objective, which answered with JAX arrays, to be read at x next.

        If not it was begun on a tracer, and that is a call.
        """
        self.calls += 1
        kept = None if self.journal is None else self.journal.begin(self.calls, self._point(x))
        compiled = attempt() if kept is None else kept.kind not in (OPAQUE, FAILURE)
        if compiled:
            self.calls -= 1
        else:
            self.forgo(OPAQUE)
        return compiled

    def replace(self, pair: Callable[[Any], Any]) -> None:
        """Read `pair`, which returns (value, gradient), from now on; what the first reading left is not used."""
        self.fun, self.jac, self._known = pair, True, None
        self._probe_calls, self._asks_at_x = 0, True

    def read_alone(self) -> None:
        """From now on a reading is the value at x, for one call, and its force is zero."""
        self._probe_calls, self._asks_at_x, self.alone = 0, True, True

    def forgo(self, kind: str = FAILURE) -> None:
        """The last call came to nothing, and the run goes on all the same."""
        if self.journal is not None:
            self.journal.forgo(kind)

    def fits(self, x: Any) -> bool:
        """Whether a reading at x fits into the limit."""
        return self.limit is None or self.calls + self._price(self._recall(self._point(x))) <= self.limit

    def knows(self, x: np.ndarray) -> bool:
        """Whether the value at x is there from `first_reading`, so that the next `read` at x does not ask for it."""
        return self._known is not None and np.array_equal(self._known.x, x)

    def read(self, x: Any) -> Reading:
        """One reading at x, charged; value, gradient and cost are NumPy values of the oracle's dtype."""
        x = self._point(x)
        known = self._recall(x)
        self._admit(self._price(known))
        start = self.calls - (known.calls if known is not None else 0)
        self._known = None
        value, gradient = (known.value, known.gradient) if known is not None else self._ask_at(x)
        if gradient is None and self.alone:
            gradient = np.zeros_like(x)
        elif gradient is None:
            mean, gradient = self.differences.estimate(x, self._value, self.readings)
            value = mean if value is None else value
        self.readings += 1
        numbers: Any = (self._number(value), gradient, np.int32(self.calls - start))
        return Reading(*numbers)

    def _recall(self, x: np.ndarray) -> _Known | None:
        """What the first reading left, if it was made at x."""
        return self._known if self.knows(x) else None

    def _price(self, known: _Known | None) -> int:
        """Calls that a reading still has to make."""
        return self._probe_calls + (self._asks_at_x and known is None)

    def _ask_at(self, x: np.ndarray) -> tuple[float | None, np.ndarray | None]:
        if not self._asks_at_x:
            return None, None
        kept = self._call(x, self._answer)
        return kept.value, kept.gradient

    def _value(self, x: np.ndarray) -> Any:
        if np.iscomplexobj(x):  # a complex step, which is no place in the domain
            self.calls += 1
            return complex(np.asarray(self.fun(x.copy())).reshape(()))
        return self._call(x, self._value_alone).value

    def _call(self, x: np.ndarray, ask: Callable[[np.ndarray], Kept]) -> Kept:
        """One call, counted; the only place where calls in the domain are made, or answered from the journal."""
        self.calls += 1
        kept = None if self.journal is None else self.journal.begin(self.calls, x)
        if kept is None:
            kept = ask(x)
            if self.journal is not None:
                kept = self.journal.keep(*kept)
        elif kept.kind in (REFUSAL, FAILURE):
            failed = TypeError if kept.kind == REFUSAL else RuntimeError
            raise failed(f"Call {self.calls} failed when it was made, says the journal.")
        self._note(x, kept.value)
        return kept

    def _probe(self, x: np.ndarray) -> Kept:
        """The answer to a JAX array."""
        traceable, answer = probe_traceable(self._answers, x)
        return self._checked(answer, x, TRACEABLE if traceable else ANSWER)

    def _answer(self, x: np.ndarray) -> Kept:
        return self._checked(self._answers(x), x)

    def _value_alone(self, x: np.ndarray) -> Kept:
        return Kept(ANSWER, host_scalar(self.fun(x.copy()), "fun"))

    def _answers(self, x: Any) -> tuple[Any, ...]:
        """What `fun` and `jac` say at x, as they say it: (value,) or (value, gradient)."""
        own = (lambda: x.copy()) if isinstance(x, np.ndarray) else lambda: x  # a JAX array can't be written to
        if self.jac is True:
            return split_pair(self.fun(own()), "fun")
        if self.jac is None:
            return (self.fun(own()),)
        return self.fun(own()), self.jac(own())

    def _checked(self, answer: tuple[Any, ...], x: np.ndarray, kind: str = ANSWER) -> Kept:
        value = host_scalar(answer[0], "fun")
        return Kept(kind, value, host_gradient(answer[1], "jac", x) if len(answer) == 2 else None)

    def _note(self, x: np.ndarray, value: float) -> None:
        if value < self.best_value and value > -np.inf:
            self.best_x, self.best_value = x, value

    def _point(self, x: Any) -> np.ndarray:
        x = np.array(x, self.dtype)
        if x.shape != self.shape:
            raise ValueError(f"`x` must have shape {self.shape}, as `x_like`; got {x.shape}.")
        return x

    def _number(self, value: Any) -> Any:
        """`value` in the oracle's dtype, infinite where it is too large for it."""
        if self.dtype == np.float64:
            return np.float64(value)
        with np.errstate(over="ignore"):
            return self.dtype.type(value)

    def _admit(self, calls: int) -> None:
        if self.limit is not None and self.calls + calls > self.limit:
            raise BudgetExhausted(f"A reading of {calls} calls does not fit: {self.calls} of {self.limit} are spent.")


def _blames_jax_array(error: Exception) -> bool:
    """Whether the objective may have failed only because it was handed a JAX array instead of a NumPy one."""
    return isinstance(error, TypeError | AttributeError) or any(w in str(error) for w in ("ArrayImpl", "read-only"))
