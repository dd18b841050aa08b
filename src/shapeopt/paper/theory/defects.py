"""Frozen stages stepped by the library's own step: what its defects leave of the contraction (eqs.
dp_discrete_stage_energy_ineq, dp_discrete_contraction, dp_stochastic_discrete_ineq).

    V_{n+1} <= (1 - c h) V_n + C_1 h^2 + C_2 h beta + delta_n,   beta = |u|^2

c and C_2 = C are those of the continuous theorem, c less its second order: e^(-c h) <= 1 - c (1 - c h / 2) h. C_1 is
not known: it is 1.5 times the largest |V(step) - V(exact flow)| / h^2 over half of the starts, and the bounds are
checked on the other half. delta_n is measured: V after the clips less V without them. With noise of covariance Xi on
the force, the kick adds h^2 tr(W Xi), W = M^-1 / 2, times at most 1 + 2 epsilon h + L h^2 / m_low. All trajectories
begin well inside a ball around the equilibrium in which the Hessian was seen to be positive.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..dynamics import AbstractMetric, DissipationOperator, SemiImplicitStep, SkewOperator, Structure
from .frozen import FrozenStage, chosen, curvatures
from .lyapunov import Constants, RateCheck, runge_kutta

Scalar = Float[Array, ""]
Vector = Float[Array, " d"]

HALVINGS = 4  # time steps tried, each half of the last
STARTS = 8  # of each stage and time step; the first half estimates C_1, the second checks
STEPS, LONG = 300, 1500  # of a trajectory, and of one with noise
CHAINS = 24  # trajectories with noise for each point
RESOLVED = 0.5  # largest time step in units of the quickest motion's time, but not above the policy's own
MARGIN = 1.5  # of C_1 over what was seen
INSIDE = 0.3  # largest distance of a start from the equilibrium, as a share of the convex ball's radius
RADII = 0.5 ** np.arange(2, 14)  # of balls that are tried, per root coordinate
CONVEX = 0.1  # least curvature in the ball, as a share of the least at the equilibrium
LEVELS = (0.0, 0.25, 0.5, 0.75, 1.0)  # of the port's input and of how far a bound cuts the equilibrium off
NOISES = (1.0, 2.0, 4.0)  # variances, in units of the first
QUIET = 2e-3  # expected floor of the first noise, as a share of V at the start
STIFFEST = 100.0  # of the quickest motion's rate over the decay's; stages beyond it would need too many steps
ERRORS = 3.0  # standard errors that a mean may lie above a bound


class DenseMetric(AbstractMetric):
    """A metric known by its inverse as a matrix."""

    inverse: Float[Array, "d d"]

    def solve(self, v: Vector) -> Vector:
        return self.inverse @ v


class Parts(NamedTuple):
    """What V is made of at a state, and what tells strong convexity."""

    gap: Scalar
    kinetic: Scalar
    cross: Scalar
    square: Scalar
    pull: Scalar
    momentum: Scalar  # |p|^2
    slope: Scalar  # |grad U|^2

    def V(self, epsilon: float) -> Any:
        return self.gap + self.kinetic + epsilon * self.cross


class March(NamedTuple):
    """A trajectory of the discrete step: each state, the state after it without clips, and after the exact flow."""

    at: Parts
    free: Parts
    exact: Parts


@dataclass(frozen=True)
class Sweep:
    """Floors against a quantity: measured, and as bounded; one row a stage."""

    x: np.ndarray
    floor: np.ndarray
    bound: np.ndarray

    @property
    def holds(self) -> bool:
        return bool(np.all(self.floor <= self.bound * (1.0 + 1e-9) + 1e-300))


@dataclass(frozen=True)
class DefectCheck:
    """All sweeps of some stages of a cell."""

    constants: list[Constants]
    C_1: np.ndarray  # of each stage
    h: np.ndarray  # (stages, halvings)
    defect: np.ndarray  # largest one-step defect at those
    order: float  # slope of log defect against log h
    one_step: float  # largest excess over the one-step bound on the checking starts, as a share of V(0)
    whole: float  # the same over the bound of whole trajectories
    port: Sweep
    clip: Sweep
    noise: Sweep
    noise_slopes: np.ndarray
    own_h_resolved: float  # share of stages whose quickest motion the policy's own time step resolves
    steps: Parts  # of the checking starts; (stages, starts, halvings, steps)

    @property
    def holds(self) -> bool:
        return max(self.one_step, self.whole) <= 1e-9 and self.port.holds and self.clip.holds

    @property
    def noise_holds(self) -> bool:
        return self.noise.holds and bool(np.all(np.abs(self.noise_slopes - 1.0) < 0.25))


def resolvable(stages: FrozenStage, checks: list[RateCheck], most: int) -> list[RateCheck]:
    """The first few stages that few enough steps carry to rest."""
    return [check for check in checks if _quickest(stages, check) <= STIFFEST * check.fitted][:most]


def check_defects(stages: FrozenStage, checks: list[RateCheck], own_h: float, seed: int) -> DefectCheck | None:
    """`stages` are all those that `checks` count in; those where U is not strongly convex in a ball around the
    equilibrium or along the marches are left out. None if none remains."""
    rng = np.random.default_rng(seed)
    count, d = len(checks), stages.q.shape[1]
    quick, everything = np.array([_quickest(stages, check) for check in checks]), stages
    stages = chosen(stages, [check.index for check in checks])
    h = np.minimum(own_h, RESOLVED / quick)[:, None] * 0.5 ** np.arange(HALVINGS)
    radius = INSIDE * convex_radius(stages, rng)
    if not radius.all():
        return _check_some(everything, checks, radius > 0, own_h, seed)
    e = rng.normal(size=(count, STARTS, d))
    e *= (radius[:, None] * rng.uniform(0.5, 1.0, (count, STARTS)) / np.linalg.norm(e, axis=-1))[..., None]
    still, far = np.zeros((count, d)), np.full((count, d), np.inf)

    plain = _to_numpy(_plain_marches(stages, e, h, still, far))  # (stages, starts, halvings, steps)
    push = np.asarray(stages.u) if np.any(stages.u) else rng.normal(size=(count, d))
    size = np.array([check.constants.mu for check in checks]) * radius
    push = push * (size / np.maximum(np.linalg.norm(push, axis=1), 1e-300))[:, None]
    levels = np.array(LEVELS)
    cut = np.full((count, len(LEVELS), d), np.inf)
    cut[..., 0] = stages.q_star[:, :1] - levels * radius[:, None]
    away = -np.abs(e) - np.eye(d)[0] * radius[:, None, None]
    pushed, walled = [], []
    for start in (0, STARTS - 1):  # one of those that estimate, one of those that check
        pushes = levels[:, None] * push[:, None]
        pushed.append(_to_numpy(_pushed_marches(stages, e[:, start], h[:, 1], pushes, far)))
        walled.append(_to_numpy(_walled_marches(stages, away[:, start], h[:, 1], still, cut)))

    least = np.empty(count)
    for i in range(count):
        everywhere = [jax.tree.map(lambda leaf: leaf[i], one.at) for one in (plain, *pushed, *walled)]  # noqa: B023
        least[i] = min(map(_convexity, everywhere))
    if not (least > 0).all():
        return _check_some(everything, checks, least > 0, own_h, seed)
    constants = [Constants.of(check.constants.bounds, float(mu)) for check, mu in zip(checks, least, strict=True)]
    C_1 = _estimate(plain, (pushed[0], walled[0]), constants, h)
    defects, one_step, whole = _plain_check(plain, constants, C_1, h)
    beta = levels**2 * np.sum(push**2, axis=1)[:, None]
    return DefectCheck(
        constants=constants,
        C_1=C_1,
        h=h,
        defect=defects,
        order=float(np.mean([np.polyfit(np.log(a), np.log(b), 1)[0] for a, b in zip(h, defects, strict=True)])),
        one_step=one_step,
        whole=whole,
        port=_floors(pushed[1], constants, C_1, h[:, 1], beta, beta),
        clip=_floors(walled[1], constants, C_1, h[:, 1], np.zeros_like(beta), levels * radius[:, None]),
        noise=(noise := _noise_sweep(stages, checks, constants, C_1, h, radius, seed))[0],
        noise_slopes=noise[1],
        own_h_resolved=float(np.mean(own_h <= 2.0 / quick)),
        steps=jax.tree.map(lambda leaf: leaf[:, STARTS // 2 :], plain.at),
    )


def _check_some(
    stages: FrozenStage, checks: list[RateCheck], fit: np.ndarray, own_h: float, seed: int
) -> DefectCheck | None:
    """The check of the stages that are fit for it."""
    rest = [check for check, one in zip(checks, fit, strict=True) if one]
    return check_defects(stages, rest, own_h, seed) if rest else None


def convex_radius(stages: FrozenStage, rng: np.random.Generator) -> np.ndarray:
    """Radii of balls around the equilibria in which the Hessian of U, where it was sampled, is positive; 0 for none."""
    count, d = stages.q.shape
    directions = rng.normal(size=(count, len(RADII), 12, d))
    directions /= np.linalg.norm(directions, axis=-1, keepdims=True)
    points = stages.q_star[:, None, None] + (RADII * d**0.5)[:, None, None] * directions
    lowest = np.asarray(curvatures(stages, points.reshape(count, -1, d)))[..., 0].reshape(count, len(RADII), -1).min(2)
    centre = np.asarray(curvatures(stages, stages.q_star[:, None]))[:, 0, :1]
    inner = np.minimum.accumulate(lowest[:, ::-1], axis=1)[:, ::-1]  # over all balls within
    convex = inner >= CONVEX * centre
    return np.where(convex.any(axis=1), RADII[np.argmax(convex, axis=1)], 0.0) * d**0.5


def _estimate(plain: March, others: tuple[March, ...], constants: list[Constants], h: np.ndarray) -> np.ndarray:
    """C_1 of each stage, from the starts that estimate."""
    estimates = []
    for i, constant in enumerate(constants):
        seen = np.max(_defects(plain, constant, i)[: STARTS // 2] / h[i] ** 2)
        beside = [np.max(_defects(march, constant, i)) / h[i, 1] ** 2 for march in others]
        estimates.append(MARGIN * max(seen, *beside))
    return np.array(estimates)


def _defects(march: March, constant: Constants, i: int) -> np.ndarray:
    """Largest |V(step) - V(exact flow)| along each trajectory of a stage."""
    return np.max(np.abs(march.free.V(constant.epsilon)[i] - march.exact.V(constant.epsilon)[i]), axis=-1)


def _plain_check(
    plain: March, constants: list[Constants], C_1: np.ndarray, h: np.ndarray
) -> tuple[np.ndarray, float, float]:
    """(largest defects by time step, largest excess over the one-step bound, and over that of whole trajectories)."""
    defects, excesses, wholes = [], [], []
    for i, constant in enumerate(constants):
        defects.append(np.max(_defects(plain, constant, i), axis=0))
        V, step = plain.at.V(constant.epsilon)[i, STARTS // 2 :], h[i][:, None]
        rate = _rate(constant, step)
        allowed = (1.0 - rate * step) * V[..., :-1] + C_1[i] * step**2
        bound = (1.0 - rate * step) ** np.arange(V.shape[-1]) * V[..., :1] + C_1[i] * step / rate
        excesses.append(np.max((V[..., 1:] - allowed) / V[..., :1]))
        wholes.append(np.max((V - bound) / V[..., :1]))
    return np.array(defects), float(max(excesses)), float(max(wholes))


def _floors(
    march: March, constants: list[Constants], C_1: np.ndarray, h: np.ndarray, beta: np.ndarray, x: np.ndarray
) -> Sweep:
    """Where V ends, against eq. dp_discrete_contraction with the clips' measured defects; (stages, levels)."""
    floors, bounds = [], []
    for i, constant in enumerate(constants):
        V, free = march.at.V(constant.epsilon)[i], march.free.V(constant.epsilon)[i]  # (levels, steps)
        rate = _rate(constant, h[i])
        clips = np.maximum(V[:, 1:] - free[:, :-1], 0.0)
        fade = (1.0 - rate * h[i]) ** np.arange(clips.shape[1])[::-1]
        forgotten = (1.0 - rate * h[i]) ** clips.shape[1] * V[:, 0]
        floors.append(np.maximum(V[:, -1], 0.0))
        bounds.append(forgotten + C_1[i] * h[i] / rate + constant.C / rate * beta[i] + clips @ fade)
    return Sweep(x, np.array(floors), np.array(bounds))


def _noise_sweep(
    stages: FrozenStage,
    checks: list[RateCheck],
    constants: list[Constants],
    C_1: np.ndarray,
    h: np.ndarray,
    radius: np.ndarray,
    seed: int,
) -> tuple[Sweep, np.ndarray]:
    """Floors of E[V] against h tr(W Xi), for noise along each eigenvector of M in turn, and their logarithmic slopes.

    The last points of the long trajectories, over all chains, make a mean and its standard error."""
    xs, floors, bounds, slopes = [], [], [], []
    for i, (check, constant) in enumerate(zip(checks, constants, strict=True)):
        stage = jax.tree.map(lambda leaf: np.asarray(leaf)[i], stages)  # noqa: B023
        W = 0.5 * np.asarray(stage.M_inv)
        _, directions = np.linalg.eigh(W)
        V0 = 0.5 * constant.mu * radius[i] ** 2
        for direction in (directions[:, 0], directions[:, -1]):
            weight = direction @ W @ direction  # tr(W Xi) of unit variance
            variance = QUIET * V0 * check.fitted / (h[i, 0] * weight)
            sigmas = np.sqrt(variance * np.array(NOISES))
            marched = _to_numpy(_noisy_marches(stage, h[i], sigmas[:, None] * direction, jax.random.key(seed + i)))
            V = marched.V(constant.epsilon)  # (noises, halvings, chains, steps)
            means = np.mean(V, axis=-1)
            floor, error = np.mean(means, axis=-1), np.std(means, axis=-1) / CHAINS**0.5
            x = variance * weight * np.array(NOISES)[:, None] * h[i]
            rate = _rate(constant, h[i])
            kick = 1.0 + 2.0 * constant.epsilon * h[i] + check.L * h[i] ** 2 / constant.bounds.m_low
            xs.append(x.ravel())
            floors.append((floor - ERRORS * error).ravel())
            bounds.append(((kick * x + C_1[i] * h[i]) / rate).ravel())
            slopes.append(np.polyfit(np.log(x.ravel()), np.log(floor.ravel()), 1)[0])
    return Sweep(np.array(xs), np.array(floors), np.array(bounds)), np.array(slopes)


def _rate(constant: Constants, h: Any) -> Any:
    return constant.c * (1.0 - 0.5 * constant.c * h)


def _quickest(stages: FrozenStage, check: RateCheck) -> float:
    """Rate of the quickest motion of a stage."""
    M_inv, D = np.asarray(stages.M_inv[check.index]), np.asarray(stages.D[check.index])
    drag = np.linalg.norm(M_inv @ D, 2) + np.linalg.norm(M_inv, 2) * check.constants.bounds.omega
    return max(float(drag), float((check.L * np.linalg.norm(M_inv, 2)) ** 0.5))


def _convexity(at: Parts) -> float:
    far = at.square > 1e-12 * np.max(at.square)
    return float(np.min((2.0 * np.minimum(at.gap, at.pull - at.gap) / np.where(far, at.square, 1.0))[far]))


def _to_numpy(tree: Any) -> Any:
    return jax.tree.map(np.asarray, tree)


def _parts(stage: FrozenStage, q: Vector, p: Vector) -> Parts:
    e, v = q - stage.q_star, stage.M_inv @ p
    g = jax.grad(stage.U)(q)
    gap = stage.U(q) - stage.U(stage.q_star)
    return Parts(gap, 0.5 * jnp.dot(p, v), jnp.dot(e, p), jnp.dot(e, e), jnp.dot(e, g), jnp.dot(p, p), jnp.dot(g, g))


def _stepper(stage: FrozenStage, h: Scalar, u: Vector, upper: Vector) -> Any:
    """One step of the library with the stage's operators: (q, p, noise of the force) -> its result."""
    step = eqx.tree_at(lambda s: s.h, SemiImplicitStep(), h)
    eigenvalues, Q = jnp.linalg.eigh(stage.D)
    zero, one = jnp.zeros_like(h), jnp.ones_like(h)
    skew = SkewOperator(0.5 * stage.Omega, jnp.eye(stage.q.size))
    drag = DissipationOperator(Q * jnp.sqrt(jnp.maximum(eigenvalues, 0.0)), None)
    structure = Structure(DenseMetric(stage.M_inv), skew, drag, zero, one, one, u, None)
    f = lambda q: stage.task(stage.task.box.outward(q))  # noqa: E731
    lower = jnp.full_like(upper, -jnp.inf)

    def go(q: Vector, p: Vector, xi: Vector | float) -> Any:
        return step(q, p, jax.grad(f)(q) + xi, stage.potential, structure, lower, upper, jnp.inf)

    return go


def _march(stage: FrozenStage, e: Vector, h: Scalar, u: Vector, upper: Vector) -> March:
    step = _stepper(stage, h, u, upper)

    def body(z: tuple[Vector, Vector], _: None) -> tuple[tuple[Vector, Vector], March]:
        result = step(*z, 0.0)
        flown = jax.lax.fori_loop(0, 8, lambda _, held: runge_kutta(stage, held, u, h / 8.0), z)
        free = z[0] + h * (stage.M_inv @ result.p_free), result.p_free
        return (result.q, result.p), March(_parts(stage, *z), _parts(stage, *free), _parts(stage, *flown))

    start = jnp.minimum(stage.q_star + e, upper), jnp.zeros_like(e)
    return jax.lax.scan(body, start, length=STEPS)[1]


def _noisy_march(stage: FrozenStage, h: Scalar, noise: Vector, key: Any) -> Parts:
    step = _stepper(stage, h, jnp.zeros_like(noise), jnp.full_like(noise, jnp.inf))

    def body(z: tuple[Vector, Vector], amount: Scalar) -> tuple[tuple[Vector, Vector], Parts]:
        result = step(*z, amount * noise)
        return (result.q, result.p), _parts(stage, *z)

    draws = jax.random.normal(key, (LONG,), h.dtype)
    parts = jax.lax.scan(body, (stage.q_star, jnp.zeros_like(noise)), draws)[1]
    return jax.tree.map(lambda leaf: leaf[LONG // 2 :], parts)


# Over stages, then starts and time steps; over stages, then levels of the input; over stages, then places of the bound.
_plain_marches = jax.jit(
    jax.vmap(jax.vmap(jax.vmap(_march, in_axes=(None, None, 0, None, None)), in_axes=(None, 0, None, None, None)))
)
_pushed_marches = jax.jit(jax.vmap(jax.vmap(_march, in_axes=(None, None, None, 0, None))))
_walled_marches = jax.jit(jax.vmap(jax.vmap(_march, in_axes=(None, None, None, None, 0))))


@jax.jit
def _noisy_marches(stage: FrozenStage, h: Float[Array, " k"], noises: Float[Array, "n d"], key: Any) -> Parts:
    chains = jax.vmap(_noisy_march, in_axes=(None, None, None, 0))
    over_h = jax.vmap(chains, in_axes=(None, 0, None, None))
    return jax.vmap(over_h, in_axes=(None, None, 0, None))(stage, h, noises, jax.random.split(key, CHAINS))
