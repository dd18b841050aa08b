"""What `universal` remembers between readings, and what its heads see of it."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, UInt32

from ..paper.memory import Archive
from .axes import Axes
from .base import Plant
from .bodies import Bodies
from .drift import Drift
from .heads import Advice, per_rms, rms
from .line import Line
from .moves import Credit, Recent
from .sampling import Sampler
from .sweep import Sweep

Scalar = Float[Array, ""]


class UniversalState(eqx.Module):
    """What the policy remembers between readings."""

    line: Line
    drift: Drift
    sweep: Sweep
    axes: Axes | None  # in which f is taken for a sum; None where they are the coordinates' own for good
    sampler: Sampler | None  # None where it is never used
    bodies: Bodies | None  # None where coordinates can't be those of bodies
    tried: Float[Array, " d"]  # place of the test for a sum
    tried_g: Float[Array, " d"]
    coupling: Scalar  # how far f is from a sum over coordinates: see `coupling_of`; UNKNOWN before the test
    base: Float[Array, " d"]  # bottom of the best basin
    base_f: Scalar
    base_g: Float[Array, " d"]
    spread: Scalar  # typical difference of value between basins
    same: Bool[Array, ""]  # whether the last accepted step looked like the base's own basin
    credit: Credit
    recent: Recent
    kind: Int[Array, ""]
    archive: Archive
    rippled: Bool[Array, ""]  # whether a small basin was met
    left_f: Scalar  # base_f when a basin was last left
    hope: Scalar  # by how much basins that were refined fell farther than they promised; 0 before the first
    widening: Scalar  # log of what the radii of moves are multiplied by
    sigma: Scalar  # standard deviation of a force's noise, by coordinate; negative while it is not known
    escapes: Int[Array, ""]
    reach: Scalar  # half-width of the box in which coordinates without bounds are searched
    readings: Scalar  # of a run
    advice: Advice
    key: UInt32[Array, " words"]  # raw, since typed keys slow every call from Python


def noise_share(state: UniversalState) -> Scalar:
    """Noise as a share of the force at the base, at most 1; 0 while it is not known."""
    share = state.sigma / jnp.maximum(rms(state.base_g), jnp.finfo(state.sigma.dtype).tiny)
    return jnp.where(jnp.isfinite(state.base_f), jnp.clip(share, 0.0, 1.0), 0.0)


def way_in(state: UniversalState) -> Scalar:
    """Root mean square way into the basin so far."""
    return rms(state.line.q - state.line.origin)


def run_features(state: UniversalState, plant: Plant, credit: Credit) -> Float[Array, " features"]:
    """How the run stands, for the planner: ratios and shares only."""
    dtype, line = plant.q.dtype, state.line
    trials = jnp.sum(credit.trials)
    spread = jnp.where(state.spread > 0, state.spread, 1.0)
    gap = jnp.where(jnp.isfinite(state.base_f) & jnp.isfinite(line.f), (line.f - state.base_f) / spread, 0.0)
    features = (
        2.0 * plant.spent - 1.0,
        jnp.log1p(trials) / 3.0 - 1.0,
        jnp.log(jnp.asarray(plant.q.size, dtype)) / 3.0 - 1.0,
        jnp.sum(credit.successes) / (1.0 + trials),
        jnp.tanh(gap),
        jnp.tanh(line.age.astype(dtype) / 10.0),
        noise_share(state),
        state.archive.count.astype(dtype) / state.archive.values.size,
        jnp.mean((jnp.isfinite(plant.lower) & jnp.isfinite(plant.upper)).astype(dtype)),
        state.same.astype(dtype),
        jnp.log(state.readings) / 3.0 - 2.0,
        jnp.where(state.coupling < 0, 0.0, 1.0 - 2.0 * jnp.minimum(state.coupling, 1.0)),  # 1 for a sum
        jnp.tanh(jnp.log(jnp.maximum(way_in(state), 1e-3))),
    )
    return jnp.stack(features)


def coordinate_features(state: UniversalState, plant: Plant, settling: Bool[Array, ""]) -> Float[Array, "d features"]:
    """How a coordinate stands, for the controller: ratios, and nothing that says where in the box it lies."""
    dtype = plant.q.dtype
    wide = lambda x: jnp.broadcast_to(jnp.asarray(x, dtype), plant.q.shape)  # noqa: E731
    columns = (
        per_rms(plant.g),
        per_rms(plant.p),
        per_rms(state.line.move),
        per_rms(plant.q - state.base),
        per_rms(plant.g) * per_rms(plant.p),
        wide(2.0 * plant.spent - 1.0),
        wide(jnp.log(jnp.asarray(plant.q.size, dtype)) / 3.0 - 1.0),
        wide(settling.astype(dtype)),
        wide(noise_share(state)),
    )
    return jnp.stack(columns, axis=-1)
