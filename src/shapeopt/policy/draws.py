"""The randomness of an escape, drawn cheaply: a batch pays for it at every reading, whether it escapes or not."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray


class Draws(NamedTuple):
    """The randomness of one escape."""

    kinds: Float[Array, " kinds"]
    radius: Float[Array, ""]
    share: Float[Array, ""]
    pair: Float[Array, " 2"]
    normal: Float[Array, " d"]
    uniform: Float[Array, " d"]


def draw(key: PRNGKeyArray, d: int, kinds: int, dtype: jax.typing.DTypeLike) -> Draws:
    """All from one stream of uniform numbers, in single precision, which keeps the compiled code small and quick."""
    uniform = hashed_uniform(key, 2 * d + kinds + 4)
    normal = (2.0**0.5 * jax.lax.erf_inv(2.0 * uniform[: d + kinds + 1] - 1.0)).astype(dtype)
    rest = uniform[d + kinds + 1 :].astype(dtype)
    return Draws(
        kinds=normal[d : d + kinds],
        radius=normal[-1],
        share=rest[0],
        pair=rest[1:3],
        normal=normal[:d],
        uniform=rest[3:],
    )


def hashed_uniform(key: PRNGKeyArray, n: int) -> Float[Array, " n"]:
    """n numbers in (0, 1): the key and a counter through an integer hash (triple32 of Wellons' hash prospector).

    The keys themselves come from JAX's Threefry; for the few dozen numbers drawn from each of them its twenty rounds a
    word would cost a batch in 20 dimensions a sixth of its speed.
    """
    words = jax.random.key_data(key).astype(jnp.uint32)
    x = words[0] + jnp.arange(n, dtype=jnp.uint32) * jnp.uint32(0x9E3779B9)
    x = (x ^ (x >> 17)) * jnp.uint32(0xED5AD4BB)
    x = (x ^ (x >> 11) ^ words[1]) * jnp.uint32(0xAC4C1B51)
    x = (x ^ (x >> 15)) * jnp.uint32(0x31848BAB)
    x = x ^ (x >> 14)
    return ((x >> 9).astype(jnp.float32) + 0.5) * jnp.float32(2.0**-23)  # exact, so never 0 or 1
