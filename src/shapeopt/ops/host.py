"""Eager operations on NumPy arrays and Python numbers: control flow is Python's own, and nothing is compiled.

    xp                             the array namespace
    pick(flag, a, b)               a or b, whole structures; both are computed before the call
    where(flags, a, b)             the same by entry of arrays
    last(flags, codes)             the code of the last flag that holds, a whole number; 0 where none does
    entry(table, i)                the i-th of some truth values that are known beforehand
    cond(flag, f, g)               f() or g(); only one of them is called here, both by a batch: for cheap branches
    lazy(make)                     a function whose answer is make(): made where it is asked for, or once by a batch
    when(flag, change, old)        change(old) or old; a batch calls it where a lane needs it: for rare, long branches
    loop(test, body, x)            while test(x): x = body(x)
    rounds(test, body, x)          the same, of a body that changes nothing that matters where the test does not hold:
                                   a batch then need not copy all that is carried
    repeat(n, body, x)             x = body(i, x) for i in 0 .. n - 1
    dispatch(i, work, memories, common)
                                   (memory, common) = work(i)(memory, common) for the i-th memory alone
    put(rows, i, row)              rows with row i replaced; in place here, so a table is used once
    put_column(rows, i, column)    the same with a column
    dot(a, b), norm(v), over(a, b) products, lengths and quotients as scalars; a quotient by 0 is infinite
    outer(a, b)                    the matrix a b^T
    largest(v), smallest(v)        the largest and the smallest entry of a vector, as scalars
    any(flags)                     whether an entry holds
    powers(v, n)                   v, v^2, ... v^n, a row each; v is not negative
    times(A, v)                    A @ v; one of both is a matrix
    remainder(n, m)                n modulo m, of whole numbers that are not negative
    solve(A, b), solve_positive(A, b)
                                   A^-1 b; not a number where A is singular; the second where A is positive definite
    root(A)                        L with L L^T = A, lower triangular; not numbers where A is not positive definite
    no(flag)                       not flag; `~` is wrong for Python's truth values
    real(x), whole(n), flag(x)     scalars that a state may hold
    finite(f, g)                   whether a reading and its square are finite numbers

Scalars are Python's floats and truth values, which are three times as fast as NumPy's; they raise where they divide by
zero (hence `over`) and where a power overflows. Vectors are arrays. Code that must run under both engines uses these
functions wherever a decision is made, and array operations everywhere else.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np


class Host:
    """The operations of the host engine."""

    traced = False
    xp: Any = np

    @staticmethod
    def pick(flag: Any, a: Any, b: Any) -> Any:
        return a if flag else b

    @staticmethod
    def last(flags: tuple[Any, ...], codes: tuple[int, ...]) -> int:
        if not any(flags):
            return 0
        return [code for flag, code in zip(flags, codes, strict=True) if flag][-1]

    where = staticmethod(np.where)

    @staticmethod
    def entry(table: tuple[bool, ...], i: int) -> bool:
        return table[i]

    @staticmethod
    def no(flag: Any) -> bool:
        return not flag

    @staticmethod
    def cond(flag: Any, f: Callable[[], Any], g: Callable[[], Any]) -> Any:
        return f() if flag else g()

    @staticmethod
    def lazy(make: Callable[[], Any]) -> Callable[[], Any]:
        return make

    @staticmethod
    def when(flag: Any, change: Callable[[Any], Any], old: Any) -> Any:
        return change(old) if flag else old

    @staticmethod
    def loop(test: Callable[[Any], Any], body: Callable[[Any], Any], x: Any) -> Any:
        while test(x):
            x = body(x)
        return x

    rounds = loop

    @staticmethod
    def repeat(n: int, body: Callable[[Any, Any], Any], x: Any) -> Any:
        for i in range(n):
            x = body(i, x)
        return x

    @staticmethod
    def dispatch(
        i: int, work: Callable[[int], Callable[[Any, Any], tuple[Any, Any]]], memories: tuple, common: Any
    ) -> tuple[tuple, Any]:
        memory, common = work(i)(memories[i], common)
        return (*memories[:i], memory, *memories[i + 1 :]), common

    @staticmethod
    def put(rows: np.ndarray, i: Any, row: Any) -> np.ndarray:
        rows[i] = row
        return rows

    @staticmethod
    def put_column(rows: np.ndarray, i: Any, column: Any) -> np.ndarray:
        rows[:, i] = column
        return rows

    @staticmethod
    def finite(f: Any, g: np.ndarray, largest: float) -> bool:
        return bool(-largest < f < largest) and bool(g.dot(g) < largest * largest)

    @staticmethod
    def max(a: Any, b: Any) -> Any:
        return a if a > b else b

    @staticmethod
    def min(a: Any, b: Any) -> Any:
        return a if a < b else b

    @staticmethod
    def sqrt(x: Any) -> float:
        return math.sqrt(x) if x > 0 else 0.0

    @staticmethod
    def exp(x: Any) -> float:
        return math.exp(x) if x < 700.0 else math.inf

    @staticmethod
    def log(x: Any) -> float:
        return math.log(x) if x > 0 else -math.inf

    @staticmethod
    def dot(a: np.ndarray, b: np.ndarray) -> float:
        return float(a.dot(b))

    @staticmethod
    def times(A: np.ndarray, v: np.ndarray) -> np.ndarray:
        return A.dot(v)

    @staticmethod
    def outer(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return a[:, None].dot(b[None])  # half the time of a product that is broadcast

    @staticmethod
    def largest(v: np.ndarray) -> float:
        return v.item(v.argmax())  # a fourth of the time of `max`, and likewise below

    @staticmethod
    def smallest(v: np.ndarray) -> float:
        return v.item(v.argmin())

    @staticmethod
    def any(flags: np.ndarray) -> bool:
        return flags.item(flags.argmax())

    @staticmethod
    def powers(v: np.ndarray, n: int) -> np.ndarray:
        rows, done = np.empty((n, *v.shape), v.dtype), 1
        rows[0] = v
        while done < n:  # twice as many each time
            more = min(done, n - done)
            np.multiply(rows[:more], rows[done - 1], out=rows[done : done + more])
            done += more
        return rows

    @staticmethod
    def norm(v: np.ndarray) -> float:
        return math.sqrt(v.dot(v))

    @staticmethod
    def over(a: Any, b: Any) -> float:
        return a / b if b else math.inf if a > 0 else -math.inf if a < 0 else math.nan

    @staticmethod
    def floor(x: Any) -> float:
        return math.floor(x) if math.isfinite(x) else x

    @staticmethod
    def remainder(n: int, m: int) -> int:
        return n % m

    @staticmethod
    def whole(n: Any) -> int:
        return int(n)

    @staticmethod
    def flag(x: Any) -> bool:
        return bool(x)

    @staticmethod
    def real(x: Any, dtype: Any = None) -> float:
        return float(x)

    @staticmethod
    def solve(A: np.ndarray, b: np.ndarray) -> np.ndarray:
        """A^-1 b; not a number where A is singular, rather than an exception."""
        try:
            return np.linalg.solve(A, b)
        except np.linalg.LinAlgError:
            return np.full_like(b, np.nan)

    solve_positive = solve

    @staticmethod
    def root(A: np.ndarray) -> np.ndarray:
        try:
            return np.linalg.cholesky(A)
        except np.linalg.LinAlgError:
            return np.full_like(A, np.nan)

    @staticmethod
    def eigh(A: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Eigenvalues and eigenvectors (columns); not numbers where LAPACK does not converge."""
        try:
            values, vectors = np.linalg.eigh(A)
        except np.linalg.LinAlgError:
            values, vectors = np.full(len(A), np.nan), np.full_like(A, np.nan)
        return values, vectors


HOST = Host()
