"""Basin hopping with a gradient method as its local search."""

from typing import NamedTuple, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from ..core import Box, Reading
from .base import AbstractBaseline, AbstractDescent, DescentState, inside, require_count, require_positive

T = TypeVar("T")


class Found(NamedTuple):
    """A point that was read, and its value; +inf while none was finite."""

    x: Float[Array, " d"]
    value: Float[Array, ""]


class HopState(eqx.Module):
    """The local search under way, its readings and its best, the accepted basin, and the key of the draws to come."""

    local: DescentState
    readings: Int[Array, ""]
    found: Found
    accepted: Found
    key: PRNGKeyArray


class BasinHopping(AbstractBaseline):
    """From the accepted point: a uniform displacement, `local_steps` steps of `inner`, Metropolis acceptance.

        accept if f_found <= f_accepted, else with probability exp(-(f_found - f_accepted) / temperature)

    f_found is the lowest value of the local search. A displacement is at most `displacement` times the box's scale in
    each coordinate, that is in units of a tenth of a bounded box's width. Temperature 1 is SciPy's; a displacement of 1
    reaches the neighbouring wells of the paper's analytic families.

    Departs from the paper: it compares with basin hopping (figure ackley:with:search:algo) without its settings.
    """

    inner: AbstractDescent
    local_steps: int = 20
    displacement: float = 1.0
    temperature: float = 1.0

    def __check_init__(self):
        require_count("local_steps", self.local_steps)
        require_positive("displacement", self.displacement)
        require_positive("temperature", self.temperature)

    def init(self, x0: Float[Array, " d"], box: Box, budget: int, key: PRNGKeyArray) -> HopState:
        local = self.inner.init(x0, box, budget, key)
        nothing = Found(x0, jnp.asarray(jnp.inf, x0.dtype))
        return HopState(local, jnp.zeros((), jnp.int32), nothing, nothing, key)

    def ask(self, state: HopState) -> Float[Array, " d"]:
        return self.inner.ask(state.local)

    def tell(self, state: HopState, reading: Reading) -> HopState:
        value = reading.value.astype(state.found.value.dtype)
        better = jnp.isfinite(value) & (value < state.found.value)
        found = _where(better, Found(self.ask(state), value), state.found)
        going_on = HopState(self.inner.tell(state.local, reading), state.readings + 1, found, state.accepted, state.key)
        return _where(going_on.readings == self.local_steps, self._hop(going_on), going_on)

    def _hop(self, state: HopState) -> HopState:
        """The state at the start of the next local search."""
        key, accept_key, move_key = jax.random.split(state.key, 3)
        dtype, box = state.found.x.dtype, state.local.box
        rise = (state.found.value - state.accepted.value) / self.temperature
        luck = jnp.log(jax.random.uniform(accept_key, (), dtype))
        taken = (state.found.value <= state.accepted.value) | (luck < -rise)
        accepted = _where(taken, state.found, state.accepted)
        move = jax.random.uniform(move_key, accepted.x.shape, dtype, -self.displacement, self.displacement)
        start = inside(accepted.x + box.scale * move, box)
        nothing = Found(start, jnp.asarray(jnp.inf, dtype))
        local = self.inner.init(start, box, self.local_steps, key)
        return HopState(local, jnp.zeros((), jnp.int32), nothing, accepted, key)


def _where(condition: Bool[Array, ""], new: T, old: T) -> T:
    return jax.tree.map(lambda a, b: jnp.where(condition, a, b), new, old)
