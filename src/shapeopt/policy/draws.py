"""The randomness of an escape, drawn cheaply: a batch pays for it at every reading, whether it escapes or not."""

import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray, UInt32

SAMPLES_FROM = 2**24  # escapes of a run are fewer
HOPS_FROM = 2**28  # samples of a run are fewer
GOLDEN = np.uint32(0x9E3779B9)  # 2^32 over the golden ratio: neighbouring counters land far apart


class Draws(NamedTuple):
    """The randomness of one escape."""

    kinds: Float[Array, " kinds"]
    radius: Float[Array, ""]
    share: Float[Array, ""]
    pair: Float[Array, " 2"]
    normal: Float[Array, " d"]
    uniform: Float[Array, " d"]


def draw(words: UInt32[Array, " 2"], escape: Int[Array, ""], d: int, kinds: int, dtype: jax.typing.DTypeLike) -> Draws:
    """The draws of escape number `escape` of the run whose key is `words`.

    All come from one stream of uniform numbers, in single precision, which keeps the compiled code small and quick.
    """
    uniform = hashed_uniform(words, escape, 2 * d + kinds + 4)
    normal = as_normal(uniform[: d + kinds + 1]).astype(dtype)
    rest = uniform[d + kinds + 1 :].astype(dtype)
    return Draws(
        kinds=normal[d : d + kinds],
        radius=normal[-1],
        share=rest[0],
        pair=rest[1:3],
        normal=normal[:d],
        uniform=rest[3:],
    )


def sample_normal(
    words: UInt32[Array, " 2"], sample: Int[Array, ""], d: int, dtype: jax.typing.DTypeLike
) -> Float[Array, " d"]:
    """The normal numbers of sample number `sample`: those of an escape that no run reaches."""
    return as_normal(hashed_uniform(words, SAMPLES_FROM + sample, d)).astype(dtype)


def hashed_normal(
    key: PRNGKeyArray, number: Int[Array, ""], shape: tuple[int, ...], dtype: jax.typing.DTypeLike
) -> Float[Array, "..."]:
    """Standard normal numbers: draw `number` of those that a key has, in single precision."""
    uniform = hashed_uniform(jax.random.key_data(key), number, math.prod(shape))
    return as_normal(uniform).astype(dtype).reshape(shape)


def as_normal(uniform: Float[Array, " n"]) -> Float[Array, " n"]:
    return 2.0**0.5 * jax.lax.erf_inv(2.0 * uniform - 1.0)


def hashed_uniform(words: UInt32[Array, " 2"], escape: Int[Array, ""], n: int) -> Float[Array, " n"]:
    """n numbers in (0, 1): the words of a key, the number of an escape and a counter, hashed.

    The key comes from JAX's Threefry; for the few dozen numbers of each escape its twenty rounds a word would cost a
    batch in 20 dimensions a sixth of its speed.
    """
    salt = _hashed(words[1] + escape.astype(jnp.uint32) * GOLDEN, words[0])
    x = _hashed(words[0] + jnp.arange(n, dtype=jnp.uint32) * GOLDEN, salt)
    return ((x >> 9).astype(jnp.float32) + 0.5) * jnp.float32(2.0**-23)  # exact, so never 0 or 1


def _hashed(x: UInt32[Array, "..."], salt: UInt32[Array, ""]) -> UInt32[Array, "..."]:
    """triple32 of Wellons' hash prospector, salted after its first round."""
    x = (x ^ (x >> 17)) * jnp.uint32(0xED5AD4BB)
    x = (x ^ (x >> 11) ^ salt) * jnp.uint32(0xAC4C1B51)
    x = (x ^ (x >> 15)) * jnp.uint32(0x31848BAB)
    return x ^ (x >> 14)
