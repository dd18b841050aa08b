"""The networks of the paper's policy: one planner and one controller for a given dimension (eqs. dp_subgoal,
dp_local_heads).

Both read the concatenated observation z of eq. dp_assimilated_signal in the units of the frozen stage, and add to what
their networks say a few gains that all coordinates share: weights of the directions that the probe teacher tries, too,
and how modes, masses and damping follow a handful of cues. Weights follow the precision of the observation.
"""

import math
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from ..core import REACH, Mode
from .dynamics import DiagonalMetric, DissipationOperator, SkewOperator, Structure
from .events.action import StageAction

HIDDEN = {2: 32, 20: 64, 100: 128, 500: 128}  # paper, tab. app:shape_training_specs
BETA_J = (
    1.0,
    0.25,
    2.0,
)  # settle, refine, escape; eq. dp_mode_scaled_alphas leaves the numbers open, these were chosen here:
BETA_R = (0.8, 1.0, 0.6)  # refine damps most
ALPHA_MARGIN = 1e-3  # keeps alpha inside the open interval (0, 1) when the sigmoid saturates; chosen here
KAPPA_MIN = 1e-6  # keeps kappa > 0 when the sigmoid underflows; chosen here
LOG_MASS_REACH = 3.0  # masses within e^-3 and e^3 of the stiffness that the readings show; chosen here
HALF_DAMPED = 1.0  # shift of the sigmoids of damping: an untrained step dissipates half of the momentum; chosen here
QUIET = -2.0  # shift of a sigmoid that should begin near zero; chosen here
OUTPUT_SCALE = 0.01  # last layers begin small, so that an untrained policy is a damped descent; chosen here
CUES = 5  # numbers in `View.cues`
PRIOR_LOGITS = ((0.0, -1.0), (0.0, 1.0), (-1.0, 0.0))  # of settle, refine, escape, from two cues; chosen here


class View(NamedTuple):
    """What both networks see at a reading.

    `cues` are 1; the share of the budget spent, from -1 to 1; and, each in [-2, 2]: f above the best, the log of the
    force, the log of how stiff the last moves were against how steep. `directions` are unit-free moves of a coordinate:
    down the force, along the momentum, and, with memory, towards the best place. None of them knows the box.

    Departs from the paper: it has z alone.
    """

    q: Float[Array, " d"]
    z: Float[Array, " z"]  # eq. dp_assimilated_signal
    cues: Float[Array, " cues"]
    directions: Float[Array, "k d"]
    log_stiffness: Float[Array, "modes d"]  # log of M / h^2 before the controller's factor, mode by mode, in units of f
    force: Float[Array, ""]  # the stage's unit of force
    strength: Float[Array, ""]  # the force at hand, rms, in that unit, at most 1


def nearest_hidden(d: int) -> int:
    """Width of the hidden layers: the paper's for the nearest of its dimensions, on a log scale."""
    return HIDDEN[min(HIDDEN, key=lambda known: abs(math.log(known / d)))]


class Control(NamedTuple):
    """What the fast controller chose for one step, in units of f: the pH structure and its share of the anchor gain."""

    structure: Structure
    kappa_loc: Float[Array, ""]  # eq. dp_goal_gain_split, a share as the planner's
    softest: Float[Array, ""]  # the least M / h^2


class PlannerGains(eqx.Module):
    """What the planner's heads share over coordinates. An untrained policy settles at first and then refines."""

    directions: Float[Array, " k"]
    logits: Float[Array, "modes cues"]
    kappa: Float[Array, " cues"]
    shaping: Float[Array, " 2"]  # of U_mem and V_bar

    @staticmethod
    def prior(directions: int, dtype: jnp.dtype) -> "PlannerGains":
        logits = jnp.zeros((len(Mode), CUES), dtype).at[: len(PRIOR_LOGITS), :2].set(jnp.asarray(PRIOR_LOGITS, dtype))
        return PlannerGains(jnp.zeros(directions, dtype), logits, jnp.zeros(CUES, dtype), jnp.zeros(2, dtype))


class ControllerGains(eqx.Module):
    """What the controller's heads share over coordinates; zero in an untrained policy."""

    log_mass: Float[Array, "modes cues"]
    damping: Float[Array, "modes cues"]

    @staticmethod
    def zero(dtype: jnp.dtype) -> "ControllerGains":
        return ControllerGains(*(jnp.zeros((len(Mode), CUES), dtype) for _ in range(2)))


class PaperPlanner(eqx.Module):
    """The slow policy pi^G (eq. dp_subgoal).

        anchor = clip(q + rho tanh(.)), q itself while refining,   alpha_J, alpha_R, kappa in (0, 1) by a sigmoid

    kappa is the share of the way to the anchor that a fully damped step goes (eq. dp_goal_gain_split).

    Departs from the paper: the form of the bounds, of which it gives the ranges alone; kappa has a unit, the
    least mass over h^2; the shared gains.
    """

    network: eqx.nn.MLP
    gains: PlannerGains
    d: int = eqx.field(static=True)
    trust_radius: float = eqx.field(static=True)  # rho, per coordinate
    event_horizon: int = eqx.field(static=True)
    plan_horizon: bool = eqx.field(static=True)  # whether b_s is chosen, between 1 and 2 event_horizon - 1

    def __call__(
        self,
        view: View,
        lower: Float[Array, " d"] | float = -REACH,
        upper: Float[Array, " d"] | float = REACH,
        mode_key: PRNGKeyArray | None = None,
    ) -> StageAction:
        """The action at q; the mode is drawn if there is a `mode_key`."""
        gains = _like(self.gains, view.z)
        heads = _apply(self.network, jnp.concatenate([view.z, view.cues]))
        move, logits, scalars = jnp.split(heads, (self.d, self.d + len(Mode)))
        move, logits = move + gains.directions @ view.directions, logits + gains.logits @ view.cues
        mode = jnp.argmax(logits) if mode_key is None else jax.random.categorical(mode_key, logits)
        alpha = _inside(scalars[:2] + HALF_DAMPED)
        stays = (mode == Mode.REFINE) & (view.strength > 0)  # without any force there is nothing to refine
        away = jnp.where(stays, 0.0, self.trust_radius) * jnp.tanh(move)
        return StageAction(
            mode=mode.astype(jnp.int32),
            anchor=jnp.clip(view.q + away, lower, upper),
            alpha_J=alpha[0],
            alpha_R=alpha[1],
            kappa=KAPPA_MIN + (1.0 - KAPPA_MIN) * jax.nn.sigmoid(scalars[2] + gains.kappa @ view.cues + QUIET),
            horizon=self._horizon(scalars[3]),
            mode_logits=logits,
        )

    def _horizon(self, raw: Float[Array, ""]):
        if not self.plan_horizon:
            return jnp.asarray(self.event_horizon, jnp.int32)  # eq. dp_next_event_time
        return 1 + jnp.round(2.0 * (self.event_horizon - 1) * jax.nn.sigmoid(raw)).astype(jnp.int32)


class PaperController(eqx.Module):
    """The fast policy pi^L (eqs. dp_local_heads, shape_fast_controller): everything that one step's structure needs.

        M = h^2 k exp(3 tanh(. / 3)),   diag(D) = sigmoid(.) M / h,   B = tanh(.) (M / (h d r))^(1/2),
        U, V likewise,   |u_shp| <= u_max c,   K_d, kappa_loc by a sigmoid

    k is the mode's stiffness. A step dissipates at most twice the momentum, whatever the weights. While refining, u_shp
    is bounded by the force at hand, too, and vanishes with it.

    Departs from the paper: u_shp and a scalar K_d are the heads (eq. shape_fast_controller) and the port input follows
    from them, where eq. dp_local_heads has the port input itself; the form of the bounds; masses are relative
    to the stiffness that the readings show, where the paper's networks see f as it is; the shared gains.
    """

    network: eqx.nn.MLP
    gains: ControllerGains
    d: int = eqx.field(static=True)
    rank: int = eqx.field(static=True)
    u_max: float = eqx.field(static=True)
    h: float = eqx.field(static=True)
    sees_place: bool = eqx.field(static=True, default=True)  # else the anchor is told as a move from q

    def __call__(self, view: View, action: StageAction) -> Control:
        d, r, gains, weights = self.d, self.rank, _like(self.gains, view.z), action.mode_weights
        chosen = jnp.stack([action.alpha_J, action.alpha_R, action.kappa])
        anchor = action.anchor if self.sees_place else action.anchor - view.q
        heads = _apply(self.network, jnp.concatenate([view.z, view.cues, anchor, weights, chosen]))
        cuts = (d, 2 * d, 3 * d, (3 + r) * d, (3 + 2 * r) * d, (3 + 3 * r) * d)
        log_mass, push, damping, *factors, scalars = jnp.split(heads, cuts)
        factor = LOG_MASS_REACH * jnp.tanh((log_mass + weights @ gains.log_mass @ view.cues) / LOG_MASS_REACH)
        stiffness = jnp.exp(weights @ view.log_stiffness + factor)
        drag = self.h * stiffness  # M / h: with it, a step dissipates all momentum
        size = jnp.sqrt(drag / (d * max(r, 1)))[:, None]
        U, V, B = (jnp.tanh(factor).reshape(d, r) * size for factor in factors)
        diagonal = drag * jax.nn.sigmoid(damping + weights @ gains.damping @ view.cues + HALF_DAMPED)
        port, kappa_loc = jax.nn.sigmoid(scalars + 2.0 * QUIET)
        alpha_J, alpha_R = mode_gains(action)
        push = self.u_max * view.force * jnp.where(action.mode == Mode.REFINE, view.strength, 1.0) * jnp.tanh(push)
        structure = Structure(
            metric=DiagonalMetric(1.0 / (self.h**2 * stiffness)),
            skew=SkewOperator(U, V),  # eq. dp_skew_operator
            dissipation=DissipationOperator(B, diagonal),  # eq. dp_psd_operator
            zeta=jnp.zeros_like(alpha_R),
            alpha_J=alpha_J,
            alpha_R=alpha_R,
            u_shp=push,
            K_d=port * jnp.min(drag),
        )
        return Control(structure, kappa_loc, jnp.min(stiffness))


def mode_gains(action: StageAction) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """(alpha_J beta_J(mu), alpha_R beta_R(mu)), eq. dp_mode_scaled_alphas."""
    weights = action.mode_weights
    beta_J, beta_R = jnp.asarray((BETA_J, BETA_R), weights.dtype) @ weights
    return action.alpha_J * beta_J, action.alpha_R * beta_R


def plain_control(view: View, action: StageAction, h: float) -> Control:
    """One mass for all coordinates and plain damping, no transport and no port: the no-controller ablation's step."""
    alpha_J, alpha_R = mode_gains(action)
    drag = h * jnp.exp(view.log_stiffness[Mode.ESCAPE])
    zero = jnp.zeros_like(alpha_R)
    d, dtype = drag.size, drag.dtype
    damping = DissipationOperator(jnp.zeros((d, 0), dtype), drag)
    skew = SkewOperator.zero(d, dtype)
    structure = Structure(DiagonalMetric(1.0 / (h * drag)), skew, damping, zero, alpha_J, alpha_R, None, None)
    return Control(structure, zero, drag[0] / h)


def anchor_gain(control: Control, action: StageAction) -> Float[Array, ""]:
    """kappa + kappa_loc in units of f (eq. dp_goal_gain_split): a fully damped step goes no farther than the anchor.

    Departs from the paper: the two shares join as chances do, so that their sum stays one.
    """
    share = action.kappa + (1.0 - action.kappa) * control.kappa_loc
    return share * control.softest


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


def _inside(raw: Float[Array, " n"]) -> Float[Array, " n"]:
    """In the open interval (0, 1), even where the sigmoid saturates."""
    return ALPHA_MARGIN + (1.0 - 2.0 * ALPHA_MARGIN) * jax.nn.sigmoid(raw)


def _like(gains: Any, x: Float[Array, " n"]) -> Any:
    return jax.tree.map(lambda leaf: leaf.astype(x.dtype), gains)


def _apply(network: eqx.nn.MLP, x: Float[Array, " n"]) -> Float[Array, " m"]:
    """The network's output, in the precision of its input. Written as x W^T, so that a batch stays in rows."""
    *hidden, last = network.layers
    for layer in hidden:
        x = network.activation(_affine(layer, x))
    return _affine(last, x)


def _affine(layer: eqx.nn.Linear, x: Float[Array, " n"]) -> Float[Array, " m"]:
    weight, bias = _like((layer.weight, layer.bias), x)
    return jnp.tensordot(x, weight, axes=(0, 1)) + bias
