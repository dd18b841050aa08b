"""What a training unroll leaves for the losses; arrays are (readings, batch, ...)."""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from ..optimizer import Channels
from .teacher import Label

PerReading = Float[Array, "n batch"]
Points = Float[Array, "n batch d"]


class Lesson(NamedTuple):
    """One step from an event, forced to the teacher's plan, against the teacher's force; in the stage's units.

    `miss` is |(p_1 - p_0)/h - F|^2 / d, `operators` is |Omega v| + |D v| (eq. dp_local_pretrain_loss).
    """

    miss: PerReading
    operators: PerReading

    @staticmethod
    def none(dtype: jnp.dtype) -> "Lesson":
        return Lesson(*(jnp.zeros((), dtype),) * 2)


class Record(NamedTuple):
    """The readings of a window of a batch of runs.

    `q` was read as `value` and was reached under the anchor `goal`. Where `event`, a stage was planned at q: `anchor`
    and `logits` are the planner's, `label` is the teacher's (zero if it was not asked), `lesson` the controller's (zero
    unless it is taught). `channels` are of the step that leads on from q, in units of the stage's force.
    """

    value: PerReading
    q: Points
    goal: Points
    event: Bool[Array, "n batch"]
    anchor: Points
    logits: Float[Array, "n batch modes"]
    label: Label
    lesson: Lesson
    channels: Channels


class Before(NamedTuple):
    """What a window must know of the windows before it: how many readings they had, and each run's values."""

    readings: Int[Array, ""]
    first: Float[Array, " batch"]
    last: Float[Array, " batch"]
    best: Float[Array, " batch"]

    @staticmethod
    def nothing(batch: int, dtype: jnp.dtype) -> "Before":
        zeros = jnp.zeros(batch, dtype)
        return Before(jnp.zeros((), jnp.int32), zeros, zeros, zeros)
