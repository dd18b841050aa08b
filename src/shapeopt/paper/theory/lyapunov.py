"""The modified Lyapunov function of frozen stages, and its rate (eqs. dp_modified_lyapunov,
dp_modified_lyapunov_dissipation).

    V = U(q) - U(q*) + 1/2 p . M^-1 p + epsilon (q - q*) . p,   dV/dt <= -c V + C beta

The paper proves that constants exist. These are explicit, from the same proof: with e = q - q*, v = M^-1 p and

    U - U* >= mu/2 |e|^2,   e . grad U >= U - U* + mu/2 |e|^2   (strong convexity)

the cross term obeys d(e . p)/dt <= -(U - U*) + A |v|^2 + |u|^2 / mu with A = m_high + (omega + d_high)^2 / mu, so that

    epsilon = min(d_low / (4 A), 1/2 sqrt(mu / m_high)),   c = min(2 epsilon / 3, d_low / (3 m_high)),
    C = 1 / (2 d_low) + epsilon / mu,   1/2 (U - U*) + 1/2 K <= V <= 3/2 (U - U* + K)

mu is not known: it is the largest number for which both inequalities above hold at every point of the trajectory.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .frozen import Bounds, FrozenStage, bounds_of, chosen, curvatures, stage_of

Scalar = Float[Array, ""]
Vector = Float[Array, " d"]
State = tuple[Vector, Vector]

POINTS, SUBSTEPS = 400, 8  # points of a trajectory that are kept, and Runge-Kutta steps between two of them
STIFF = 0.2  # length of a Runge-Kutta step, in units of the quickest motion's time
SHARES = tuple(0.5**k for k in range(10))  # of the way from the equilibrium to the stage's start, tried in turn
CONVEX = 0.02  # least mu, as a share of the least curvature at the equilibrium, that passes as strong convexity
FLOOR = 1e-10  # share of V(0) below which round-off decides
ROUND_OFF = 1e-9  # excess over a bound, as a share of V(0), that passes as round-off


class Path(NamedTuple):
    """What V is made of along a trajectory, and the rates of change along it."""

    time: Any
    gap: Any  # U - U*
    kinetic: Any
    cross: Any  # e . p
    square: Any  # |e|^2
    pull: Any  # e . grad U
    energy_rate: Any
    cross_rate: Any
    q: Any

    def V(self, epsilon: float) -> Any:
        return self.gap + self.kinetic + epsilon * self.cross  # eq. dp_modified_lyapunov

    def V_rate(self, epsilon: float) -> Any:
        return self.energy_rate + epsilon * self.cross_rate


@dataclass(frozen=True)
class Constants:
    """What the theorem needs and gives for one stage."""

    bounds: Bounds
    mu: float
    epsilon: float
    c: float
    C: float

    @staticmethod
    def of(bounds: Bounds, mu: float) -> "Constants":
        A = bounds.m_high + (bounds.omega + bounds.d_high) ** 2 / mu
        epsilon = min(bounds.d_low / (4.0 * A), 0.5 * (mu / bounds.m_high) ** 0.5)
        c = min(2.0 * epsilon / 3.0, bounds.d_low / (3.0 * bounds.m_high))
        return Constants(bounds, mu, epsilon, c, 1.0 / (2.0 * bounds.d_low) + epsilon / mu)


@dataclass(frozen=True)
class RateCheck:
    """One stage: its constants, how it decays without the port, and how far the bounds are kept with and without."""

    index: int
    share: float  # of the way from the equilibrium to the stage's start at which the trajectory began
    constants: Constants
    L: float
    beta: float
    fitted: float
    time: np.ndarray
    V: np.ndarray
    excess: float  # largest of (dV/dt + c V - C beta) / (c V(0)) over both trajectories; not positive if it holds

    @property
    def holds(self) -> bool:
        return self.excess <= ROUND_OFF and self.fitted >= self.constants.c


def check_rates(stages: FrozenStage) -> tuple[list[RateCheck], list[int], list[int]]:
    """The stages that (A1) and (A2) are true of, checked; those near no strongly convex minimum; those that (A2) is not
    true of."""
    count = len(stages.q)
    bounds = [bounds_of(stage_of(stages, i)) for i in range(count)]
    lawful = [i for i in range(count) if bounds[i].d_low > 0 and bounds[i].m_low > 0 and np.isfinite(bounds[i].omega)]
    broken = [i for i in range(count) if i not in lawful]
    curved = np.asarray(curvatures(stages, stages.q_star[:, None]))[:, 0]
    inside = np.all(np.abs(stages.q_star) < 5.0, axis=1)
    local = [i for i in lawful if curved[i, 0] > 1e-6 * curved[i, -1] and inside[i]]
    flat = [i for i in lawful if i not in local]
    if not local:
        return [], flat, broken
    kept = chosen(stages, local)
    free, ported = (
        jax.tree.map(np.asarray, trajectories(kept, jnp.asarray(SHARES), curved[local, -1], port))
        for port in (0.0, 1.0)
    )
    checks = []
    for k, i in enumerate(local):
        one = lambda path: [jax.tree.map(lambda leaf: leaf[k, j], path) for j in range(len(SHARES))]  # noqa: E731, B023
        check = _check(i, stage_of(kept, k), bounds[i], curved[i], one(free), one(ported))
        if check is None:
            flat.append(i)
        else:
            checks.append(check)
    return checks, flat, broken


def _check(
    index: int, stage: FrozenStage, bounds: Bounds, curved: np.ndarray, free: list[Path], ported: list[Path]
) -> RateCheck | None:
    """The largest share of the way at which the trajectories stay where U is strongly convex; None if there is none."""
    for share, *paths in zip(SHARES, free, ported, strict=True):
        mu = min(strong_convexity(path) for path in paths)
        if mu < CONVEX * curved[0]:
            continue
        constants, beta = Constants.of(bounds, mu), float(np.sum(np.asarray(stage.u) ** 2))
        start = paths[0].V(constants.epsilon)[0]
        excesses = [
            np.max(path.V_rate(constants.epsilon) + constants.c * path.V(constants.epsilon) - constants.C * b)
            for path, b in zip(paths, (0.0, beta), strict=True)
        ]
        excess = float(max(excesses) / (constants.c * start)) if start > 0 else 0.0
        L = float(np.max(curvatures(chosen(_stacked(stage), [0]), paths[0].q[None, ::40])))
        V = paths[0].V(constants.epsilon)
        return RateCheck(index, share, constants, L, beta, fitted_rate(paths[0].time, V), paths[0].time, V, excess)
    return None


def strong_convexity(path: Path) -> float:
    """The largest mu for which both inequalities of strong convexity hold along a trajectory."""
    far = path.square > 1e-14 * max(path.square[0], 1e-300)
    if not far.any():
        return 0.0
    sides = np.minimum(path.gap, path.pull - path.gap)[far]
    return float(np.min(2.0 * sides / path.square[far]))


def fitted_rate(time: np.ndarray, V: np.ndarray) -> float:
    """Minus the slope of log V against time, by least squares, where round-off does not decide."""
    low = np.flatnonzero(FLOOR * V[0] >= V)
    last = low[0] if low.size else len(V)
    if last < 3:
        return np.inf
    return float(-np.polyfit(time[:last], np.log(V[:last]), 1)[0])


def _stacked(stage: FrozenStage) -> FrozenStage:
    return jax.tree.map(lambda leaf: np.asarray(leaf)[None], stage)


@jax.jit
def trajectories(
    stages: FrozenStage, shares: Float[Array, " k"], steepest: Float[Array, " n"], port: Scalar | float
) -> Path:
    """Trajectories of eq. dp_frozen_stage_dynamics from shares of the way; (stages, shares, points)."""
    one = jax.vmap(_trajectory, in_axes=(None, 0, None, None))
    return jax.vmap(one, in_axes=(0, None, 0, None))(stages, shares, steepest, port)


def _trajectory(stage: FrozenStage, share: Scalar, steepest: Scalar, port: Scalar | float) -> Path:
    u, U_star = port * stage.u, stage.U(stage.q_star)
    quick = jnp.linalg.norm(stage.M_inv @ stage.D) + jnp.linalg.norm(stage.M_inv @ stage.Omega)
    quick = jnp.maximum(quick, jnp.sqrt(steepest * jnp.linalg.norm(stage.M_inv)))
    dt = STIFF / quick

    def look(z: State, i: Scalar) -> Path:
        (q, p), e = z, z[0] - stage.q_star
        (v, p_rate), g = stage.rate(q, p, u), jax.grad(stage.U)(q)
        return Path(
            time=i * SUBSTEPS * dt,
            gap=stage.U(q) - U_star,
            kinetic=0.5 * jnp.dot(p, v),
            cross=jnp.dot(e, p),
            square=jnp.dot(e, e),
            pull=jnp.dot(e, g),
            energy_rate=jnp.dot(g, v) + jnp.dot(v, p_rate),
            cross_rate=jnp.dot(v, p) + jnp.dot(e, p_rate),
            q=q,
        )

    def body(z: State, i: Scalar) -> tuple[State, Path]:
        return jax.lax.fori_loop(0, SUBSTEPS, lambda _, held: runge_kutta(stage, held, u, dt), z), look(z, i)

    start = stage.q_star + share * (stage.q - stage.q_star), share * stage.p
    return jax.lax.scan(body, start, jnp.arange(POINTS, dtype=stage.q.dtype))[1]


def runge_kutta(stage: FrozenStage, z: State, u: Vector, dt: Scalar) -> State:
    """A step of fourth order along eq. dp_frozen_stage_dynamics."""
    shifted = lambda k, t: (z[0] + t * k[0], z[1] + t * k[1])  # noqa: E731
    k1 = stage.rate(*z, u)
    k2 = stage.rate(*shifted(k1, 0.5 * dt), u)
    k3 = stage.rate(*shifted(k2, 0.5 * dt), u)
    k4 = stage.rate(*shifted(k3, dt), u)
    q, p = (a + dt / 6.0 * (b + 2.0 * (c + d) + e) for a, b, c, d, e in zip(z, k1, k2, k3, k4, strict=True))
    return q, p
