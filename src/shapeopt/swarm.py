"""Several particles that share one budget and one memory, advanced together.

All particles are read in one round, so a traceable objective is evaluated on the whole batch at once. Each has a plant,
a basin and a line of its own; what they learn of basins and of which moves pay is merged after every round.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from .core import REACH, AbstractOptimizer, Box, Reading
from .shape import Info, ShapeOptimizer, ShapeState


class SwarmOptimizer(AbstractOptimizer):
    """`particles` copies of SHAPE; points and readings have a leading axis of that length.

    Departs from the paper: its particles (tab. ackley_budget_particle_ablation_full) are separate runs.
    """

    shape: ShapeOptimizer
    particles: int = eqx.field(static=True)

    def __check_init__(self):
        if self.particles < 2:
            raise ValueError(f"`particles` must be at least 2; got {self.particles}.")

    def init(self, x0: Float[Array, " d"], box: Box, budget: int, key: PRNGKeyArray) -> ShapeState:
        """The first particle starts at x0, the others anywhere in the box."""
        start_key, run_key = jax.random.split(key)
        lower, upper = jnp.maximum(box.q_lower, -REACH), jnp.minimum(box.q_upper, REACH)
        share = jax.random.uniform(start_key, (self.particles, x0.size), x0.dtype)
        starts = jax.vmap(box.outward)(lower + share * (upper - lower)).at[0].set(x0)
        keys = jax.random.split(run_key, self.particles)
        return jax.vmap(lambda x, k: self.shape.init(x, box, budget, k))(starts, keys)

    def ask(self, state: ShapeState) -> Float[Array, "particles d"]:
        return jax.vmap(self.shape.ask)(state)

    def tell(self, state: ShapeState, reading: Reading) -> ShapeState:
        """A round of readings. Every particle hears the whole round's cost, since they spend one budget."""
        cost = jnp.full_like(reading.cost, jnp.sum(reading.cost))
        after = jax.vmap(self.shape.tell)(state, Reading(reading.value, reading.gradient, cost))
        shared = self.shape.policy.share(state.policy, after.policy)
        return eqx.tree_at(lambda s: s.policy, after, shared)

    def info(self, state: ShapeState) -> Info:
        return state.info
