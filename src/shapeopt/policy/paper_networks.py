"""The networks of the paper's policy: one planner and one controller for a given dimension (eqs. dp_subgoal,
dp_local_heads).

Both read the concatenated observation z of eq. dp_assimilated_signal in the units of the frozen stage, so kappa, u_shp,
D and K_d come out in those units too. Weights follow the precision of the observation.
"""

import math
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from ..core import REACH, Mode
from ..dynamics import DiagonalMetric, DissipationOperator, SkewOperator, Structure
from ..events.action import StageAction

HIDDEN = {2: 32, 20: 64, 100: 128, 500: 128}  # paper, tab. app:shape_training_specs
BETA_J = (1.0, 0.25, 2.0)  # settle, refine, escape; eq. dp_mode_scaled_alphas leaves the numbers open, these are ours:
BETA_R = (0.5, 2.0, 0.25)  # settle glides under light damping, refine damps, escape transports
ALPHA_MARGIN = 1e-3  # keeps alpha inside the open interval (0, 1) when the sigmoid saturates; ours
KAPPA_MIN = 1e-3  # keeps kappa > 0 when the softplus underflows; ours
LOG_MASS_REACH = 1.0  # masses in [1/e, e]; ours, with h = 0.05 it keeps the explicit damping below its stability limit
QUIET = -3.0  # shift of a softplus that should begin near zero; ours
OUTPUT_SCALE = 0.1  # last layers begin small, so that an untrained policy is a damped descent; ours


def nearest_hidden(d: int) -> int:
    """Width of the hidden layers: the paper's for the nearest of its dimensions, on a log scale."""
    return HIDDEN[min(HIDDEN, key=lambda known: abs(math.log(known / d)))]


class Control(NamedTuple):
    """What the fast controller chose for one step: the pH structure and its share of the anchor gain."""

    structure: Structure
    kappa_loc: Float[Array, ""]  # eq. dp_goal_gain_split


class PaperPlanner(eqx.Module):
    """The slow policy pi^G (eq. dp_subgoal).

        anchor = clip(q + rho tanh(.)),  alpha_J, alpha_R in (0, 1) by a sigmoid,  kappa > 0 by a softplus

    Departs from the paper: the form of the bounds is ours, the paper gives only their ranges.
    """

    network: eqx.nn.MLP
    d: int = eqx.field(static=True)
    trust_radius: float = eqx.field(static=True)  # rho, per coordinate
    event_horizon: int = eqx.field(static=True)
    plan_horizon: bool = eqx.field(static=True)  # whether b_s is chosen, between 1 and 2 event_horizon - 1

    def __call__(
        self,
        observation: Float[Array, " z"],
        lower: Float[Array, " d"] | float = -REACH,
        upper: Float[Array, " d"] | float = REACH,
        mode_key: PRNGKeyArray | None = None,
    ) -> StageAction:
        """The action at the q that the observation begins with; the mode is drawn if there is a `mode_key`."""
        move, logits, gains = jnp.split(_apply(self.network, observation), (self.d, self.d + len(Mode)))
        mode = jnp.argmax(logits) if mode_key is None else jax.random.categorical(mode_key, logits)
        alpha = ALPHA_MARGIN + (1.0 - 2.0 * ALPHA_MARGIN) * jax.nn.sigmoid(gains[:2])
        return StageAction(
            mode=mode.astype(jnp.int32),
            anchor=jnp.clip(observation[: self.d] + self.trust_radius * jnp.tanh(move), lower, upper),
            alpha_J=alpha[0],
            alpha_R=alpha[1],
            kappa=KAPPA_MIN + jax.nn.softplus(gains[2]),
            horizon=self._horizon(gains[3]),
            mode_logits=logits,
        )

    def _horizon(self, raw: Float[Array, ""]):
        if not self.plan_horizon:
            return jnp.asarray(self.event_horizon, jnp.int32)  # eq. dp_next_event_time
        return 1 + jnp.round(2.0 * (self.event_horizon - 1) * jax.nn.sigmoid(raw)).astype(jnp.int32)


class PaperController(eqx.Module):
    """The fast policy pi^L (eqs. dp_local_heads, shape_fast_controller): everything that one step's structure needs.

        M = diag(exp(tanh(.))),  d_D, K_d, kappa_loc >= 0 by a softplus,  |u_shp| <= u_max,  U, V, B = tanh(.)/sqrt(d)

    Departs from the paper: u_shp and a scalar K_d are the heads (eq. shape_fast_controller) and the port input follows
    from them, where eq. dp_local_heads has the port input itself; the form of the bounds is ours.
    """

    network: eqx.nn.MLP
    d: int = eqx.field(static=True)
    rank: int = eqx.field(static=True)
    u_max: float = eqx.field(static=True)

    def __call__(self, observation: Float[Array, " z"], action: StageAction) -> Control:
        d, r = self.d, self.rank
        gains = jnp.stack([action.alpha_J, action.alpha_R, action.kappa])
        heads = _apply(self.network, jnp.concatenate([observation, action.anchor, action.mode_weights, gains]))
        log_mass, push, damping, factors, scalars = jnp.split(heads, (d, 2 * d, 3 * d, 3 * d + 3 * d * r))
        U, V, B = jnp.tanh(factors).reshape(3, d, r) / math.sqrt(d)
        K_d, kappa_loc = jax.nn.softplus(scalars + QUIET)
        alpha_J, alpha_R = mode_gains(action)
        structure = Structure(
            metric=DiagonalMetric.from_log(LOG_MASS_REACH * jnp.tanh(log_mass)),
            skew=SkewOperator(U, V),  # eq. dp_skew_operator
            dissipation=DissipationOperator.from_raw(B, damping),  # eq. dp_psd_operator
            zeta=jnp.zeros_like(alpha_R),
            alpha_J=alpha_J,
            alpha_R=alpha_R,
            u_shp=self.u_max * jnp.tanh(push),
            K_d=K_d,
        )
        return Control(structure, kappa_loc)


def mode_gains(action: StageAction) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """(alpha_J beta_J(mu), alpha_R beta_R(mu)), eq. dp_mode_scaled_alphas."""
    weights = action.mode_weights
    beta_J, beta_R = jnp.asarray((BETA_J, BETA_R), weights.dtype) @ weights
    return action.alpha_J * beta_J, action.alpha_R * beta_R


def plain_control(action: StageAction) -> Control:
    """Unit mass, plain damping, no transport and no port: what the no-controller ablation steps with."""
    alpha_J, alpha_R = mode_gains(action)
    one, zero = jnp.ones_like(action.anchor), jnp.zeros_like(alpha_R)
    d, dtype = one.size, one.dtype
    damping = DissipationOperator(jnp.zeros((d, 0), dtype), one)
    skew = SkewOperator.zero(d, dtype)
    structure = Structure(DiagonalMetric(one), skew, damping, zero, alpha_J, alpha_R, jnp.zeros_like(one), zero)
    return Control(structure, zero)


def check_integer(name: str, value: Any, least: int) -> None:
    """ValueError, with the argument's name, unless `value` is an integer of at least `least`."""
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise ValueError(f"`{name}` must be an integer of at least {least}; got {value!r}.")


def float_type_of(dtype: str | None) -> jnp.dtype:
    """The dtype of that name, which must be usable here; JAX's current float for None."""
    if dtype is None:
        return jnp.result_type(float)
    if dtype not in ("float32", "float64"):
        raise ValueError(f"`dtype` must be 'float32' or 'float64'; got {dtype!r}.")
    if dtype == "float64" and not jax.config.read("jax_enable_x64"):
        raise ValueError("`dtype` 'float64' needs jax.enable_x64(True).")
    return jnp.dtype(dtype)


def make_network(inputs: int, outputs: int, hidden: int, dtype: jnp.dtype, key: PRNGKeyArray) -> eqx.nn.MLP:
    """Two hidden tanh layers; the last layer begins small."""
    network = eqx.nn.MLP(inputs, outputs, hidden, depth=2, activation=jnp.tanh, dtype=dtype, key=key)
    small = jax.tree.map(lambda leaf: OUTPUT_SCALE * leaf, network.layers[-1])
    return eqx.tree_at(lambda mlp: mlp.layers[-1], network, small)


def norm(v: Float[Array, " d"]) -> Float[Array, ""]:
    """Euclidean norm with a finite derivative (zero) at zero."""
    square = jnp.sum(v * v)
    return jnp.where(square > 0, jnp.sqrt(jnp.where(square > 0, square, 1.0)), 0.0)


def _apply(network: eqx.nn.MLP, x: Float[Array, " n"]) -> Float[Array, " m"]:
    """The network's output, in the precision of its input."""
    return jax.tree.map(lambda leaf: leaf.astype(x.dtype) if eqx.is_inexact_array(leaf) else leaf, network)(x)
