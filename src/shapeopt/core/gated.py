"""Work that only some steps of a compiled loop need."""

from collections.abc import Callable

import jax
from jaxtyping import Array, Bool, PyTree


def when(active: Bool[Array, ""], work: Callable[[PyTree], PyTree], old: PyTree) -> PyTree:
    """`work(old)` where `active`, else `old`.

    Unlike `lax.cond`, whose branches are both computed for every lane of a batch, it costs a batch something only at
    steps at which one of its lanes is active.
    """

    def body(carry: tuple[Bool[Array, ""], PyTree]) -> tuple[Bool[Array, ""], PyTree]:
        return ~carry[0], work(carry[1])

    return jax.lax.while_loop(lambda carry: carry[0], body, (active, old))[1]
