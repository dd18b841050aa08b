"""Generators of landscapes for training: every task draws its own parameters, and is known to be lowest at x = 0.

None is in the paper. Each value is a sum of non-negative terms that vanish together at x = 0 alone. Lengths are root
mean squares over coordinates, so that a landscape looks alike in every dimension.
"""

import itertools
import math
from typing import ClassVar, Self

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from ..core import REACH
from .landscapes import AbstractDrawnLandscape, power

WELLS, FEWEST_WELLS = 40, 5
FUNNELS = 5
TERMS = 3  # sparse terms a coordinate, beside its own
EDGES = 2  # couplings of spins a coordinate
HARMONICS = 3
SAMPLES = 32  # points at which a curve is fitted


def unit_draws(key: PRNGKeyArray, *shapes: tuple[int, ...]) -> list[Float[Array, "..."]]:
    """Numbers uniform in [0, 1) in each of `shapes`, from one call of the generator, which takes long to compile."""
    sizes = [math.prod(shape) for shape in shapes]
    ends = list(itertools.accumulate(sizes))
    u = jax.random.uniform(key, (ends[-1],))
    parts = zip(shapes, sizes, ends, strict=True)
    return [u[end - size : end].reshape(shape) for shape, size, end in parts]


def between(u: Float[Array, "..."], low: float, high: float) -> Float[Array, "..."]:
    return low + (high - low) * u


def log_between(u: Float[Array, "..."], low: float, high: float) -> Float[Array, "..."]:
    return low * (high / low) ** u


def one_of(u: Float[Array, "..."], count: int) -> Float[Array, "..."]:
    """A choice among `count` as a row of weights, one of them 1 (numbers, so that a task holds numbers alone)."""
    return jax.nn.one_hot((count * u).astype(int), count, dtype=u.dtype)


def wave_shapes(dimension: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Shapes of what 2d + 4 plane waves are made of."""
    return (2 * dimension + 4, dimension), (2 * dimension + 4, 1)


def make_waves(u: Float[Array, "k d"], v: Float[Array, "k 1"], low: float, high: float) -> Float[Array, "k d"]:
    """Wave vectors in random directions, their lengths between `low` and `high`."""
    z = 2 * u - 1
    return z / jnp.linalg.norm(z, axis=1, keepdims=True) * log_between(v, low, high)


def ripples(waves: Float[Array, "k d"], x: Float[Array, " d"]) -> Float[Array, ""]:
    """mean_k (1 - cos(w_k . x)): no lattice, and 0 at x = 0."""
    return 2 * jnp.mean(jnp.sin(0.5 * (waves @ x)) ** 2)


def huber(z: Float[Array, "..."], delta: Float[Array, "..."]) -> Float[Array, "..."]:
    """delta^2 (√(1 + z^2 / delta^2) - 1): z^2 / 2 below delta, a straight slope above it."""
    return z**2 / (1 + jnp.sqrt(1 + (z / delta) ** 2))


class ScatteredWells(AbstractDrawnLandscape):
    """1 - max_i a_i (1 + t_i / nu)^-nu + wall, t_i = mean((x - c_i)^2 / w_i^2) / 2: 5 to 40 wells on a plain.

    Between Lorentz (nu = 1) and Gauss (nu large); a_1 = 1 at c_1 = 0, the others are shallower. The wall rises outside
    the ball around a point of the box on whose surface x = 0 lies, so that it does not point to the minimiser.

    Departs from the paper: not in it.
    """

    name: ClassVar[str] = "scattered_wells"
    centres: Float[Array, "wells d"]
    widths: Float[Array, "wells d"]
    depths: Float[Array, " wells"]
    nu: Float[Array, ""]
    wall: Float[Array, ""]
    middle: Float[Array, " d"]

    @classmethod
    def draw(cls, key: PRNGKeyArray, elsewhere: Float[Array, "room d"]) -> Self:
        d = elsewhere.shape[1]
        shapes = ((), (WELLS, d), (WELLS,), (), (WELLS, 1), (), ())
        stretch, uneven, depths, count, widths, nu, wall = unit_draws(key, *shapes)
        active = jnp.arange(WELLS) < between(count, FEWEST_WELLS, WELLS + 1).astype(int)
        return cls(
            centres=elsewhere[:WELLS].at[0].set(0.0),
            widths=log_between(widths, 0.4, 2.5) * log_between(stretch, 1.0, 4.0) ** between(uneven, -1.0, 1.0),
            depths=jnp.where(active, between(depths, 0.2, 0.95).at[0].set(1.0), 0.0),
            nu=log_between(nu, 1.0, 30.0),
            wall=log_between(wall, 1e-3, 0.1),
            middle=elsewhere[WELLS],
        )

    def __call__(self, x: Float[Array, " d"]) -> Float[Array, ""]:
        t = 0.5 * jnp.mean(((x - self.centres) / self.widths) ** 2, axis=1)
        wells = self.depths * jnp.exp(-self.nu * jnp.log1p(t / self.nu))
        outside = jnp.maximum(jnp.mean(x * (x - 2 * self.middle)), 0.0)  # mean((x - m)^2) - mean(m^2)
        return 1 - jnp.max(wells) + self.wall * outside


class Funnels(AbstractDrawnLandscape):
    """min_j (h_j + a_j huber(|x - c_j|)) + A ripples: up to five funnels, cone to bowl, h_1 = 0 at c_1 = 0.

    Departs from the paper: not in it.
    """

    name: ClassVar[str] = "funnels"
    centres: Float[Array, "funnels d"]
    stiffness: Float[Array, "funnels d"]
    floors: Float[Array, " funnels"]
    rounding: Float[Array, " funnels"]
    coarse: Float[Array, "k d"]
    fine: Float[Array, "k d"]
    A: Float[Array, " 2"]

    @classmethod
    def draw(cls, key: PRNGKeyArray, elsewhere: Float[Array, "room d"]) -> Self:
        d = elsewhere.shape[1]
        shapes = ((), (FUNNELS, d), (), (FUNNELS,), (FUNNELS,), (2,), *wave_shapes(d), *wave_shapes(d))
        stretch, uneven, count, floors, rounding, A, *waves = unit_draws(key, *shapes)
        seen = jnp.arange(FUNNELS) < between(count, 1, FUNNELS + 1).astype(int)
        return cls(
            centres=elsewhere[:FUNNELS].at[0].set(0.0),
            stiffness=log_between(stretch, 1.0, 10.0) ** between(uneven, -0.5, 0.5),
            floors=jnp.where(seen, between(floors, 0.05, 2.0).at[0].set(0.0), 1e3),  # too high to be seen
            rounding=log_between(rounding, 0.1, 10.0),
            coarse=make_waves(waves[0], waves[1], 1.0, 4.0),
            fine=make_waves(waves[2], waves[3], 4.0, 15.0),
            A=log_between(A, 0.01, 3.0) * jnp.array([1.0, 0.3]),
        )

    def __call__(self, x: Float[Array, " d"]) -> Float[Array, ""]:
        square = jnp.mean(self.stiffness * (x - self.centres) ** 2, axis=1)
        slopes = square / (1 + jnp.sqrt(1 + square / self.rounding**2)) / jnp.minimum(self.rounding, 1.0)
        ripple = self.A[0] * ripples(self.coarse, x) + self.A[1] * ripples(self.fine, x)
        return jnp.min(self.floors + slopes) + ripple


class BentValley(AbstractDrawnLandscape):
    """mean_i (k_i huber(x_i - phi_i(x_parent)) + w_i x_i^2): a valley bent along every link of a random tree.

        phi(t) = a t + b t^2 + c sin(omega t)

    Small delta of `huber` makes a sharp ridge of the valley's floor.

    Departs from the paper: not in it.
    """

    name: ClassVar[str] = "bent_valley"
    least: ClassVar[int] = 2
    parents: Float[Array, "d d"]
    bend: Float[Array, "3 d"]
    omega: Float[Array, " d"]
    stiffness: Float[Array, " d"]
    delta: Float[Array, ""]
    weight: Float[Array, " d"]

    @classmethod
    def draw(cls, key: PRNGKeyArray, elsewhere: Float[Array, "room d"]) -> Self:
        d = elsewhere.shape[1]
        shapes = ((d,), (3, 1), (3, d), (d,), (d,), (), (), ())
        back, sizes, bend, omega, jitter, stiffness, delta, weight = unit_draws(key, *shapes)
        i = jnp.arange(d, dtype=elsewhere.dtype)
        parent = i - jnp.maximum(jnp.floor(i**back), 1.0)  # often a neighbour, at times far
        jitter = log_between(jitter, 0.5, 2.0)
        return cls(
            parents=jax.nn.one_hot(jnp.maximum(parent, 0.0).astype(int), d, dtype=i.dtype),
            bend=jnp.array([[1.0], [0.5], [2.0]]) * log_between(sizes, 0.3, 2.0) * between(bend, -1.0, 1.0),
            omega=between(omega, 0.5, 3.0),
            stiffness=(jitter * log_between(stiffness, 3.0, 1e4)).at[0].set(0.0),  # the root has no parent
            delta=log_between(delta, 0.1, 1e3),
            weight=(log_between(weight, 1e-3, 1.0) / jitter).at[0].set(1.0),
        )

    def __call__(self, x: Float[Array, " d"]) -> Float[Array, ""]:
        t = self.parents @ x
        phi = self.bend[0] * t + self.bend[1] * t**2 + self.bend[2] * jnp.sin(self.omega * t)
        return jnp.mean(self.stiffness * huber(x - phi, self.delta) + self.weight * x**2)


class Plateau(AbstractDrawnLandscape):
    """T(u) of a bowl with ripples u: saturating, logarithmic, a root, or terraces; every T rises and T(0) = 0.

        T(u) = u / (c + u),  log(1 + u / c),  (u / c)^p,  v - (1 - e) sin(n v) / n with v = u / (c + u)

    Departs from the paper: not in it.
    """

    name: ClassVar[str] = "plateau"
    stiffness: Float[Array, " d"]
    waves: Float[Array, "k d"]
    A: Float[Array, ""]
    c: Float[Array, ""]
    p: Float[Array, ""]
    steps: Float[Array, ""]
    which: Float[Array, " 4"]

    @classmethod
    def draw(cls, key: PRNGKeyArray, elsewhere: Float[Array, "room d"]) -> Self:
        d = elsewhere.shape[1]
        shapes = ((), (d,), (), (), (), (), (), *wave_shapes(d))
        stretch, uneven, A, c, p, steps, which, *waves = unit_draws(key, *shapes)
        return cls(
            stiffness=log_between(stretch, 1.0, 100.0) ** between(uneven, -0.5, 0.5),
            waves=make_waves(waves[0], waves[1], 1.0, 10.0),
            A=log_between(A, 0.03, 10.0),
            c=log_between(c, 0.01, 3.0),
            p=between(p, 0.15, 0.8),
            steps=between(steps, 10.0, 80.0),
            which=one_of(which, 4),
        )

    def __call__(self, x: Float[Array, " d"]) -> Float[Array, ""]:
        u = jnp.mean(self.stiffness * x**2) + self.A * ripples(self.waves, x)
        v = u / (self.c + u)
        terraces = v - 0.95 * jnp.sin(self.steps * v) / self.steps
        return jnp.dot(self.which, jnp.stack([v, jnp.log1p(u / self.c), power(u / self.c, self.p), terraces]))


class CrookedBowl(AbstractDrawnLandscape):
    """mean_i k_i (|x_i| / 5)^p_i with another k_i on either side of 0, p from 1.2 to 4, k spread over 1 to 10^6.

    Departs from the paper: not in it.
    """

    name: ClassVar[str] = "crooked_bowl"
    p: Float[Array, " d"]
    below: Float[Array, " d"]
    above: Float[Array, " d"]

    @classmethod
    def draw(cls, key: PRNGKeyArray, elsewhere: Float[Array, "room d"]) -> Self:
        d = elsewhere.shape[1]
        stretch, uneven, crooked, p, jitter = unit_draws(key, (), (d,), (d,), (), (d,))
        k = log_between(stretch, 1.0, 1e6) ** uneven
        crooked = log_between(crooked, 0.1, 10.0)
        p = jnp.clip(between(p, 1.2, 4.0) + between(jitter, -0.4, 0.4), 1.2, 4.0)
        return cls(p=p, below=k * crooked, above=k / crooked)

    def __call__(self, x: Float[Array, " d"]) -> Float[Array, ""]:
        return jnp.mean(jnp.where(x < 0, self.below, self.above) * power(jnp.abs(x) / REACH, self.p))


class SparseCoupling(AbstractDrawnLandscape):
    """mean_m g_m(z_m), z = L x with 1 to 3 coordinates in a row of L; g a bowl with ripples, a cone or a double well.

        g(z) = z^2 + 2 A sin^2(omega z / 2),  huber(z),  z^2 ((z - tau)^2 + e) / (tau^2 + z^2)

    Every coordinate also has a term of its own, a bowl, so that only x = 0 makes all of them vanish.

    Departs from the paper: not in it.
    """

    name: ClassVar[str] = "sparse_coupling"
    L: Float[Array, "terms d"]
    which: Float[Array, "terms 3"]
    A: Float[Array, " terms"]
    omega: Float[Array, " terms"]
    tau: Float[Array, " terms"]
    weight: Float[Array, " terms"]
    own: Float[Array, ""]

    @classmethod
    def draw(cls, key: PRNGKeyArray, elsewhere: Float[Array, "room d"]) -> Self:
        d = elsewhere.shape[1]
        n = TERMS * d
        shapes = ((n, 3), (n, 3, 1), (n,), (n,), (n,), (n,), (n,), ())
        picked, share, which, A, omega, tau, weight, own = unit_draws(key, *shapes)
        size = log_between(2 * jnp.abs(share - 0.5), 0.05, 1.0).at[:, 0].set(1.0)
        return cls(
            L=jnp.sum(jnp.sign(share - 0.5) * size * one_of(picked, d), axis=1),
            which=one_of(which, 3),
            A=log_between(A, 0.1, 10.0),
            omega=between(omega, 1.0, 8.0),
            tau=between(tau, 1.0, 4.0),
            weight=log_between(weight, 0.1, 10.0),
            own=log_between(own, 0.01, 1.0),
        )

    def __call__(self, x: Float[Array, " d"]) -> Float[Array, ""]:
        z = self.L @ x
        rippled = z**2 + 2 * self.A * jnp.sin(0.5 * self.omega * z) ** 2
        double = z**2 * ((z - self.tau) ** 2 + 0.2) / (self.tau**2 + z**2)
        kinds = jnp.stack([rippled, 4 * huber(z, jnp.full_like(z, 0.1)), 4 * double], axis=1)
        return jnp.mean(self.weight * jnp.sum(self.which * kinds, axis=1)) + self.own * jnp.mean(x**2)


class CurveFit(AbstractDrawnLandscape):
    """mean_t (model(t; theta + scale x) - model(t; theta))^2: least squares whose planted parameters fit exactly.

    A model is a sum of ceil(d / 3) parts (a, b, c): peaks a exp(-e^2c (t - b)^2), waves a sin(b t + c), decays
    a exp(-b^2 t) + c t, or the units a tanh(b t + c) of a network of two layers. Parts may be exchanged: distance is to
    the planted parameters. A weak bowl keeps idle parameters from being free.

    Departs from the paper: not in it.
    """

    name: ClassVar[str] = "curve_fit"
    theta: Float[Array, "parts 3"]
    spread: Float[Array, " 3"]
    which: Float[Array, " 4"]
    bowl: Float[Array, ""]

    @classmethod
    def draw(cls, key: PRNGKeyArray, elsewhere: Float[Array, "room d"]) -> Self:
        parts = -(-elsewhere.shape[1] // 3)
        choice, theta, spread, bowl = unit_draws(key, (), (parts, 3), (3,), ())
        which = one_of(choice, 4)
        low = which @ jnp.array([[-1.0, -2.0, 0.0], [-1.0, 1.0, -3.0], [-1.0, 0.2, -0.3], [-1.0, -2.0, -2.0]])
        high = which @ jnp.array([[1.0, 2.0, 2.0], [1.0, 6.0, 3.0], [1.0, 2.0, 0.3], [1.0, 2.0, 2.0]])
        return cls(
            theta=low + (high - low) * theta,
            spread=(high - low) * log_between(spread, 0.1, 0.5),
            which=which,
            bowl=log_between(bowl, 1e-5, 1e-3),
        )

    def __call__(self, x: Float[Array, " d"]) -> Float[Array, ""]:
        offset = jnp.zeros(self.theta.size, x.dtype).at[: x.shape[0]].set(x).reshape(self.theta.shape)
        residual = self.model(self.theta + self.spread * offset) - self.model(self.theta)
        return jnp.mean(residual**2) + self.bowl * jnp.mean(x**2)

    def model(self, theta: Float[Array, "parts 3"]) -> Float[Array, " samples"]:
        t = jnp.linspace(-2.0, 2.0, SAMPLES, dtype=theta.dtype)[:, None]
        a, b, c = theta.T
        peaks = a * jnp.exp(-jnp.exp(2 * jnp.clip(c, -4.0, 4.0)) * (t - b) ** 2)
        decays = a * jnp.exp(-(b**2) * (t + 2)) + c * t
        kinds = jnp.stack([peaks, a * jnp.sin(b * t + c), decays, a * jnp.tanh(b * t + c)])
        return jnp.einsum("k,ktp->t", self.which, kinds)


class PlantedSpins(AbstractDrawnLandscape):
    """mean over couplings of sum_h J_h (1 - cos h (a_i - a_j)) and a weak field, at angles a = x / 3 from the planted.

    An XY model on a random graph, of which one gauge is planted; higher harmonics h lock pairs at other angles too.
    The planted angles are the only ground state as long as no angle is off by more than π.

    Departs from the paper: not in it.
    """

    name: ClassVar[str] = "planted_spins"
    least: ClassVar[int] = 2
    rotatable: ClassVar[bool] = False
    pairs: Float[Array, "edges d"]
    J: Float[Array, "edges harmonics"]
    field: Float[Array, " d"]

    @classmethod
    def draw(cls, key: PRNGKeyArray, elsewhere: Float[Array, "room d"]) -> Self:
        d = elsewhere.shape[1]
        shapes = ((EDGES - 1, d), (HARMONICS,), (EDGES * d, 1), (), (d,))
        other, harmonics, J, strength, field = unit_draws(key, *shapes)
        first = jnp.eye(d, dtype=elsewhere.dtype)
        ends = jnp.concatenate([jnp.roll(first, 1, axis=0), one_of(other, d).reshape(-1, d)])
        return cls(
            pairs=jnp.tile(first, (EDGES, 1)) - ends,
            J=log_between(J, 0.2, 5.0) * log_between(harmonics, 0.05, 2.0).at[0].set(1.0),
            field=log_between(strength, 0.01, 0.5) * log_between(field, 0.3, 3.0),
        )

    def __call__(self, x: Float[Array, " d"]) -> Float[Array, ""]:
        angle = x / 3
        half = 0.5 * (self.pairs @ angle)[:, None] * jnp.arange(1, HARMONICS + 1, dtype=x.dtype)
        couplings = jnp.mean(jnp.sum(2 * self.J * jnp.sin(half) ** 2, axis=1))
        return couplings + jnp.mean(2 * self.field * jnp.sin(0.5 * angle) ** 2)


GENERATED: tuple[type[AbstractDrawnLandscape], ...] = (
    ScatteredWells,
    Funnels,
    BentValley,
    Plateau,
    CrookedBowl,
    SparseCoupling,
    CurveFit,
    PlantedSpins,
)
