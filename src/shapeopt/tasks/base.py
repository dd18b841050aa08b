"""What a task and a family are, and the three laws by which starts are drawn.

A family is a distribution over tasks tau; a task is one objective f_tau with what is known about it. Both are pytrees:
`jax.vmap(family.sample)(keys)` is a batch of tasks, and the batch is again one task-shaped object.
"""

import abc
import enum

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from ..core import Box

NEAR_RADII = (2.0, 3.2)  # the project's `near` protocol: distance of the start from the minimiser
PAPER_RADII = (1.9, 3.3)  # radii that reproduce the paper's baseline rows below 100 dimensions
PAPER_RADII_LARGE = (2.5, 3.7)  # the same, from 100 dimensions on


class StartLaw(enum.Enum):
    """The protocol by which minimisers and starts are drawn.

    PAPER: what reproduces the paper's baseline rows. NEAR: at a distance in NEAR_RADII from the minimiser.
    BOX: uniform in the box.
    """

    PAPER = "paper"
    NEAR = "near"
    BOX = "box"


class AbstractTask(eqx.Module):
    """One objective, traceable, with its box, its known minimum and its distribution of starts.

    `minimum` is the exact or best-known value (nan if unknown), `minimiser` a point that takes it (None if unknown).
    """

    minimum: eqx.AbstractVar[Float[Array, ""]]
    minimiser: eqx.AbstractVar[Float[Array, " d"] | None]

    @abc.abstractmethod
    def __call__(self, q: Float[Array, " d"]) -> Float[Array, ""]:
        """f_tau(q)."""

    @property
    @abc.abstractmethod
    def box(self) -> Box:
        """The search domain of this task (the same for every task of a family)."""

    @abc.abstractmethod
    def start(self, key: PRNGKeyArray) -> Float[Array, " d"]:
        """A starting point inside the box."""

    @abc.abstractmethod
    def distance(self, q: Float[Array, " d"]) -> Float[Array, ""]:
        """Distance to the nearest known minimiser, up to the task's symmetries; nan if none is known."""

    @property
    def descriptor(self) -> Float[Array, " k"]:
        """d_tau (eq. dp_assimilated_signal): what a user knows of the task before the first reading; empty if nothing.

        It never holds the minimum or where it is.
        """
        return jnp.zeros(0)


class AbstractFamily(eqx.Module):
    """A distribution over tasks; the built object is its own configuration.

    `minimum_source` says where the tasks' known minimum comes from.
    """

    name: eqx.AbstractVar[str]
    dimension: eqx.AbstractVar[int]
    minimum_source: eqx.AbstractVar[str]

    @abc.abstractmethod
    def sample(self, key: PRNGKeyArray) -> AbstractTask:
        """Draw a task; traceable, with shapes that do not depend on the key."""


def cube(dimension: int, half_width: float, dtype: jax.typing.DTypeLike) -> Box:
    """The box [-half_width, half_width]^dimension."""
    side = np.full(dimension, half_width, dtype)
    return jax.device_put(Box.around(-side, side))


def on_sphere(key: PRNGKeyArray, dimension: int, dtype: jax.typing.DTypeLike = float) -> Float[Array, " d"]:
    """A direction uniform on the unit sphere."""
    z = jax.random.normal(key, (dimension,), dtype)
    return z / jnp.linalg.norm(z)


def draw_start(
    key: PRNGKeyArray,
    law: StartLaw,
    centre: Float[Array, " d"],
    half_width: float,
    paper_radii: tuple[float, float],
) -> Float[Array, " d"]:
    """A start in [-half_width, half_width]^d: uniform (BOX), or at a drawn distance from `centre` and then clipped."""
    if law is StartLaw.BOX:
        return jax.random.uniform(key, centre.shape, centre.dtype, -half_width, half_width)
    low, high = paper_radii if law is StartLaw.PAPER else NEAR_RADII
    key_direction, key_radius = jax.random.split(key)
    radius = jax.random.uniform(key_radius, (), centre.dtype, low, high)
    start = centre + radius * on_sphere(key_direction, centre.shape[0], centre.dtype)
    return jnp.clip(start, -half_width, half_width)


def require_dimension(dimension: int, least: int = 1) -> None:
    """Raise unless `dimension` is an integer of at least `least`."""
    if not isinstance(dimension, int) or isinstance(dimension, bool) or dimension < least:
        raise ValueError(f"`dimension` must be an integer of at least {least}; got {dimension!r}.")


def require_law(law: StartLaw) -> None:
    """Raise unless `law` is a member of StartLaw."""
    if not isinstance(law, StartLaw):
        raise ValueError(f"`law` must be one of {', '.join(map(str, StartLaw))}; got {law!r}.")
