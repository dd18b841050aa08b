"""Lennard-Jones clusters (eq. lj_energy): find the packing of least energy for 2, 6, 13 or 38 atoms."""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from ..core import Box
from .base import PAPER_RADII, PAPER_RADII_LARGE, AbstractFamily, AbstractTask, StartLaw, cube, draw_start, require_law
from .clusters import SHAPES, reference

CORE = 0.25  # in sigma: below it the pair energy goes on linearly in r^2
EPSILON_RANGE = (0.8, 1.25)  # of varied tasks
SIGMA_RANGE = (0.85, 1.15)


def pair_energy(s: Float[Array, "..."]) -> Float[Array, "..."]:
    """4 (s^-6 - s^-3) at s = (r / sigma)^2 (eq. lj_energy), finite down to s = 0.

    Departs from the paper: below r = CORE sigma, at energies above 6e7 epsilon, the tangent in s replaces the pole. It
    is C^1, still repels, has a gradient everywhere (even for coincident atoms, where symmetry makes it 0) and stays
    far from overflow in float32.
    """
    core = CORE**2
    inverse3 = jnp.maximum(s, core) ** -3
    slope = 4 * (-6 * core**-7 + 3 * core**-4)
    return 4 * inverse3 * (inverse3 - 1) + slope * (jnp.minimum(s, core) - core)


class LennardJonesTask(AbstractTask):
    """f_tau(q) = epsilon sum_{i<j} v(|x_i - x_j| / sigma), q = (x_1, ..., x_N) flattened (eq. lj_energy).

    Departs from the paper: the finite core of `pair_energy`, and a search domain, which the paper does not name.
    """

    epsilon: Float[Array, ""]
    sigma: Float[Array, ""]
    minimum: Float[Array, ""]
    minimiser: Float[Array, " d"]
    law: StartLaw = eqx.field(static=True)
    half_width: float = eqx.field(static=True)

    def __call__(self, q: Float[Array, " d"]) -> Float[Array, ""]:
        s = _squared_distances(q) / self.sigma**2
        s = jnp.where(jnp.eye(s.shape[0], dtype=bool), 1.0, s)  # v(1) = 0: an atom does not see itself
        return 0.5 * self.epsilon * jnp.sum(pair_energy(s))  # eq. lj_energy

    @property
    def box(self) -> Box:
        return cube(self.minimiser.shape[-1], self.half_width, self.minimiser.dtype)

    def start(self, key: PRNGKeyArray) -> Float[Array, " d"]:
        paper_radii = PAPER_RADII if self.minimiser.shape[0] < 100 else PAPER_RADII_LARGE
        return draw_start(key, self.law, self.minimiser, self.half_width, paper_radii)

    def distance(self, q: Float[Array, " d"]) -> Float[Array, ""]:
        """|sorted pair distances of q - those of the minimiser| / sqrt(N): a proxy for the distance of shapes.

        It is invariant under translation, rotation, reflection and relabelling, and never exceeds the Euclidean
        distance after the best alignment; 0 does not strictly prove equality, since different point sets can share
        one spectrum.
        """
        gap = _spectrum(q) - _spectrum(self.minimiser)
        return jnp.linalg.norm(gap) / (q.shape[0] // 3) ** 0.5


def _squared_distances(q: Float[Array, " d"]) -> Float[Array, "n n"]:
    x = q.reshape(-1, 3)
    return jnp.sum((x[:, None] - x[None, :]) ** 2, axis=-1)


def _spectrum(q: Float[Array, " d"]) -> Float[Array, " p"]:
    squared = _squared_distances(q)
    return jnp.sort(jnp.sqrt(squared[jnp.triu_indices(squared.shape[0], 1)]))


class LennardJones(AbstractFamily):
    """Clusters of dimension / 3 atoms in a cube of about four times the volume of the packed cluster.

    `varied` draws epsilon and sigma for each task; otherwise both are 1. PAPER and NEAR start at a drawn distance from
    the reference cluster, BOX uniformly in the cube.

    Departs from the paper: its own clusters behave like softened atoms in a trap; these are the true energies.
    """

    dimension: int = eqx.field(static=True)
    law: StartLaw = eqx.field(static=True, default=StartLaw.BOX)
    varied: bool = eqx.field(static=True, default=False)

    def __check_init__(self) -> None:
        require_law(self.law)
        if self.dimension not in (known := [3 * atoms for atoms in SHAPES]):
            raise ValueError(f"`dimension` must be 3 x atoms, one of {known}; got {self.dimension!r}.")

    @property
    def name(self) -> str:
        return "lennard_jones"

    @property
    def minimum_source(self) -> str:
        return "best known: Wales and Doye 1997, Cambridge Cluster Database; geometry rebuilt in tasks/clusters.py"

    @property
    def half_width(self) -> float:
        """Half the side of the cube: radius of a close-packed ball of N atoms and half a bond more."""
        sigma = SIGMA_RANGE[1] if self.varied else 1.0
        ball = (self.dimension / 3 * 3 / (4 * math.pi * 2**0.5)) ** (1 / 3)
        return 2 ** (1 / 6) * sigma * (ball + 0.5)

    def sample(self, key: PRNGKeyArray) -> LennardJonesTask:
        key_epsilon, key_sigma = jax.random.split(key)
        epsilon, sigma = jnp.ones(()), jnp.ones(())
        if self.varied:
            epsilon = jax.random.uniform(key_epsilon, (), minval=EPSILON_RANGE[0], maxval=EPSILON_RANGE[1])
            sigma = jax.random.uniform(key_sigma, (), minval=SIGMA_RANGE[0], maxval=SIGMA_RANGE[1])
        coordinates, energy = reference(self.dimension // 3)
        minimiser = sigma * jnp.asarray(coordinates.ravel(), sigma.dtype)
        return LennardJonesTask(
            epsilon=epsilon,
            sigma=sigma,
            minimum=energy * epsilon,
            minimiser=minimiser,
            law=self.law,
            half_width=self.half_width,
        )
