"""Counter-based random numbers from integer operations: the same bits under both engines.

    word_i = mix(mix(i + s) ^ (s + i phi)),   s = mix(k_0 ^ mix(counter + phi) + k_1)

`mix` is the finaliser lowbias32 of C. Wellons; phi is 2^32 over the golden ratio. A key is two words of 32 bits.
"""

import functools
from typing import Any

import numpy as np

PHI = np.array([0x9E3779B9], np.uint32)  # arrays of one entry: NumPy warns of scalars that wrap
BLOCK = 2048  # numbers that the host makes at a time
FIRST, SECOND = np.array([0x7FEB352D], np.uint32), np.array([0x846CA68B], np.uint32)


def _mix(x: Any) -> Any:
    x = (x ^ (x >> 16)) * FIRST
    x = (x ^ (x >> 15)) * SECOND
    return x ^ (x >> 16)


def _words(key: Any, counters: Any, n: int) -> Any:
    """n words of 32 bits for each counter; `counters` is (1,) or, for a row each, (k, 1)."""
    lane, scaled = _lanes(n)
    seed = _mix((key[:1] ^ _mix(counters + PHI)) + key[1:])
    return _mix(_mix(lane + seed) ^ (seed + scaled))


@functools.lru_cache(maxsize=256)
def _lanes(n: int) -> tuple[np.ndarray, np.ndarray]:
    """0 .. n - 1, and the same times phi."""
    lane = np.arange(n, dtype=np.uint32)
    return lane, lane * PHI


def uniform(ops: Any, key: Any, counter: Any, n: int, dtype: Any = np.float64) -> Any:
    """n numbers in (0, 1); float64 has 32 random bits, float32 has 23, so neither ever is 0 or 1."""
    if ops.traced:
        xp = np if isinstance(counter, int) else ops.xp  # what is known beforehand is not traced
        return _to_unit(_words(key, xp.asarray(counter).astype(np.uint32).reshape(1), n), dtype)
    block = max(1, BLOCK // n)
    number, row = divmod(int(counter), block)
    return _rows(int(key[0]), int(key[1]), number, block, n, np.dtype(dtype))[row]


@functools.lru_cache(maxsize=8)
def _rows(first: int, second: int, number: int, block: int, n: int, dtype: Any) -> np.ndarray:
    """The numbers of a block of counters, a row each: the host makes those of the next ones at once."""
    counters = np.arange(number * block, (number + 1) * block, dtype=np.uint64).astype(np.uint32)
    rows = _to_unit(_words(np.array([first, second], np.uint32), counters[:, None], n), dtype)
    rows.setflags(write=False)
    return rows


def _to_unit(words: Any, dtype: Any) -> Any:
    if np.dtype(dtype) == np.float32:
        return ((words >> 9).astype(np.float32) + np.float32(0.5)) * np.float32(2.0**-23)
    return (words.astype(np.float64) + 0.5) * 2.0**-32


def normal(ops: Any, key: Any, counter: Any, n: int, dtype: Any = np.float64) -> Any:
    """n standard normal numbers by the method of Box and Muller; engines agree to a few units in the last place."""
    return to_normal(ops, uniform(ops, key, counter, 2 * n, dtype))


def to_normal(ops: Any, u: Any) -> Any:
    """2n uniform numbers as n normal ones."""
    half = u.shape[0] // 2
    return ops.xp.sqrt(-2.0 * ops.xp.log(u[:half])) * ops.xp.cos((2.0 * np.pi) * u[half : 2 * half])
