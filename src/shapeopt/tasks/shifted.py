"""Analytic landscapes moved and turned inside [-5, 5]^d (eq. ackley_levy_rastrigin_task).

A landscape is a function of x with its least value at x = 0; a task reads it at x = R(q - s). Formulas are arranged so
that the value at q = s is exactly 0 and small gaps keep their digits, save where a published value is kept.
"""

import abc
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from ..core import REACH, Box
from .base import (
    PAPER_RADII,
    PAPER_RADII_LARGE,
    AbstractFamily,
    AbstractTask,
    StartLaw,
    cube,
    draw_start,
    require_dimension,
    require_law,
)

BOX_SHIFT = 4.0  # s ~ U(-4, 4)^d under BOX
NEAR_SHIFT = 1.0  # s ~ U(-1, 1)^d under PAPER and NEAR
ZERO_BY_CONSTRUCTION = "exact: every term of the formula is non-negative and vanishes at the shift"


class AbstractLandscape(eqx.Module):
    """A function that takes its least value, 0 unless said otherwise, at x = 0."""

    @abc.abstractmethod
    def __call__(self, x: Float[Array, " d"]) -> Float[Array, ""]:
        """Value at x."""


class ShiftedTask(AbstractTask):
    """f_tau(q) = f(R(q - s)) on [-5, 5]^d (eq. ackley_levy_rastrigin_task).

    `minimiser` is s; `minimisers` lists the known global minimisers in q, s first. `R` is None where there is no
    rotation, so that large separable tasks stay O(d).

    Departs from the paper: nothing.
    """

    landscape: AbstractLandscape
    minimiser: Float[Array, " d"]
    R: Float[Array, "d d"] | None
    minimisers: Float[Array, "k d"]
    minimum: Float[Array, ""]
    law: StartLaw = eqx.field(static=True)

    def __call__(self, q: Float[Array, " d"]) -> Float[Array, ""]:
        x = q - self.s if self.R is None else self.R @ (q - self.s)
        return self.landscape(x)  # eq. ackley_levy_rastrigin_task

    @property
    def s(self) -> Float[Array, " d"]:
        return self.minimiser

    @property
    def box(self) -> Box:
        return cube(self.s.shape[-1], REACH, self.s.dtype)

    def start(self, key: PRNGKeyArray) -> Float[Array, " d"]:
        paper_radii = PAPER_RADII if self.s.shape[0] < 100 else PAPER_RADII_LARGE
        return draw_start(key, self.law, self.s, REACH, paper_radii)

    def distance(self, q: Float[Array, " d"]) -> Float[Array, ""]:
        return jnp.min(jnp.linalg.norm(q - self.minimisers, axis=-1))


class AbstractShiftedFamily(AbstractFamily):
    """A family of `ShiftedTask`s; `least` is its smallest dimension."""

    dimension: int = eqx.field(static=True)
    law: StartLaw = eqx.field(static=True, default=StartLaw.BOX)
    rotated: bool = eqx.field(static=True, default=False)
    least: ClassVar[int] = 1

    def __check_init__(self) -> None:
        require_dimension(self.dimension, self.least)
        require_law(self.law)

    @property
    def minimum_source(self) -> str:
        return ZERO_BY_CONSTRUCTION


def frame(
    key: PRNGKeyArray, dimension: int, law: StartLaw, rotated: bool
) -> tuple[Float[Array, " d"], Float[Array, "d d"] | None]:
    """A shift s and, where wanted, a rotation R."""
    key_shift, key_rotation = jax.random.split(key)
    reach = BOX_SHIFT if law is StartLaw.BOX else NEAR_SHIFT
    s = jax.random.uniform(key_shift, (dimension,), minval=-reach, maxval=reach)
    return s, jax.random.orthogonal(key_rotation, dimension) if rotated else None


def place(
    key: PRNGKeyArray,
    landscape: AbstractLandscape,
    dimension: int,
    law: StartLaw,
    rotated: bool,
    twin: Float[Array, " d"] | None = None,
) -> ShiftedTask:
    """Shift and turn `landscape`; `twin` is its second global minimiser in x, if it has one."""
    s, R = frame(key, dimension, law, rotated)
    minimisers = s[None, :]
    if twin is not None:
        moved = twin if R is None else twin @ R  # R^T twin
        minimisers = jnp.stack([s, s + moved])
    return ShiftedTask(
        landscape=landscape, minimiser=s, R=R, minimisers=minimisers, minimum=jnp.zeros((), s.dtype), law=law
    )


def multiplier(key: PRNGKeyArray, varied: bool, low: float, high: float) -> Float[Array, ""]:
    """A per-task factor U(low, high), or 1 where tasks are not varied."""
    return jax.random.uniform(key, (), minval=low, maxval=high) if varied else jnp.ones(())
