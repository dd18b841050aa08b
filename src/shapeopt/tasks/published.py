"""Classics that are never trained on and hold only in their own box, so that they are mirrored but never moved.

A task is the published function, its box mapped to [-5, 5]^d, with coordinates in random order and random directions.
None is in the paper. Sources of formulas and minima: Jamil and Yang (2013), "A literature survey of benchmark functions
for global optimization problems"; Surjanovic and Bingham, "Virtual library of simulation experiments". Minimisers are
polished to round-off by Newton's method.
"""

import abc
import functools
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray
from numpy.typing import ArrayLike

from ..core import REACH
from .base import AbstractFamily, StartLaw, require_dimension, require_law
from .landscapes import length
from .shifted import AbstractLandscape, ShiftedTask

SURVEY = "best known: Jamil and Yang (2013), polished to round-off"
STEEPNESS = 10  # Michalewicz's m
SCHWEFEL = 420.968746359982  # where y sin √|y| is largest on [-500, 500]


class AbstractProblem(eqx.Module):
    """A published function: name, dimension (None for any), source of its minimum, box, minimisers and formula."""

    name: eqx.AbstractClassVar[str]
    dimension: eqx.AbstractClassVar[int | None]
    minimum_source: eqx.AbstractClassVar[str]
    box: eqx.AbstractClassVar[tuple[ArrayLike, ArrayLike]]  # its sides, as far as they differ by coordinate

    @abc.abstractmethod
    def minimisers(self, dimension: int) -> np.ndarray:
        """The global minimisers inside the box, one a row."""

    @abc.abstractmethod
    def __call__(self, y: Float[Array, " d"]) -> Float[Array, ""]:
        """The published formula."""


class PublishedLandscape(AbstractLandscape):
    """A published function at y = y* + scale x, its own least value included.

    Departs from the paper: not in it.
    """

    problem: AbstractProblem
    y_star: Float[Array, " d"]
    scale: Float[Array, " d"]

    def __call__(self, x: Float[Array, " d"]) -> Float[Array, ""]:
        return self.problem(self.y_star + self.scale * x)


class PublishedFamily(AbstractFamily):
    """A published function in its own box, with coordinates in random order and direction.

    Departs from the paper: not in it.
    """

    dimension: int = eqx.field(static=True)
    problem: type[AbstractProblem] = eqx.field(static=True)
    law: StartLaw = eqx.field(static=True, default=StartLaw.BOX)

    def __check_init__(self) -> None:
        require_dimension(self.dimension)
        require_law(self.law)
        if self.problem.dimension not in (None, self.dimension):
            raise ValueError(f"`dimension` must be {self.problem.dimension} for {self.name}; got {self.dimension!r}.")

    @property
    def name(self) -> str:
        return self.problem.name

    @property
    def minimum_source(self) -> str:
        return self.problem.minimum_source

    def sample(self, key: PRNGKeyArray) -> ShiftedTask:
        key_order, key_side = jax.random.split(key)
        problem, dtype = self.problem(), jax.dtypes.canonicalize_dtype(float)
        ends = problem.minimisers(self.dimension)
        lower, upper = (np.broadcast_to(side, self.dimension) for side in problem.box)
        scale = (upper - lower) / (2 * REACH)
        order = jax.random.permutation(key_order, jnp.eye(self.dimension, dtype=dtype))
        R = order * jax.random.rademacher(key_side, (self.dimension, 1), dtype)
        minimisers = jnp.asarray((ends - (lower + upper) / 2) / scale, dtype) @ R  # R^T of each
        landscape = PublishedLandscape(problem, jnp.asarray(ends[0], dtype), jnp.asarray(scale, dtype))
        return ShiftedTask(
            landscape=landscape,
            minimiser=minimisers[0],
            R=R,
            minimisers=minimisers,
            minimum=landscape(jnp.zeros(self.dimension, dtype)),
            law=self.law,
        )


class Schwefel(AbstractProblem):
    """-sum_i y_i sin √|y_i| on [-500, 500]^d (Schwefel 2.26): the second-best well is far off.

    Departs from the paper: not in it.
    """

    name: ClassVar[str] = "schwefel"
    dimension: ClassVar[int | None] = None
    minimum_source: ClassVar[str] = "exact: separable, and each term is largest in the box at 420.9687"
    box: ClassVar[tuple[ArrayLike, ArrayLike]] = (-500.0, 500.0)

    def minimisers(self, dimension: int) -> np.ndarray:
        return np.full((1, dimension), SCHWEFEL)

    def __call__(self, y: Float[Array, " d"]) -> Float[Array, ""]:
        return -jnp.sum(y * jnp.sin(jnp.sqrt(jnp.abs(y))))


class Michalewicz(AbstractProblem):
    """-sum_i sin(y_i) sin^20(i y_i^2 / π) on [0, π]^d: steep valleys between plateaus.

    Departs from the paper: not in it.
    """

    name: ClassVar[str] = "michalewicz"
    dimension: ClassVar[int | None] = None
    minimum_source: ClassVar[str] = "exact: separable, each coordinate searched on a grid and refined"
    box: ClassVar[tuple[ArrayLike, ArrayLike]] = (0.0, np.pi)

    def minimisers(self, dimension: int) -> np.ndarray:
        return michalewicz_minimiser(dimension)[None, :]

    def __call__(self, y: Float[Array, " d"]) -> Float[Array, ""]:
        i = jnp.arange(1, y.shape[0] + 1, dtype=y.dtype)
        return -jnp.sum(jnp.sin(y) * jnp.sin(i * y**2 / jnp.pi) ** (2 * STEEPNESS))


@functools.cache
def michalewicz_minimiser(dimension: int) -> np.ndarray:
    """The best point of a grid along each coordinate, then of finer and finer ones around it."""
    i = np.arange(1, dimension + 1)
    middle, reach = np.full(dimension, np.pi / 2), np.pi / 2
    for _ in range(5):
        grid = middle + reach * np.linspace(-1.0, 1.0, 4001)[:, None]
        values = np.sin(grid) * np.sin(i * grid**2 / np.pi) ** (2 * STEEPNESS)
        middle, reach = grid[np.argmax(values, axis=0), np.arange(dimension)], reach / 1000
    return middle


class GoldsteinPrice(AbstractProblem):
    """The logarithm of Goldstein and Price's polynomial on [-2, 2]^2.

    Departs from the paper: not in it.
    """

    name: ClassVar[str] = "goldstein_price"
    dimension: ClassVar[int | None] = 2
    minimum_source: ClassVar[str] = "exact: log 3 at (0, -1)"
    box: ClassVar[tuple[ArrayLike, ArrayLike]] = (-2.0, 2.0)

    def minimisers(self, dimension: int) -> np.ndarray:
        return np.array([[0.0, -1.0]])

    def __call__(self, y: Float[Array, " d"]) -> Float[Array, ""]:
        a, b = y
        first = 1 + (a + b + 1) ** 2 * (19 - 14 * a + 3 * a**2 - 14 * b + 6 * a * b + 3 * b**2)
        second = 30 + (2 * a - 3 * b) ** 2 * (18 - 32 * a + 12 * a**2 + 48 * b - 36 * a * b + 27 * b**2)
        return jnp.log(first) + jnp.log(second)


class SixHumpCamel(AbstractProblem):
    """(4 - 2.1 a^2 + a^4 / 3) a^2 + a b + 4 (b^2 - 1) b^2 on [-3, 3] x [-2, 2]; two global minimisers.

    Departs from the paper: not in it.
    """

    name: ClassVar[str] = "six_hump_camel"
    dimension: ClassVar[int | None] = 2
    minimum_source: ClassVar[str] = SURVEY
    box: ClassVar[tuple[ArrayLike, ArrayLike]] = ([-3.0, -2.0], [3.0, 2.0])

    def minimisers(self, dimension: int) -> np.ndarray:
        one = np.array([0.08984201310031806, -0.7126564030207396])
        return np.stack([one, -one])

    def __call__(self, y: Float[Array, " d"]) -> Float[Array, ""]:
        a, b = y
        return (4 - 2.1 * a**2 + a**4 / 3) * a**2 + a * b + 4 * (b**2 - 1) * b**2


class Branin(AbstractProblem):
    """(b - 5.1 a^2 / 4π^2 + 5 a / π - 6)^2 + 10 (1 - 1 / 8π) cos a + 10 on [-5, 10] x [0, 15]; three minimisers.

    Departs from the paper: not in it.
    """

    name: ClassVar[str] = "branin"
    dimension: ClassVar[int | None] = 2
    minimum_source: ClassVar[str] = "exact: 10 / 8π, where the square vanishes and the cosine is -1"
    box: ClassVar[tuple[ArrayLike, ArrayLike]] = ([-5.0, 0.0], [10.0, 15.0])

    def minimisers(self, dimension: int) -> np.ndarray:
        return np.array([[np.pi, 2.275], [-np.pi, 12.275], [3 * np.pi, 2.475]])

    def __call__(self, y: Float[Array, " d"]) -> Float[Array, ""]:
        a, b = y
        valley = b - 5.1 / (4 * np.pi**2) * a**2 + 5 / np.pi * a - 6
        return valley**2 + 10 * (1 - 1 / (8 * np.pi)) * jnp.cos(a) + 10


class Eggholder(AbstractProblem):
    """-(b + 47) sin √|b + a/2 + 47| - a sin √|a - b - 47| on [-512, 512]^2; lowest on an edge of the box.

    Departs from the paper: not in it.
    """

    name: ClassVar[str] = "eggholder"
    dimension: ClassVar[int | None] = 2
    minimum_source: ClassVar[str] = SURVEY
    box: ClassVar[tuple[ArrayLike, ArrayLike]] = (-512.0, 512.0)

    def minimisers(self, dimension: int) -> np.ndarray:
        return np.array([[512.0, 404.2318051137578]])

    def __call__(self, y: Float[Array, " d"]) -> Float[Array, ""]:
        a, b = y
        first = -(b + 47) * jnp.sin(jnp.sqrt(jnp.abs(b + a / 2 + 47)))
        return first - a * jnp.sin(jnp.sqrt(jnp.abs(a - b - 47)))


class HolderTable(AbstractProblem):
    """-|sin a cos b exp|1 - |y| / π|| on [-10, 10]^2; four minimisers near the corners.

    Departs from the paper: not in it.
    """

    name: ClassVar[str] = "holder_table"
    dimension: ClassVar[int | None] = 2
    minimum_source: ClassVar[str] = SURVEY
    box: ClassVar[tuple[ArrayLike, ArrayLike]] = (-10.0, 10.0)

    def minimisers(self, dimension: int) -> np.ndarray:
        signs = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])
        return signs * np.array([8.055023475736563, 9.664590019241272])

    def __call__(self, y: Float[Array, " d"]) -> Float[Array, ""]:
        return -jnp.abs(jnp.sin(y[0]) * jnp.cos(y[1]) * jnp.exp(jnp.abs(1 - length(y) / jnp.pi)))


class Shekel(AbstractProblem):
    """-sum_{j<=10} 1 / (|y - c_j|^2 + beta_j) on [0, 10]^4.

    Departs from the paper: not in it.
    """

    name: ClassVar[str] = "shekel"
    dimension: ClassVar[int | None] = 4
    minimum_source: ClassVar[str] = SURVEY
    box: ClassVar[tuple[ArrayLike, ArrayLike]] = (0.0, 10.0)
    beta: ClassVar[np.ndarray] = np.array([0.1, 0.2, 0.2, 0.4, 0.4, 0.6, 0.3, 0.7, 0.5, 0.5])
    c: ClassVar[np.ndarray] = np.array([[4, 1, 8, 6, 3, 2, 5, 8, 6, 7], [4, 1, 8, 6, 7, 9, 3, 1, 2, 3.6]] * 2).T

    def minimisers(self, dimension: int) -> np.ndarray:
        return np.array([[4.000746868270634, 3.9995094800857736] * 2])

    def __call__(self, y: Float[Array, " d"]) -> Float[Array, ""]:
        beta, c = jnp.asarray(self.beta, y.dtype), jnp.asarray(self.c, y.dtype)
        return -jnp.sum(1 / (jnp.sum((y - c) ** 2, axis=1) + beta))


class Hartmann6(AbstractProblem):
    """-sum_{j<=4} alpha_j exp(-sum_i A_ji (y_i - P_ji)^2) on [0, 1]^6.

    Departs from the paper: not in it.
    """

    name: ClassVar[str] = "hartmann_6"
    dimension: ClassVar[int | None] = 6
    minimum_source: ClassVar[str] = SURVEY
    box: ClassVar[tuple[ArrayLike, ArrayLike]] = (0.0, 1.0)
    alpha: ClassVar[np.ndarray] = np.array([1.0, 1.2, 3.0, 3.2])
    A: ClassVar[np.ndarray] = np.array(
        [
            [10, 3, 17, 3.5, 1.7, 8],
            [0.05, 10, 17, 0.1, 8, 14],
            [3, 3.5, 1.7, 10, 17, 8],
            [17, 8, 0.05, 10, 0.1, 14],
        ]
    )
    P: ClassVar[np.ndarray] = 1e-4 * np.array(
        [
            [1312, 1696, 5569, 124, 8283, 5886],
            [2329, 4135, 8307, 3736, 1004, 9991],
            [2348, 1451, 3522, 2883, 3047, 6650],
            [4047, 8828, 8732, 5743, 1091, 381],
        ]
    )

    def minimisers(self, dimension: int) -> np.ndarray:
        first = [0.20168951100670543, 0.15001069182345797, 0.47687397422189703]
        return np.array([[*first, 0.2753324304940561, 0.31165161660011326, 0.6573005340656204]])

    def __call__(self, y: Float[Array, " d"]) -> Float[Array, ""]:
        alpha, A, P = (jnp.asarray(table, y.dtype) for table in (self.alpha, self.A, self.P))
        return -jnp.sum(alpha * jnp.exp(-jnp.sum(A * (y - P) ** 2, axis=1)))


PUBLISHED: tuple[type[AbstractProblem], ...] = (
    Schwefel,
    Michalewicz,
    GoldsteinPrice,
    SixHumpCamel,
    Branin,
    Eggholder,
    HolderTable,
    Shekel,
    Hartmann6,
)
