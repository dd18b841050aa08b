"""What baselines share: the step q' = clip(q + u) of those that read once an update.

Baselines work in the user's coordinates. What a method adds to that step is an Optax gradient transformation, Optax's
own or one of this room, which maps (gradient, memory, q) to (u, memory).
"""

import abc

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from ..core import AbstractOptimizer, Box, Reading
from ..oracles.checks import require

EPS = 1e-8  # stabiliser of every method that has one (paper, above tab. app:baseline_hparams_momentum)


class AbstractBaseline(AbstractOptimizer):
    """An optimizer of the table of baselines."""


class DescentState(eqx.Module):
    """The point to read next, what the rule remembers, and where the point may be."""

    x: Float[Array, " d"]
    memory: PyTree
    box: Box


class AbstractDescent(AbstractBaseline):
    """A method in which each reading makes one move, q' = clip(q + u), with (u, memory) = rule(g, memory, q).

    Settings that every method means alike are checked here: `lr` and `eps` are positive, `beta`, `beta1` and `beta2`
    are rates of decay.
    """

    def __check_init__(self):
        for name, check in COMMON:
            if name in self.__dataclass_fields__:
                check(name, getattr(self, name))

    @property
    @abc.abstractmethod
    def rule(self) -> optax.GradientTransformation:
        """The update as a gradient transformation; its `update` is given q."""

    def init(self, x0: Float[Array, " d"], box: Box, budget: int, key: PRNGKeyArray) -> DescentState:
        return DescentState(x0, self.rule.init(x0), box)

    def ask(self, state: DescentState) -> Float[Array, " d"]:
        return state.x

    def tell(self, state: DescentState, reading: Reading) -> DescentState:
        u, memory = self.rule.update(usable_gradient(reading, state.x), state.memory, state.x)
        return DescentState(inside(state.x + u, state.box), memory, state.box)


def inside(x: Float[Array, " d"], box: Box) -> Float[Array, " d"]:
    """The nearest point of the box; the paper projects every baseline so."""
    return jnp.clip(x, box.lower, box.upper)


def usable_gradient(reading: Reading, like: Float[Array, " d"]) -> Float[Array, " d"]:
    """The reading's gradient, or zero where the reading is not finite, so that no memory is ever spoilt.

    Entries beyond the fourth root of the largest number are cut there, so that sums of their squares are finite.
    """
    g = reading.gradient.astype(like.dtype)
    limit = float(jnp.finfo(like.dtype).max) ** 0.25
    finite = jnp.isfinite(reading.value) & jnp.all(jnp.isfinite(g))
    return jnp.where(finite, jnp.clip(g, -limit, limit), 0.0)


def from_optax(rule: optax.GradientTransformation) -> optax.GradientTransformation:
    """`rule` with JAX's ordinary promotion inside, which some of Optax's rules need where a caller has forbidden it."""

    def update(gradient: PyTree, memory: PyTree, params: PyTree = None) -> tuple[PyTree, PyTree]:
        with jax.numpy_dtype_promotion("standard"):
            return rule.update(gradient, memory, params)

    return optax.GradientTransformation(rule.init, update)


def average(decay: float | Float[Array, ""], held: Float[Array, " d"], new: Float[Array, " d"]) -> Float[Array, " d"]:
    """decay * held + (1 - decay) * new."""
    return decay * held + (1 - decay) * new


def require_positive(name: str, value: float) -> None:
    require(name, value, lambda v: (v > 0) & (v < float("inf")), "finite and positive")


def require_not_negative(name: str, value: float) -> None:
    require(name, value, lambda v: (v >= 0) & (v < float("inf")), "finite and not negative")


def require_decay(name: str, value: float) -> None:
    require(name, value, lambda v: (v >= 0) & (v < 1), "at least 0 and below 1")


def require_count(name: str, value: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ValueError(f"`{name}` must be an integer of at least 1; got {value!r}.")


COMMON = (
    ("lr", require_positive),
    ("eps", require_positive),
    *((name, require_decay) for name in ("beta", "beta1", "beta2")),
)
