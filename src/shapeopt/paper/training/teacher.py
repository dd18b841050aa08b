"""The probe teacher: labels for the planner from a few values around the plant (eqs. dp_probe_candidates,
dp_probe_score, dp_teacher_anchor, dp_probe_labels).

It sees what the policy could see (the reading, the momentum, the memory) and K_probe values more, which it counts. It
never sees a task's minimum.
"""

from collections.abc import Callable
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from ...core import REACH, Mode
from ..base import Plant
from ..draws import hashed_normal
from ..networks import norm

Vector = Float[Array, " d"]
Scalar = Float[Array, ""]

# The paper names the ingredients of the score and gives no number; these were chosen here.
RADII = (0.25, 1.0, 2.5)  # a step within a basin, to its rim, and across a few of them
NOVELTY_WEIGHT = 0.25  # lambda_nov: a new region is worth a quarter of a slope followed for unit length
RISK_WEIGHT = 0.5  # lambda_risk
CLEAR = 0.1  # score from which an improvement is clear
NOVEL = 0.1  # gain of novelty from which the anchor counts as new ground
WORST = -10.0  # predicted improvement is no lower than this, so that a cliff is bad and no more
TRIES = 8  # random directions among which the most novel one is taken; costs no call


class Label(NamedTuple):
    """What the teacher would have planned, how sure it is, and what asking it cost."""

    anchor: Vector
    mode: Int[Array, ""]
    score: Scalar
    calls: Int[Array, ""]

    @staticmethod
    def none(q: Vector) -> "Label":
        """No word of the teacher; `q` lends its size and dtype."""
        whole = jnp.zeros((), jnp.int32)
        return Label(jnp.zeros_like(q), whole, jnp.zeros((), q.dtype), whole)


class Probes(NamedTuple):
    """The candidates and their parts of the score."""

    points: Float[Array, "K d"]
    improvement: Float[Array, " K"]
    novelty: Float[Array, " K"]
    risk: Float[Array, " K"]


class ProbeTeacher(eqx.Module):
    """Score = improvement + lambda_nov novelty - lambda_risk risk over radii x directions (eq. dp_probe_score).

        improvement(c) = (f(q) - f(c)) / (c_s sqrt(d)),   novelty(c) = N(c) - N(q),   risk(c) = |c - q|^2 / REACH^2

    c_s is the stage's unit of force, so that 1 is the typical slope followed for unit length. The anchor is the best
    candidate; refine if its score is clear, else escape if the stage stalled or the anchor is new ground, else settle.

    Departs from the paper: the numbers, the units and the form of risk are new; novelty is relative to the place that
    is left, which changes no ranking; a memory-novel direction is added; candidates are clipped to the box.
    """

    radii: tuple[float, ...] = eqx.field(static=True, default=RADII)
    orthogonal: int = eqx.field(static=True, default=2)
    novelty_weight: float = eqx.field(static=True, default=NOVELTY_WEIGHT)
    risk_weight: float = eqx.field(static=True, default=RISK_WEIGHT)

    def __check_init__(self):
        if not self.radii or min(self.radii) <= 0:
            raise ValueError(f"`radii` must be positive, at least one; got {self.radii}.")
        if self.orthogonal < 0:
            raise ValueError(f"`orthogonal` must not be negative; got {self.orthogonal}.")
        for name, weight in (("novelty_weight", self.novelty_weight), ("risk_weight", self.risk_weight)):
            if not weight >= 0:
                raise ValueError(f"`{name}` must not be negative; got {weight}.")

    def calls(self, d: int) -> int:
        """K_probe in d dimensions: the value reads of one event."""
        return len(self.radii) * (3 + min(self.orthogonal, d - 1))

    def __call__(
        self,
        plant: Plant,
        unit: Scalar,
        stalled: Bool[Array, ""],
        value: Callable[[Vector], Scalar],
        novelty: Callable[[Vector], Scalar],
        key: PRNGKeyArray,
        number: Int[Array, ""],
    ) -> Label:
        """The label at an event, from draw `number` of the key; `value` is read at each candidate, `unit` is the unit
        of force of the stage."""
        plant = jax.lax.stop_gradient(plant)
        probes = self.probe(plant, unit, value, novelty, key, number)
        scores = probes.improvement + self.novelty_weight * probes.novelty - self.risk_weight * probes.risk
        best = jnp.argmax(scores)  # eq. dp_teacher_anchor
        mode = mode_label(scores[best], stalled, probes.novelty[best])
        calls = jnp.asarray(self.calls(plant.q.size), jnp.int32)
        return jax.lax.stop_gradient(Label(probes.points[best], mode, scores[best], calls))

    def probe(
        self,
        plant: Plant,
        unit: Scalar,
        value: Callable[[Vector], Scalar],
        novelty: Callable[[Vector], Scalar],
        key: PRNGKeyArray,
        number: Int[Array, ""],
    ) -> Probes:
        """The candidates (eq. dp_probe_candidates) and what their score is made of."""
        q = plant.q
        directions = self.directions(plant, novelty, key, number)
        radii = jnp.asarray(self.radii, q.dtype)
        points = q + (radii[:, None, None] * directions).reshape(-1, q.size)
        points = jnp.clip(points, plant.lower, plant.upper)
        improvement = (plant.f - jax.vmap(value)(points).astype(q.dtype)) / (unit * q.size**0.5)
        improvement = jnp.where(jnp.isfinite(improvement), jnp.clip(improvement, WORST, -WORST), WORST)
        novel = jax.vmap(novelty)(jnp.concatenate([q[None], points]))
        return Probes(points, improvement, novel[1:] - novel[0], jnp.sum((points - q) ** 2, axis=-1) / REACH**2)

    def directions(
        self, plant: Plant, novelty: Callable[[Vector], Scalar], key: PRNGKeyArray, number: Int[Array, ""]
    ) -> Float[Array, "n d"]:
        """Descent, momentum, novel, orthogonal ones: unit vectors, zero where there is no gradient or momentum."""
        q, count = plant.q, min(self.orthogonal, plant.q.size - 1)
        drawn = hashed_normal(key, number, (TRIES + count, q.size), q.dtype)
        tries, across = jax.vmap(unit_vector)(drawn[:TRIES]), drawn[TRIES:]
        ahead = jax.vmap(lambda v: novelty(jnp.clip(q + self.radii[-1] * v, plant.lower, plant.upper)))(tries)
        named = [unit_vector(-plant.g), unit_vector(plant.p), tries[jnp.argmax(ahead)]]
        basis = named[:1]
        for v in across:  # Gram-Schmidt, twice: once is not orthogonal to round-off
            for _ in range(2):
                v = v - sum((jnp.dot(v, other) * other for other in basis), jnp.zeros_like(v))
            basis = [*basis, unit_vector(v)]
        return jnp.stack([*named, *basis[1:]])


PROBE_TEACHER = ProbeTeacher()


def mode_label(score: Scalar, stalled: Bool[Array, ""], gain: Scalar) -> Int[Array, ""]:
    """mu of eq. dp_probe_labels; `gain` is the anchor's novelty less that of the place that is left."""
    small = jnp.where(stalled | (gain > NOVEL), int(Mode.ESCAPE), int(Mode.SETTLE))
    return jnp.where(score > CLEAR, int(Mode.REFINE), small).astype(jnp.int32)


def unit_vector(v: Vector) -> Vector:
    """v / |v|, zero for zero."""
    scaled = v / jnp.where(jnp.any(v != 0), jnp.max(jnp.abs(v)), 1.0)  # squares of a cliff's slope would overflow
    size = norm(scaled)
    return scaled / jnp.where(size > 0, size, 1.0)
