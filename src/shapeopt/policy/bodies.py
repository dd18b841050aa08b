"""Coordinates that may be those of bodies: a model of their pairs, hops in it, and the place that these propose."""

from dataclasses import replace

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, UInt32

from ..core import when
from .base import Plant
from .model_hops import Field, Hopper
from .pair_model import PairModel, body_shape

Vector = Float[Array, " d"]
Flag = Bool[Array, ""]


class Bodies(eqx.Module):
    """What is known of the bodies, and where the next escape in the model leads, if one does."""

    model: PairModel
    hopper: Hopper
    target: Vector
    found: Flag
    due: Flag  # whether the next trust in the model is to be used at once
    shape: tuple[int, int] = eqx.field(static=True)

    @staticmethod
    def blank(q: Vector) -> "Bodies | None":
        """None where so many coordinates can't be those of bodies."""
        shape = body_shape(q.size)
        if shape is None:
            return None
        no = jnp.zeros((), bool)
        return Bodies(PairModel.blank(shape, q.dtype), Hopper.blank(q.reshape(shape)), q, no, ~no, shape)

    @property
    def fresh(self) -> Flag:
        """Whether the model is trusted, for the first time or again, and no hop was made in it since."""
        return self.model.trusted & self.due

    @property
    def used(self) -> Flag:
        """Whether it has been trusted before."""
        return self.hopper.hops > 0

    def observed(self, plant: Plant) -> "Bodies":
        model = self.model.observed(plant, self.shape)
        return replace(self, model=model, due=self.due | ~model.trusted)

    def proposed(self, base: Vector, lower: Vector, upper: Vector, key: UInt32[Array, " 2"], active: Flag) -> "Bodies":
        """With the place that hops in the model lead to, where `active` and the model is trusted; else with none."""

        def hop(old: tuple[Hopper, Vector, Flag]) -> tuple[Hopper, Vector, Flag]:
            place = lambda q: q.reshape(self.shape)  # noqa: E731
            field = Field.around(self.model, place(base), place(lower), place(upper))
            hopper, lowest = old[0].hopped(field, place(base), key)
            found = jnp.isfinite(lowest.energy) & jnp.all(jnp.isfinite(lowest.x))
            return hopper, jnp.where(found, lowest.x.ravel(), base), found

        old = (self.hopper, self.target, jnp.zeros_like(self.found))
        hopper, target, found = when(active & self.model.trusted & ~self.hopper.spent, hop, old)
        return replace(self, hopper=hopper, target=target, found=found, due=self.due & ~active)
