"""Where `universal` reads next: the box that is searched, the frame in which f is taken for a sum, the next sample."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from .base import Plant
from .draws import Draws, sample_normal
from .sampling import Sampler
from .sweep import Course
from .universal_state import UniversalState

Vector = Float[Array, " d"]


def in_frame(state: UniversalState, plant: Plant) -> Plant:
    """The plant in the frame in which f is taken for a sum."""
    if state.axes is None:
        return plant
    q, g = state.axes.turn(plant.q, plant.g)
    return plant._replace(q=q, g=g)


def in_box(state: UniversalState, z: Vector, plant: Plant) -> Vector:
    """A place in that frame as one in the box."""
    return jnp.clip(z if state.axes is None else state.axes.back(z), *searched(state, plant))


def next_course(state: UniversalState, plant: Plant, draws: Draws) -> Course:
    """Where the next sweep leads; in turned axes every second one is narrow."""
    straight = Course(state.base, state.base_g, *searched(state, plant), split=jnp.zeros((), bool))
    if state.axes is None:
        return straight
    return state.axes.course(straight, draws, narrow=state.sweep.count % 2 == 1)


def next_sample(state: UniversalState, sampler: Sampler, plant: Plant) -> Vector:
    """Where sampling reads next."""
    normal = sample_normal(state.key, sampler.read, plant.q.size, plant.q.dtype)
    return sampler.target(normal, *searched(state, plant))


def searched(state: UniversalState, plant: Plant) -> tuple[Vector, Vector]:
    """The finite box in which moves are made."""
    lower = jnp.where(jnp.isfinite(plant.lower), plant.lower, -state.reach)
    return lower, jnp.where(jnp.isfinite(plant.upper), plant.upper, state.reach)
