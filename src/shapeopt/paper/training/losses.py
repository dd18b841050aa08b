"""The losses of the three phases (eqs. main_training_objective, dp_training_objective, dp_local_pretrain_loss,
dp_planner_supervised_loss); none of them knows where a minimum is, or how low.

A run may be cut into windows. Terminal and best value then enter by how much the window changed them, so that the
losses of all windows add up to the loss of the run, whatever the cuts.
"""

import math
from dataclasses import dataclass, fields, replace
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..networks import norm
from .record import Before, Record

Scalar = Float[Array, ""]
PORT_SHARE = 0.25  # weight of the port's size beside the operators' (eq. dp_jr_reg_loss)
SETTLING = 0.25  # share of a run, its last, over which it should come to rest; chosen here
STILL = 1e-12  # changes of f below this, in units of the first value, are rest; chosen here


@dataclass(frozen=True)
class LossWeights:
    """The weights of eq. main_training_objective; defaults are those of tab. shape_loss_weights.

    Departs from the paper: `level` and `settle`, which are 0 in what is trained as written.
    """

    term: float = 1.0
    best: float = 0.5
    prog: float = 0.10
    ce: float = 0.40
    sg: float = 0.25
    ctrl: float = 1e-3
    jr: float = 5e-4
    port: float = 5e-4
    level: float = 0.0  # not in the paper
    settle: float = 0.0  # not in the paper

    def __post_init__(self) -> None:
        for field in fields(self):
            if not getattr(self, field.name) >= 0:
                raise ValueError(f"`{field.name}` must not be negative; got {getattr(self, field.name)}.")


PAPER_WEIGHTS = LossWeights()
OUTCOME_WEIGHTS = LossWeights(term=0.25, best=1.0, prog=0.0, ce=0.0, sg=0.0, ctrl=0.0, jr=0.0, port=0.0)
# chosen here: what a user gets is the best value; the end counts a little, so that a run does not forget what it found
LEVEL_WEIGHTS = LossWeights(term=0.0, best=0.0, prog=0.0, ce=0.0, sg=0.0, ctrl=0.0, jr=0.0, port=0.0, level=1.0)
SETTLED_WEIGHTS = replace(OUTCOME_WEIGHTS, term=1.0, settle=0.02)
# chosen here: the end counts as much as the best; a power of ten of rest is worth .02 of the first value
# where first values differ by many powers of ten, as among atoms that overlap, a run that stays high counts for nothing
# in units of its first value; by its level it does


class Terms(NamedTuple):
    """The terms of the rollout loss before they are weighted; `ce` and `sg` are the planner's two."""

    term: Scalar
    best: Scalar
    prog: Scalar
    ce: Scalar
    sg: Scalar
    ctrl: Scalar
    jr: Scalar
    port: Scalar
    level: Scalar
    settle: Scalar

    def weighted(self, weights: LossWeights) -> Scalar:
        """L_roll of eq. main_training_objective."""
        return sum((getattr(weights, name) * term for name, term in self._asdict().items()), jnp.zeros_like(self.term))


def rollout_terms(record: Record, before: Before, readings: int) -> tuple[Terms, Before]:
    """All terms on a window of runs of `readings` readings, and what the next window must know.

        term = f(q_T) / (|f(q_0)| + 1),   best = min_n f(q_n) / (|f(q_0)| + 1),   prog = mean_n |q_n - anchor|,
        ctrl = mean |u|^2,   jr = mean (|Omega v| + |D v| + |u| / 4),   port = mean max(y . u, 0)^2,
        level = asinh(min_n f(q_n)),   settle = mean over the last quarter of log10 |f(q_n) - f(q_n-1)| / (|f(q_0)| + 1)

    (eqs. dp_terminal_loss, dp_best_loss, dp_progress_loss, dp_control_loss, dp_jr_reg_loss, dp_port_power_penalty.)

    Departs from the paper: its table speaks of distances, its equations of values; values it is. Omega, D and the port
    are in the stage's units and carry their gains alpha, so that f -> a f does not change what they cost. The planner's
    terms are means over the window's events, times the window's share of the run.
    """
    after = _after(record, before)
    unit = 1.0 / (jnp.abs(after.first) + 1.0)
    place = before.readings + jnp.arange(len(record.value), dtype=jnp.int32)[:, None]
    average = lambda rows, counted: jnp.sum(jnp.mean(jnp.where(counted, rows, 0.0), axis=1)) / (readings - 1)  # noqa: E731
    reached, leads_on = place > 0, place < readings - 1  # a run of T + 1 readings has T steps
    channels, share = record.channels, len(record.value) / readings
    ce, sg = planner_terms(record)
    terms = Terms(
        term=jnp.mean((after.last - before.last) * unit),  # before a run, last and best are 0
        best=jnp.mean((after.best - before.best) * unit),
        prog=average(jax.vmap(jax.vmap(norm))(record.q - record.goal), reached),
        ce=share * ce,
        sg=share * sg,
        ctrl=average(channels.port**2, leads_on),
        jr=average(channels.skew + channels.drag + PORT_SHARE * channels.port, leads_on),
        port=average(jnp.maximum(channels.power, 0.0) ** 2, leads_on),
        level=jnp.mean(jnp.arcsinh(after.best) - jnp.arcsinh(before.best)),
        settle=_unrest(record, before, after, readings),
    )
    return terms, after


def _unrest(record: Record, before: Before, after: Before, readings: int) -> Scalar:
    """The window's share of `settle`. A policy cannot come to rest by standing still: its masses are multiples of the
    stiffness that the readings show, so that steps become short only where curvature, or a kink, makes them."""
    value, late = tame(record.value), math.ceil((1.0 - SETTLING) * readings)
    earlier = jnp.concatenate([before.last[None], value[:-1]])
    place = before.readings + jnp.arange(len(value), dtype=jnp.int32)[:, None]
    change = jnp.abs(value - earlier) / (jnp.abs(after.first) + 1.0)
    return jnp.sum(jnp.mean(jnp.where(place >= late, jnp.log10(change + STILL), 0.0), axis=1)) / (readings - late)


def planner_terms(record: Record) -> tuple[Scalar, Scalar]:
    """Cross-entropy of the mode and Huber distance of the anchor, means over events (eq. dp_planner_supervised_loss).

    Departs from the paper: the Huber distance is a mean over coordinates, with its bend at 1; the paper names neither.
    """
    surprise = -jnp.take_along_axis(jax.nn.log_softmax(record.logits), record.label.mode[..., None], axis=-1)[..., 0]
    miss = jnp.abs(record.anchor - record.label.anchor)
    huber = jnp.mean(jnp.where(miss < 1.0, 0.5 * miss**2, miss - 0.5), axis=-1)
    return _over_events(surprise, record), _over_events(huber, record)


def planner_loss(record: Record, weights: LossWeights) -> Scalar:
    """L_plan^sup of eq. dp_planner_supervised_loss, the loss of phase II."""
    ce, sg = planner_terms(record)
    return weights.ce * ce + weights.sg * sg


def controller_loss(record: Record, weights: LossWeights) -> Scalar:
    """L_loc^pre, the loss of phase I (eq. dp_local_pretrain_loss).

    Departs from the paper: a mean over events and coordinates instead of a sum, so that one learning rate serves every
    batch and dimension; in the stage's units.
    """
    return _over_events(record.lesson.miss + weights.jr * record.lesson.operators, record)


def tame(value: Float[Array, "n batch"]) -> Float[Array, "n batch"]:
    """The values, with the highest finite one of its run in place of one that is not finite (0 if none is)."""
    finite = jnp.isfinite(value)
    highest = jnp.max(jnp.where(finite, value, -jnp.inf), axis=0)
    return jnp.where(finite, value, jax.lax.stop_gradient(jnp.where(jnp.isfinite(highest), highest, 0.0)))


def _after(record: Record, before: Before) -> Before:
    """What is known once the window is over."""
    value, opening = tame(record.value), before.readings == 0
    lowest = jnp.min(value, axis=0)
    return Before(
        before.readings + len(value),
        jnp.where(opening, value[0], before.first),
        value[-1],
        jnp.where(opening, lowest, jnp.minimum(before.best, lowest)),
    )


def _over_events(rows: Float[Array, "n batch"], record: Record) -> Scalar:
    """Mean over the events of the window; 0 if there is none."""
    total = jnp.sum(jnp.where(record.event, rows, 0.0))
    return total / jnp.maximum(jnp.sum(record.event), 1).astype(rows.dtype)
