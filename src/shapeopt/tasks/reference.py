"""Best-known minima of tasks that have no closed form: a damped Newton descent, run while the task is drawn."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float


def newton_descent(
    fun: Callable[[Float[Array, " d"]], Float[Array, ""]], q: Float[Array, " d"], half_width: float, iterations: int
) -> tuple[Float[Array, " d"], Float[Array, ""]]:
    """Descend from q inside [-half_width, half_width]^d; returns the last point, never above the first, and its value.

        q' = clip(q - (|H| + damping)^-1 g),  |H| with the eigenvalues' absolute values

    H and g are those of the free coordinates; one that lies on a bound and is pushed outward waits there. A step that
    does not lower the value is refused and the damping grows; otherwise it shrinks. O(d^3) an iteration.

    Departs from the paper: not in it; it never sees an optimizer.
    """

    def step(carry, _):
        q, value, damping = carry
        g, H = jax.grad(fun)(q), jax.hessian(fun)(q)
        free = (jnp.abs(q) < half_width) | (g * q > 0)
        both = free[:, None] & free[None, :]
        eigenvalues, V = jnp.linalg.eigh(jnp.where(both, H, jnp.eye(q.shape[0], dtype=q.dtype)))
        scaled = (V.T @ jnp.where(free, g, 0.0)) / (jnp.abs(eigenvalues) + damping)
        trial = jnp.clip(q - V @ scaled, -half_width, half_width)
        trial_value = fun(trial)
        better = trial_value < value
        q, value = jnp.where(better, trial, q), jnp.where(better, trial_value, value)
        return (q, value, jnp.where(better, damping / 3, damping * 4)), None

    first = (q, fun(q), jnp.ones((), q.dtype))
    (q, value, _), _ = jax.lax.scan(step, first, length=iterations)
    return q, value


def best_descent(
    fun: Callable[[Float[Array, " d"]], Float[Array, ""]],
    starts: Float[Array, "n d"],
    half_width: float,
    iterations: int,
) -> tuple[Float[Array, " d"], Float[Array, ""]]:
    """The best end of `newton_descent` over several starts."""
    ends, values = jax.vmap(lambda q: newton_descent(fun, q, half_width, iterations))(starts)
    best = jnp.argmin(values)
    return ends[best], values[best]
