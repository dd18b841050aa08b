"""What a basin was worth when `universal` leaves it."""

from dataclasses import replace

import jax.numpy as jnp
from jaxtyping import Array, Int

from ..core import Cause
from .heads import rms
from .moves import next_widening
from .route import ROUND_OFF, is_noisy, is_ripple
from .universal_state import UniversalState

SAME_VALUE = 1e-6  # difference of two bottoms, as a share of the spread, that says nothing of the spread
HOPE = 4.0  # a basin is hopeless if even this multiple, or that of basins so far, of its promise would not do
MOST_HOPE = 1e4  # largest such multiple
BASIN_RADIUS = 0.05  # distance per sqrt(d) below which two bottoms are one
WORTH = 0.3  # gain, as a share of the spread, that counts as one where there is noise


def take_stock(state: UniversalState, cause: Int[Array, ""]) -> UniversalState:
    """Credit of the move that led there, spread, hope, radii, and the base if the basin is lower."""
    line, noisy = state.line, is_noisy(state)
    unseen = ROUND_OFF * jnp.finfo(line.f.dtype).eps * jnp.abs(line.f)
    ratio = jnp.clip(line.ratio, HOPE, MOST_HOPE)
    hope = jnp.where(state.hope > 0, jnp.sqrt(state.hope * ratio), ratio)
    lowers = line.f + unseen < state.base_f
    fall = state.left_f - jnp.minimum(line.f, state.base_f)  # noise lets the base move before the basin is left
    better, there = fall > unseen, (state.escapes > 0) & ~noisy & (rms(line.q - state.base) < BASIN_RADIUS)
    fell_back = there | (cause == Cause.REVISIT)
    elsewhere = ~fell_back & jnp.isfinite(line.f)
    recent = state.recent.with_basin(line.f, elsewhere)
    pays = jnp.where(noisy, better & (fall > WORTH * state.spread), elsewhere & recent.has_low(line.f - unseen))
    gain = jnp.where(better, fall, jnp.where(state.escapes > 0, jnp.abs(line.f - state.base_f), jnp.inf))
    gain = jnp.where(jnp.isfinite(gain) & (gain > unseen + SAME_VALUE * state.spread), gain, state.spread)
    base, base_f = jnp.where(lowers, line.q, state.base), jnp.where(lowers, line.f, state.base_f)
    return replace(
        state,
        base=base,
        base_f=base_f,
        base_g=jnp.where(lowers, line.g, state.base_g),
        spread=jnp.where(state.spread > 0, state.spread**0.8 * gain**0.2, gain),  # geometric, so outliers fade
        credit=state.credit.paid(state.kind, pays, jnp.ones((), bool)),
        recent=recent,
        rippled=state.rippled | is_ripple(state, elsewhere),
        left_f=base_f,
        hope=jnp.where(cause == Cause.CONVERGED, hope, state.hope),
        widening=next_widening(state.widening, state.kind, fell_back, better | noisy),
        reach=jnp.maximum(state.reach, 1.5 * jnp.max(jnp.abs(base))),
    )
