"""Classics that are never trained on and that can be moved and turned: each is lowest at x = 0 on all of space.

None is in the paper. Published boxes are mapped affinely to [-5, 5]^d; every formula is written around its minimiser
as a sum of non-negative terms. Sources of the formulas: Jamil and Yang (2013), "A literature survey of benchmark
functions for global optimization problems"; Hansen et al. (2009), "Real-parameter black-box optimization benchmarking"
(Schaffer F7, Weierstrass, Katsuura, Lunacek, Gallagher); Beyer and Finck (2012) for HappyCat.
"""

from typing import ClassVar, Self

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from .landscapes import AbstractDrawnLandscape, AbstractPlainLandscape, length, power

STYBLINSKI = -2.903534027771177  # the deeper root of 4 y^3 - 32 y + 5
PEAKS = 101
FRACTAL_REACH = 20.0  # |x_i| <= 9 becomes |y_i| <= 0.45, less than half a period of the coarsest wave


class Griewank(AbstractPlainLandscape):
    """sum_i y_i^2 / 4000 + 1 - prod_i cos(y_i / √i) at y = 120 x (box [-600, 600]).

    1 - prod c_i is summed as (1 - c_1) + c_1 (1 - c_2) + ...; the whole is non-negative since |c_i| <= 1.

    Departs from the paper: not in it.
    """

    name: ClassVar[str] = "griewank"

    def __call__(self, x: Float[Array, " d"]) -> Float[Array, ""]:
        y = 120 * x
        angle = y / jnp.sqrt(jnp.arange(1, x.shape[0] + 1, dtype=x.dtype))
        before = jnp.concatenate([jnp.ones(1, x.dtype), jnp.cumprod(jnp.cos(angle[:-1]))])
        return jnp.sum(y**2) / 4000 + jnp.sum(before * 2 * jnp.sin(0.5 * angle) ** 2)


class Salomon(AbstractPlainLandscape):
    """1 - cos(2π r) + r / 10 at r = 20 |x| (box [-100, 100]): rings around a cone.

    Departs from the paper: not in it.
    """

    name: ClassVar[str] = "salomon"

    def __call__(self, x: Float[Array, " d"]) -> Float[Array, ""]:
        r = 20 * length(x)
        return 2 * jnp.sin(jnp.pi * r) ** 2 + 0.1 * r


class DropWave(AbstractPlainLandscape):
    """1 - (1 + cos(12 r)) / (2 + r^2 / 2) at r = 1.024 |x| (box [-5.12, 5.12]), for any dimension.

    Departs from the paper: not in it.
    """

    name: ClassVar[str] = "drop_wave"

    def __call__(self, x: Float[Array, " d"]) -> Float[Array, ""]:
        r = 1.024 * length(x)
        return (0.5 * r**2 + 2 * jnp.sin(6 * r) ** 2) / (2 + 0.5 * r**2)


class SchafferF7(AbstractPlainLandscape):
    """(mean_i √z_i (1 + sin^2(50 z_i^0.2)))^2, z_i = 20 |(x_i, x_{i+1})| (box [-100, 100]).

    Departs from the paper: not in it.
    """

    name: ClassVar[str] = "schaffer_f7"
    least: ClassVar[int] = 2

    def __call__(self, x: Float[Array, " d"]) -> Float[Array, ""]:
        z = 20 * length(jnp.stack([x[:-1], x[1:]], axis=-1))
        return jnp.mean(power(z, 0.5) * (1 + jnp.sin(50 * power(z, 0.2)) ** 2)) ** 2


class Zakharov(AbstractPlainLandscape):
    """sum x_i^2 + t^2 + t^4, t = sum i x_i / 2.

    Departs from the paper: not in it.
    """

    name: ClassVar[str] = "zakharov"

    def __call__(self, x: Float[Array, " d"]) -> Float[Array, ""]:
        t = 0.5 * jnp.sum(jnp.arange(1, x.shape[0] + 1, dtype=x.dtype) * x)
        return jnp.sum(x**2) + t**2 + t**4


class PowellSingular(AbstractPlainLandscape):
    """Fours (a, b, c, e) of coordinates: (a + 10 b)^2 + 5 (c - e)^2 + (b - 2 c)^4 + 10 (a - e)^4; a singular Hessian.

    Departs from the paper: not in it.
    """

    name: ClassVar[str] = "powell_singular"
    least: ClassVar[int] = 4
    multiple: ClassVar[int] = 4

    def __call__(self, x: Float[Array, " d"]) -> Float[Array, ""]:
        a, b, c, e = x.reshape(-1, 4).T
        return jnp.sum((a + 10 * b) ** 2 + 5 * (c - e) ** 2 + (b - 2 * c) ** 4 + 10 * (a - e) ** 4)


class Trid(AbstractPlainLandscape):
    """sum (y_i - 1)^2 - sum y_i y_{i-1} around its minimiser, x in units of d^2 / 5 (box [-d^2, d^2]).

    There it is the quadratic form (x_1^2 + x_d^2 + sum (x_i - x_{i-1})^2) / 2.

    Departs from the paper: not in it.
    """

    name: ClassVar[str] = "trid"
    least: ClassVar[int] = 2

    def __call__(self, x: Float[Array, " d"]) -> Float[Array, ""]:
        y = x.shape[0] ** 2 / 5 * x
        return 0.5 * (y[0] ** 2 + y[-1] ** 2 + jnp.sum((y[1:] - y[:-1]) ** 2))


class Bohachevsky(AbstractPlainLandscape):
    """sum_i y_i^2 + 2 y_{i+1}^2 + 0.3 (1 - cos 3π y_i) + 0.4 (1 - cos 4π y_{i+1}) at y = 3 x (box [-15, 15]).

    Departs from the paper: not in it.
    """

    name: ClassVar[str] = "bohachevsky"
    least: ClassVar[int] = 2

    def __call__(self, x: Float[Array, " d"]) -> Float[Array, ""]:
        y = 3 * x
        bowl = y[:-1] ** 2 + 2 * y[1:] ** 2
        ripple = 0.6 * jnp.sin(1.5 * jnp.pi * y[:-1]) ** 2 + 0.8 * jnp.sin(2 * jnp.pi * y[1:]) ** 2
        return jnp.sum(bowl + ripple)


class Weierstrass(AbstractPlainLandscape):
    """sum_i sum_{k<8} 2^-k (1 - cos(2π 3^k y_i)) at y = x / 20: nowhere smooth, were the sum endless.

    It ends at 8 instead of 12 or 21: beyond, gradients tell of nothing but the finest wave.

    Departs from the paper: not in it.
    """

    name: ClassVar[str] = "weierstrass"
    rotatable: ClassVar[bool] = False

    def __call__(self, x: Float[Array, " d"]) -> Float[Array, ""]:
        k = jnp.arange(8, dtype=x.dtype)
        waves = jnp.sin(jnp.pi * 3.0**k * (x[:, None] / FRACTAL_REACH)) ** 2
        return jnp.sum(2 * 0.5**k * waves)


class Katsuura(AbstractPlainLandscape):
    """prod_i (1 + i sum_{0<k<=10} |2^k y_i - round(2^k y_i)| / 2^k)^(10 / d^1.2) - 1 at y = x / 20, times 10 / d^2.

    The sum ends at 10 instead of 32: the kinks that are left can still be told apart in single precision.

    Departs from the paper: not in it.
    """

    name: ClassVar[str] = "katsuura"
    rotatable: ClassVar[bool] = False

    def __call__(self, x: Float[Array, " d"]) -> Float[Array, ""]:
        d = x.shape[0]
        scale = 2.0 ** jnp.arange(1, 11, dtype=x.dtype)
        y = scale * (x[:, None] / FRACTAL_REACH)
        rough = jnp.sum(jnp.abs(y - jnp.round(y)) / scale, axis=1)
        logs = jnp.log1p(jnp.arange(1, d + 1, dtype=x.dtype) * rough)
        return 10 / d**2 * jnp.expm1(10 / d**1.2 * jnp.sum(logs))


class Lunacek(AbstractDrawnLandscape):
    """min(sum y_i^2, d + S sum (y_i + gap)^2) + 10 sum (1 - cos 2π y_i) at y = 2 (± x): two funnels with ripples.

    The second funnel is the wider one and lies, coordinate by coordinate, on the side of a point of the box.

    Departs from the paper: not in it.
    """

    name: ClassVar[str] = "lunacek"
    side: Float[Array, " d"]

    @classmethod
    def draw(cls, key: PRNGKeyArray, elsewhere: Float[Array, "room d"]) -> Self:
        return cls(side=jnp.sign(elsewhere[0]))

    def __call__(self, x: Float[Array, " d"]) -> Float[Array, ""]:
        d = x.shape[0]
        S = 1 - 1 / (2 * (d + 20) ** 0.5 - 8.2)
        gap = 2.5 + ((2.5**2 - 1) / S) ** 0.5  # mu_0 - mu_1
        y = 2 * x
        bowls = jnp.minimum(jnp.sum(y**2), d + S * jnp.sum((y - gap * self.side) ** 2))
        return bowls + 20 * jnp.sum(jnp.sin(jnp.pi * y) ** 2)


class Gallagher(AbstractDrawnLandscape):
    """(10 - max_i w_i exp(-(x - y_i)^T C_i (x - y_i) / 2d))^2: 101 Gaussian peaks, y_1 = 0 the highest (BBOB f21).

    w_1 = 10, the others run from 1.1 to 9.1; C_i is diagonal with the condition number alpha_i in random order,
    alpha_1 = 1000, the others run from 1 to 10^6 in random order.

    Departs from the paper: not in it.
    """

    name: ClassVar[str] = "gallagher"
    centres: Float[Array, "peaks d"]
    C: Float[Array, "peaks d"]

    @classmethod
    def draw(cls, key: PRNGKeyArray, elsewhere: Float[Array, "room d"]) -> Self:
        key_alpha, key_order = jax.random.split(key)
        d, dtype = elsewhere.shape[1], elsewhere.dtype
        others = jax.random.permutation(key_alpha, jnp.geomspace(1.0, 1e6, PEAKS - 1, dtype=dtype))
        alpha = jnp.concatenate([jnp.full(1, 1e3, dtype), others])[:, None]
        exponents = jnp.broadcast_to(jnp.linspace(0.0, 1.0, d, dtype=dtype) - 0.5, (PEAKS, d))
        C = alpha ** (0.5 * jax.random.permutation(key_order, exponents, axis=1, independent=True))
        centres = jnp.concatenate([jnp.zeros((1, d), dtype), elsewhere[: PEAKS - 1]])
        return cls(centres=centres, C=C)

    def __call__(self, x: Float[Array, " d"]) -> Float[Array, ""]:
        heights = np.concatenate([[10.0], np.linspace(1.1, 9.1, PEAKS - 1)])
        t = jnp.mean(self.C * (x - self.centres) ** 2, axis=1)
        return (10 - jnp.max(jnp.asarray(heights, x.dtype) * jnp.exp(-0.5 * t))) ** 2


class StyblinskiTang(AbstractDrawnLandscape):
    """sum_i (y_i^4 - 16 y_i^2 + 5 y_i) / 2 less its minimum, y = y* + (± x): two wells along every coordinate.

    Around y* a term is x^2 (x^2 + 4 y* x + 6 y*^2 - 16) / 2, whose last factor has no real root. The shallower wells
    lie, coordinate by coordinate, on the side of a point of the box.

    Departs from the paper: not in it.
    """

    name: ClassVar[str] = "styblinski_tang"
    side: Float[Array, " d"]

    @classmethod
    def draw(cls, key: PRNGKeyArray, elsewhere: Float[Array, "room d"]) -> Self:
        return cls(side=jnp.sign(elsewhere[0]))

    def __call__(self, x: Float[Array, " d"]) -> Float[Array, ""]:
        t = self.side * x
        return 0.5 * jnp.sum(t**2 * (t**2 + 4 * STYBLINSKI * t + 6 * STYBLINSKI**2 - 16))


class HappyCat(AbstractPlainLandscape):
    """| |y|^2 - d |^(1/4) + |y + 1|^2 / 2d at y = 0.4 x - 1 (box [-2, 2]): a sharp spherical ridge, and 0 on it.

    Departs from the paper: not in it.
    """

    name: ClassVar[str] = "happy_cat"

    def __call__(self, x: Float[Array, " d"]) -> Float[Array, ""]:
        y = 0.4 * x  # from the minimiser
        return power(jnp.abs(jnp.sum(y * (y - 2))), 0.25) + 0.5 * jnp.mean(y**2)


HELD_OUT_LANDSCAPES: tuple[type[AbstractDrawnLandscape], ...] = (
    Griewank,
    Salomon,
    DropWave,
    SchafferF7,
    Zakharov,
    PowellSingular,
    Trid,
    Bohachevsky,
    Weierstrass,
    Katsuura,
    Lunacek,
    Gallagher,
    StyblinskiTang,
    HappyCat,
)
