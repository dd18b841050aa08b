"""Counted readings of any Python callable: NumPy code, compiled extensions, a simulator behind a subprocess."""

import math
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, NamedTuple, Protocol

import numpy as np

from ..core import Reading
from ..core.arrays import double_precision, is_jax, loaded_jax
from ..core.tree import flatten
from .checks import host_gradient, host_scalar, split_pair
from .finite_differences import FiniteDifferences
from .journal import ANSWER, FAILURE, OPAQUE, REFUSAL, TRACEABLE, Journal, Kept

ONE_CALL = np.int32(1)  # of most readings, made once


class BudgetExhausted(RuntimeError):
    """A reading was refused, before its first call, because it does not fit into the limit."""


class Untraceable(TypeError):
    """An objective that computes with JAX can't be called with a tracer."""


class _Refused(TypeError):
    """The journal says that the objective could not take a NumPy array."""


FAILED: dict[str, type[Exception]] = {REFUSAL: _Refused, FAILURE: RuntimeError, OPAQUE: Untraceable}


class TraceablePair(Protocol):
    """x -> (value, gradient) of an objective that computes with JAX (`traced.traced_pair`)."""

    def __call__(self, x: np.ndarray) -> tuple[float, np.ndarray]: ...

    def trace(self, x: np.ndarray) -> None:
        """Raise `Untraceable` if the objective can't be called with a tracer."""


class _Known(NamedTuple):
    """What the first reading left for the next `read` at the same point."""

    x: np.ndarray
    value: float
    gradient: np.ndarray | None
    calls: int


class HostOracle:
    """Reads `fun` on the host: NumPy in, NumPy out, every call counted in `calls`.

    `jac` True: `fun` returns (value, gradient). A callable: it returns the gradient, and the pair is one call, as for
    every first-order oracle. None: a reading is the value, and its force zero, unless `differences` make a
    gradient of further values. `x_like` gives shape and dtype.
    `limit` caps `calls`: a reading that does not fit raises `BudgetExhausted` before it begins. NaN and infinities pass
    through; an exception of `fun` passes unchanged, its call counted. `fun` gets a copy that it may write to. A
    `journal` keeps every call, and answers those that it has.

    An objective that computes with JAX is found out by its code, or by its first answer, and is then read as a traced
    pair:

        if refers_to_jax(fun) or oracle.first_reading(x):
            oracle.read_traced(x, traced_pair(fun, jac, layout, x.dtype))
        reading = oracle.read(x)  # for which the last call has paid

    Departs from the paper: it has no host objectives.
    """

    def __init__(
        self,
        fun: Callable[[Any], Any],
        x_like: Any,
        jac: bool | Callable[[Any], Any] | None = None,
        *,
        differences: FiniteDifferences | None = None,
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
        self.differences = differences
        self.calls = 0
        self.readings = 0
        self.traceable: bool | None = None  # whether `fun` answers with JAX arrays; unknown until `first_reading`
        self.hands_jax = False  # whether `fun` gets JAX arrays, since it can't take NumPy's
        self._double = False  # whether JAX computes in double precision inside `fun`
        self.best_x, self.best_value = np.array(like), np.inf  # the lowest finite value of all calls, probes included
        self._known: _Known | None = None
        self._asked = np.array(like)  # where the last call was made
        self._answered = False  # whether a call brought anything

    @property
    def alone(self) -> bool:
        """Whether readings are values without a force."""
        return self.jac is None and self.differences is None

    @property
    def cost(self) -> int:
        """Calls that one reading spends."""
        return 1 if self.jac is not None or self.differences is None else self.differences.calls(math.prod(self.shape))

    def first_reading(self, x: Any) -> bool:
        """Ask once at x, with a NumPy array; return whether the answer consists of JAX arrays: `fun` may be traced.

        What was read is kept: the next `read` at the same x does not pay for it again, and its cost includes it. If
        `fun` fails because it wants a JAX array (it uses `x.at`, say), it is asked once more with one, which is a
        second call, and gets JAX arrays from then on. JAX is never imported for it: who wants a JAX array has done so.
        """
        x = self._point(x)
        self._admit(1)
        before = self.calls
        self._double = self.dtype.itemsize == 8
        kept = self._ask_either(x, self._first_answer)
        self.traceable = kept.kind == TRACEABLE
        self._double = self._double and (self.traceable or self.hands_jax)
        if self.differences is None:
            self._known = _Known(x, kept.value, kept.gradient, self.calls - before)
        return self.traceable

    def read_traced(self, x: Any, pair: "TraceablePair") -> bool:
        """Read `pair` from now on, the (value, gradient) of an objective that computes with JAX, if it can be traced.

        Where the gradient at x is not known yet, it is read, which is a call; the next `read` at x does not pay for it
        again. If `fun` can't be traced, False comes back and it is read as it is; that it was begun on a tracer is a
        call.

        Arguments:
            x: where the next reading is made.
            pair: as `traced.traced_pair` makes it.
        """
        x = self._point(x)
        known = self._recall(x)
        complete, reserve = known is not None and known.gradient is not None, known is None
        if self.limit is not None and self.calls + reserve >= self.limit:  # a failed attempt would leave no value
            return False
        try:
            if complete:
                self._trace(x, pair)
            else:
                kept = self._call(x, lambda x: self._traced_answer(x, pair))
                self._known = _Known(x, kept.value, kept.gradient, 1)
                if math.isfinite(kept.value):  # the first answer, if any, may have had single precision
                    self.best_x, self.best_value = x, kept.value
        except Untraceable:
            self.forgo(OPAQUE)
            return False
        self.fun, self.jac = pair, True
        self.hands_jax = self._double = False
        return True

    def _trace(self, x: np.ndarray, pair: "TraceablePair") -> None:
        """Call `fun` with a tracer: nothing is evaluated, and it is a call only if it leads to nothing."""
        self.calls += 1
        self._asked = x
        if self.journal is not None and self.journal.upcoming(self.calls, x) == OPAQUE:
            raise Untraceable
        pair.trace(x)
        self.calls -= 1

    def _traced_answer(self, x: np.ndarray, pair: "TraceablePair") -> Kept:
        value, gradient = pair(x)
        return Kept(TRACEABLE, host_scalar(value, "fun"), host_gradient(gradient, "jac", x))

    def forgo(self, kind: str = FAILURE) -> None:
        """The last call came to nothing, and the run goes on all the same."""
        if self.journal is not None:
            self.journal.begin(self.calls, self._asked)  # unless it was begun there before
            self.journal.forgo(kind)

    def fits(self, x: Any) -> bool:
        """Whether a reading at x fits into the limit."""
        if self.limit is None:
            return True
        if self._known is not None and self._recall(self._point(x)) is not None:
            return self.calls <= self.limit
        return self.calls + self.cost <= self.limit

    def knows(self, x: np.ndarray) -> bool:
        """Whether the value at x is there from `first_reading`, so that the next `read` at x does not ask for it."""
        return self._known is not None and np.array_equal(self._known.x, x)

    def read(self, x: Any) -> Reading:
        """One reading at x, charged; value, gradient and cost are NumPy values of the oracle's dtype."""
        x = self._point(x)
        known = None if self._known is None else self._recall(x)
        self._admit(self.cost if known is None else 0)
        start = self.calls - (known.calls if known is not None else 0)
        self._known = None
        value, gradient = self._read_at(x, known)
        self.readings += 1
        spent = self.calls - start
        return Reading(self._number(value), gradient, ONE_CALL if spent == 1 else np.int32(spent))

    def answer(self, x: np.ndarray) -> Kept:
        """What `fun` and `jac` say at x, neither counted nor kept; several threads may ask at the same time."""
        with double_precision() if self._double else nullcontext():
            return self._answer(x)

    def _read_at(self, x: np.ndarray, known: _Known | None) -> tuple[float, np.ndarray]:
        if self.jac is None and self.differences is not None:
            return self.differences.estimate(x, self._value)
        ask = self._call if self._answered else self._ask_either
        kept = ask(x, self._answer) if known is None else known
        return kept.value, np.zeros(x.shape, x.dtype) if kept.gradient is None else kept.gradient

    def _recall(self, x: np.ndarray) -> _Known | None:
        """What the first reading left, if it was made at x."""
        return self._known if self.knows(x) else None

    def _value(self, x: np.ndarray) -> Any:
        if np.iscomplexobj(x):  # a complex step, which is no place in the domain
            self.calls += 1
            return complex(np.asarray(self.fun(x.copy())).reshape(()))
        return self._call(x, self._value_alone).value

    def _call(self, x: np.ndarray, ask: Callable[[np.ndarray], Kept]) -> Kept:
        """One call, counted; the only place where calls in the domain are made, or answered from the journal."""
        self.calls += 1
        self._asked = x
        kept = None if self.journal is None else self.journal.begin(self.calls, x)
        if kept is None:
            if self._double:
                with double_precision():
                    kept = ask(x)
            else:
                kept = ask(x)
            if self.journal is not None:
                kept = self.journal.keep(*kept)
        elif kept.kind in FAILED:
            raise FAILED[kept.kind](f"Call {self.calls} failed when it was made, says the journal.")
        self._answered = True
        if -math.inf < kept.value < self.best_value:
            self.best_x, self.best_value = x, kept.value
        return kept

    def _ask_either(self, x: np.ndarray, ask: Callable[[np.ndarray], Kept]) -> Kept:
        """One call with a NumPy array; a second one, with a JAX array, if `fun` has not answered yet and may want
        one."""
        try:
            return self._call(x, ask)
        except (TypeError, AttributeError) as error:
            room = self.limit is None or self.calls < self.limit
            wants = isinstance(error, _Refused) or (room and loaded_jax() is not None)
            if self._answered or not wants:
                raise
            return self._ask_with_jax(x, ask, error)

    def _first_answer(self, x: np.ndarray) -> Kept:
        """The answer, and whether it consists of JAX arrays."""
        answer = self._answers(x)
        leaves = flatten(answer)[0]
        return self._checked(answer, x, TRACEABLE if leaves and all(map(is_jax, leaves)) else ANSWER)

    def _ask_with_jax(self, x: np.ndarray, ask: Callable[[np.ndarray], Kept], refused: Exception) -> Kept:
        """The answer to a JAX array; where that fails in the same way, the first failure is the one to show."""
        self.forgo(REFUSAL)
        double, self._double, self.hands_jax = self._double, self.dtype.itemsize == 8, True
        try:
            return self._call(x, ask)
        except BaseException as error:
            self.hands_jax, self._double = False, double
            if isinstance(error, TypeError | AttributeError):
                raise refused from None
            raise

    def _answer(self, x: np.ndarray) -> Kept:
        if self.jac is not True:
            return self._checked(self._answers(x), x)
        value, gradient = split_pair(self.fun(self._own(x)), "fun")
        return Kept(ANSWER, host_scalar(value, "fun"), host_gradient(gradient, "jac", x))

    def _value_alone(self, x: np.ndarray) -> Kept:
        return Kept(ANSWER, host_scalar(self.fun(self._own(x)), "fun"))

    def _answers(self, x: np.ndarray) -> tuple[Any, ...]:
        """What `fun` and `jac` say at x, as they say it: (value,) or (value, gradient)."""
        if self.jac is True:
            return split_pair(self.fun(self._own(x)), "fun")
        if self.jac is None:
            return (self.fun(self._own(x)),)
        return self.fun(self._own(x)), self.jac(self._own(x))

    def _own(self, x: np.ndarray) -> Any:
        """x as the objective gets it: a copy that it may write to, or a JAX array, to which nobody can write."""
        return loaded_jax().device_put(x) if self.hands_jax else x.copy()

    def _checked(self, answer: tuple[Any, ...], x: np.ndarray, kind: str = ANSWER) -> Kept:
        if len(answer) == 1:
            return Kept(kind, host_scalar(answer[0], "fun"))
        return Kept(kind, host_scalar(answer[0], "fun"), host_gradient(answer[1], "jac", x))

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
