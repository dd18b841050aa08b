"""Frozen stages of real runs (eqs. dp_stage_potential, dp_frozen_stage_dynamics): a step's operators and potential,
held fixed, with the equilibrium of that potential.

All that damps is one matrix here, D = alpha_R D + K_d + (zeta / h) M, and the port's input is u_shp alone; in the paper
the damping injection belongs to the input. That makes the bound (A3) smaller and changes no statement.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..dynamics import ShapedPotential
from .watch import Runs, Snapshot

Scalar = Float[Array, ""]
Vector = Float[Array, " d"]
Matrix = Float[Array, "d d"]

DESCENT, POLISH = 400, 25  # steps of descent and of Newton's method that lead to an equilibrium
LONGEST = 0.05  # longest move of the descent, per root coordinate: it stays in its basin
FINE = 1e-5  # moves below it change a value of U by about its round-off
ROUND_OFF = 1e-9  # asymmetry and negative eigenvalues that pass as round-off, as a share of the matrix


class FrozenStage(NamedTuple):
    """A stage with everything held fixed; `q`, `p` is where it began, `q_star` the equilibrium that it began near."""

    task: Any
    potential: ShapedPotential
    q: Vector
    p: Vector
    M: Matrix
    M_inv: Matrix
    Omega: Matrix
    D: Matrix
    u: Vector
    q_star: Vector

    def U(self, q: Vector) -> Scalar:
        """f + U_shp (eq. dp_stage_potential)."""
        return self.task(self.task.box.outward(q)) + self.potential.value(q)

    def rate(self, q: Vector, p: Vector, u: Vector) -> tuple[Vector, Vector]:
        """(dq/dt, dp/dt) of eq. dp_frozen_stage_dynamics."""
        v = self.M_inv @ p
        return v, -jax.grad(self.U)(q) + self.Omega @ v - self.D @ v + u


class Bounds(NamedTuple):
    """The constants of (A2), eq. dp_stage_operator_bounds; the port matrix is I."""

    m_low: float
    m_high: float
    d_low: float
    d_high: float
    omega: float


def freeze(runs: Runs, places: list[tuple[int, int]]) -> FrozenStage:
    """The stages that began at these steps, stacked, with their equilibria."""
    tasks, steps = runs.at(places)
    M: Any = np.linalg.inv(steps.M_inv)
    d = M.shape[-1]
    D = steps.drag + steps.K_d[:, :, None] * np.eye(d) + (steps.zeta / runs.h)[:, None, None] * M
    still: Any = np.zeros_like(steps.q)
    stages = FrozenStage(tasks, steps.potential, steps.q, steps.p, M, steps.M_inv, steps.Omega, D, steps.u_shp, still)
    q_star: Any = np.asarray(equilibria(stages))
    return stages._replace(q_star=q_star)


@jax.jit
@jax.vmap
def equilibria(stage: FrozenStage) -> Vector:
    """The local minimiser of U that descent from the stage's start leads to."""
    value, slope = stage.U, jax.grad(stage.U)
    longest = LONGEST * stage.q.size**0.5

    def descend(_: int, held: tuple[Vector, Scalar, Scalar]) -> tuple[Vector, Scalar, Scalar]:
        q, U, t = held
        g = slope(q)
        move = -t * g * jnp.minimum(1.0, longest / (t * jnp.linalg.norm(g) + 1e-300))
        lower = value(q + move) < U
        after = jnp.where(lower, q + move, q)
        return after, jnp.where(lower, value(after), U), t * jnp.where(lower, 1.5, 0.3)

    def polish(_: int, q: Vector) -> Vector:
        eigenvalues, Q = jnp.linalg.eigh(jax.hessian(value)(q))
        move = -Q @ ((Q.T @ slope(q)) / jnp.maximum(jnp.abs(eigenvalues), 1e-6))
        length = jnp.linalg.norm(move)
        move = move * jnp.minimum(1.0, longest / (length + 1e-300))
        flatter = jnp.linalg.norm(slope(q + move)) < jnp.linalg.norm(slope(q))
        last = (length < FINE) & (eigenvalues[0] > 0) & flatter  # values no longer tell there, slopes do
        return jnp.where((value(q + move) < value(q)) | last, q + move, q)

    q, _, _ = jax.lax.fori_loop(0, DESCENT, descend, (stage.q, value(stage.q), jnp.asarray(1e-2)))
    return jax.lax.fori_loop(0, POLISH, polish, q)


@jax.jit
@jax.vmap
def curvatures(stage: FrozenStage, q: Float[Array, "n d"]) -> Float[Array, "n d"]:
    """Eigenvalues of the Hessian of U at some points, in rising order."""
    return jax.vmap(lambda one: jnp.linalg.eigvalsh(jax.hessian(stage.U)(one)))(q)


def bounds_of(stage: FrozenStage) -> Bounds:
    """The constants of (A2) of one stage; what is not symmetric, not definite or not skew gives a negative `d_low`, a
    negative `m_low`, or an infinite `omega`."""
    M, D, Omega = (np.asarray(matrix) for matrix in (stage.M, stage.D, stage.Omega))
    masses, drags = (np.linalg.eigvalsh(0.5 * (matrix + matrix.T)) for matrix in (M, D))
    skew = np.max(np.abs(Omega + Omega.T)) <= ROUND_OFF * max(np.max(np.abs(Omega)), np.max(np.abs(D)))
    omega = float(np.linalg.norm(Omega, 2)) if skew else np.inf
    return Bounds(float(masses[0]), float(masses[-1]), float(drags[0]), float(drags[-1]), omega)


def stage_of(stages: FrozenStage, i: int) -> FrozenStage:
    return jax.tree.map(lambda leaf: leaf[i], stages)


def chosen(stages: FrozenStage, which: list[int]) -> FrozenStage:
    return jax.tree.map(lambda leaf: leaf[np.array(which)], stages)


def defects_of(steps: Snapshot, h: float) -> dict[str, float]:
    """The worst of all steps, each as a share of the matrix's size: 0 or less where the structure is as it must be.

    M must be symmetric and positive definite, D symmetric and positive semidefinite, Omega skew, K_d and zeta not
    negative.
    """
    flat = lambda leaf: np.asarray(leaf).reshape(-1, *leaf.shape[2:])  # noqa: E731
    M_inv, Omega, D = (flat(leaf) for leaf in (steps.M_inv, steps.Omega, steps.drag))
    ok = flat(steps.finite).astype(bool)
    size = lambda matrix: np.maximum(np.max(np.abs(matrix), axis=(1, 2)), 1e-300)  # noqa: E731
    turned = lambda matrix: np.swapaxes(matrix, 1, 2)  # noqa: E731
    lowest = lambda matrix: np.linalg.eigvalsh(0.5 * (matrix + turned(matrix)))[:, 0]  # noqa: E731
    worst = {
        "M asymmetric": np.max(np.abs(M_inv - turned(M_inv)), axis=(1, 2)) / size(M_inv),
        "M not positive": -lowest(M_inv) / size(M_inv),
        "Omega not skew": np.max(np.abs(Omega + turned(Omega)), axis=(1, 2)) / size(Omega),
        "D asymmetric": np.max(np.abs(D - turned(D)), axis=(1, 2)) / size(D),
        "D not positive semidefinite": -lowest(D) / size(D),
        "K_d negative": -np.min(flat(steps.K_d), axis=1) / np.maximum(np.max(np.abs(flat(steps.K_d)), axis=1), 1e-300),
        "zeta outside [0, 1]": np.maximum(-flat(steps.zeta), flat(steps.zeta) - 1.0),
    }
    return {name: float(np.max(shares[ok])) for name, shares in worst.items()}
