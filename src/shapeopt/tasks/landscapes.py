"""One family class for every landscape that draws its own parameters: shifted, optionally rotated, with its starts."""

import abc
from typing import ClassVar, Self

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from ..core import REACH
from .base import require_dimension
from .shifted import AbstractLandscape, AbstractShiftedFamily, ShiftedTask, frame

ROOM = 100  # points of the box that a landscape may put something at


class AbstractDrawnLandscape(AbstractLandscape):
    """A landscape with least value 0 at x = 0 that knows its name, its dimensions and how its parameters are drawn.

    `least` and `multiple` say which dimensions it takes; `rotatable` is False where x = 0 is the only minimiser just
    as long as |x_i| <= 9, which a shift inside the box promises and a rotation does not.
    """

    name: eqx.AbstractClassVar[str]
    least: ClassVar[int] = 1
    multiple: ClassVar[int] = 1
    rotatable: ClassVar[bool] = True

    @classmethod
    @abc.abstractmethod
    def draw(cls, key: PRNGKeyArray, elsewhere: Float[Array, "room d"]) -> Self:
        """A landscape; `elsewhere` are points uniform in the task's box, in the landscape's coordinates."""


class AbstractPlainLandscape(AbstractDrawnLandscape):
    """A landscape without parameters."""

    @classmethod
    def draw(cls, key: PRNGKeyArray, elsewhere: Float[Array, "room d"]) -> Self:
        return cls()


class LandscapeFamily(AbstractShiftedFamily):
    """Shifted, optionally rotated landscapes of one kind.

    Departs from the paper: not in it.
    """

    kind: type[AbstractDrawnLandscape] = eqx.field(static=True, kw_only=True)

    def __check_init__(self) -> None:
        require_dimension(self.dimension, self.kind.least)
        if self.dimension % self.kind.multiple:
            raise ValueError(f"`dimension` must be a multiple of {self.kind.multiple}; got {self.dimension}.")
        if self.rotated and not self.kind.rotatable:
            raise ValueError(f"`rotated` is not an option of the family {self.name!r}; got True.")

    @property
    def name(self) -> str:
        return self.kind.name

    def sample(self, key: PRNGKeyArray) -> ShiftedTask:
        key_frame, key_points, key_landscape = jax.random.split(key, 3)
        s, R = frame(key_frame, self.dimension, self.law, self.rotated)
        points = jax.random.uniform(key_points, (ROOM, self.dimension), minval=-REACH, maxval=REACH) - s
        landscape = self.kind.draw(key_landscape, points if R is None else points @ R.T)
        return ShiftedTask(
            landscape=landscape, minimiser=s, R=R, minimisers=s[None, :], minimum=jnp.zeros((), s.dtype), law=self.law
        )


def length(x: Float[Array, "*batch d"]) -> Float[Array, "*batch"]:
    """Euclidean norm over the last axis, with gradient 0 at 0."""
    square = jnp.sum(x**2, axis=-1)
    return jnp.where(square > 0, jnp.sqrt(jnp.where(square > 0, square, 1.0)), 0.0)


def power(u: Float[Array, "*batch"], exponent: float | Float[Array, ""]) -> Float[Array, "*batch"]:
    """u^exponent of u >= 0, with gradient 0 at 0."""
    return jnp.where(u > 0, jnp.where(u > 0, u, 1.0) ** exponent, 0.0)
