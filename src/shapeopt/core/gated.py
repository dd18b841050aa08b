"""Work that is done only where it is needed, also in a batch."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, PyTree


def when(active: Bool[Array, ""], change: Callable[[PyTree], PyTree], old: PyTree) -> PyTree:
    """`change(old)` where `active`, else `old`.

    A loop of at most one round: batched, `lax.cond` computes both branches at every step; this computes nothing in
    steps in which no run of the batch is active. It can't be differentiated backwards.
    """
    once = lambda carry: (jnp.zeros_like(active), change(carry[1]))  # noqa: E731
    return jax.lax.while_loop(lambda carry: carry[0], once, (active, old))[1]
