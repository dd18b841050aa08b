"""Standard normal numbers by hashing a counter: cheap inside a compiled loop, where a batch draws at every reading."""

import math

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray, UInt32

GOLDEN = np.uint32(0x9E3779B9)  # 2^32 over the golden ratio: neighbouring counters land far apart


def hashed_normal(
    key: PRNGKeyArray, number: Int[Array, ""], shape: tuple[int, ...], dtype: jax.typing.DTypeLike
) -> Float[Array, "..."]:
    """Standard normal numbers of draw `number` under `key`, made in single precision."""
    uniform = _hashed_uniform(jax.random.key_data(key), number, math.prod(shape))
    return (2.0**0.5 * jax.lax.erf_inv(2.0 * uniform - 1.0)).astype(dtype).reshape(shape)


def _hashed_uniform(words: UInt32[Array, " 2"], number: Int[Array, ""], n: int) -> Float[Array, " n"]:
    """n numbers in (0, 1): the words of a key, the number of a draw and a counter, hashed."""
    salt = _hashed(words[1] + number.astype(jnp.uint32) * GOLDEN, words[0])
    x = _hashed(words[0] + jnp.arange(n, dtype=jnp.uint32) * GOLDEN, salt)
    return ((x >> 9).astype(jnp.float32) + 0.5) * jnp.float32(2.0**-23)  # exact, so never 0 or 1


def _hashed(x: UInt32[Array, "..."], salt: UInt32[Array, ""]) -> UInt32[Array, "..."]:
    """triple32 of Wellons' hash prospector, salted after its first round."""
    x = (x ^ (x >> 17)) * jnp.uint32(0xED5AD4BB)
    x = (x ^ (x >> 11) ^ salt) * jnp.uint32(0xAC4C1B51)
    x = (x ^ (x >> 15)) * jnp.uint32(0x31848BAB)
    return x ^ (x >> 14)
