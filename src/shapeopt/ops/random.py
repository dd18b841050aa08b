"""Counter-based random numbers from integer operations: the same bits under both engines.

    word_i = mix(mix(i + s) ^ (s + i phi)),   s = mix(k_0 ^ mix(counter + phi) + k_1)

`mix` is the finaliser lowbias32 of C. Wellons; phi is 2^32 over the golden ratio. A key is two words of 32 bits.
"""

import functools
from typing import Any

import numpy as np

PHI = np.array([0x9E3779B9], np.uint32)  # arrays of one entry: NumPy warns of scalars that wrap
WORD = 0xFFFFFFFF
FIRST, SECOND = np.array([0x7FEB352D], np.uint32), np.array([0x846CA68B], np.uint32)


def _mix(x: Any) -> Any:
    x = (x ^ (x >> 16)) * FIRST
    x = (x ^ (x >> 15)) * SECOND
    return x ^ (x >> 16)


def _words(ops: Any, key: Any, counter: Any, n: int) -> Any:
    """n words of 32 bits."""
    lane, scaled = _lanes(n)
    if ops.traced:
        count = ops.xp.asarray(counter).astype(np.uint32).reshape(1)
        seed = _mix((key[:1] ^ _mix(count + PHI)) + key[1:])
    else:  # the same in Python's integers, which are quicker one at a time
        mixed = (int(key[0]) ^ _mix_one((int(counter) + int(PHI[0])) & WORD)) + int(key[1])
        seed = np.array([_mix_one(mixed & WORD)], np.uint32)
    return _mix(_mix(lane + seed) ^ (seed + scaled))


@functools.lru_cache(maxsize=256)
def _lanes(n: int) -> tuple[np.ndarray, np.ndarray]:
    """0 .. n - 1, and the same times phi."""
    lane = np.arange(n, dtype=np.uint32)
    return lane, lane * PHI


def _mix_one(x: int) -> int:
    x = ((x ^ (x >> 16)) * 0x7FEB352D) & WORD
    x = ((x ^ (x >> 15)) * 0x846CA68B) & WORD
    return x ^ (x >> 16)


def uniform(ops: Any, key: Any, counter: Any, n: int, dtype: Any = np.float64) -> Any:
    """n numbers in (0, 1); float64 has 32 random bits, float32 has 23, so neither ever is 0 or 1."""
    if np.dtype(dtype) == np.float32:
        word = _words(ops, key, counter, n) >> 9
        return (word.astype(np.float32) + np.float32(0.5)) * np.float32(2.0**-23)
    return (_words(ops, key, counter, n).astype(np.float64) + 0.5) * 2.0**-32


def normal(ops: Any, key: Any, counter: Any, n: int, dtype: Any = np.float64) -> Any:
    """n standard normal numbers by the method of Box and Muller; engines agree to a few units in the last place."""
    return to_normal(ops, uniform(ops, key, counter, 2 * n, dtype))


def to_normal(ops: Any, u: Any) -> Any:
    """2n uniform numbers as n normal ones."""
    half = u.shape[0] // 2
    return ops.xp.sqrt(-2.0 * ops.xp.log(u[:half])) * ops.xp.cos((2.0 * np.pi) * u[half : 2 * half])
