"""Fifteen smooth functions of any even dimension, differentiated by JAX, on which both engines are compared."""

import functools
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np


def _index(x):
    return jnp.arange(1.0, x.size + 1.0)


def ellipsoid(x):
    return jnp.sum(10.0 ** (3.0 * (_index(x) - 1.0) / (x.size - 1.0)) * (x - 0.5) ** 2)


def griewank(x):
    return jnp.sum(x**2) / 40.0 - jnp.prod(jnp.cos(3.0 * x / jnp.sqrt(_index(x)))) + 1.0


def levy(x):
    w = 1.0 + (x - 1.0) / 4.0
    middle = (w[:-1] - 1.0) ** 2 * (1.0 + 10.0 * jnp.sin(jnp.pi * w[:-1] + 1.0) ** 2)
    return jnp.sin(jnp.pi * w[0]) ** 2 + jnp.sum(middle) + (w[-1] - 1.0) ** 2


def styblinski_tang(x):
    return 0.5 * jnp.sum(x**4 - 16.0 * x**2 + 5.0 * x)


def zakharov(x):
    slope = jnp.sum(0.5 * _index(x) * x)
    return jnp.sum(x**2) + slope**2 + slope**4


def dixon_price(x):
    return (x[0] - 1.0) ** 2 + jnp.sum(_index(x)[1:] * (2.0 * x[1:] ** 2 - x[:-1]) ** 2)


def trid(x):
    return jnp.sum((x - 1.0) ** 2) - jnp.sum(x[1:] * x[:-1])


def salomon(x):
    radius = jnp.sqrt(jnp.sum((x - 0.3) ** 2) + 1e-3)
    return 1.0 - jnp.cos(2.0 * jnp.pi * radius) + 0.1 * radius


def alpine(x):
    return jnp.sum(jnp.sqrt((x * jnp.sin(x) + 0.1 * x) ** 2 + 1e-3))


def schwefel_sums(x):
    return jnp.sum(jnp.cumsum(x - 0.2) ** 2)


def powell_pairs(x):
    a, b = x[::2], x[1::2]
    return jnp.sum((a + 10.0 * b) ** 2 + (a - 2.0 * b) ** 4)


def coupled_pendulums(x):
    return jnp.sum(1.0 - jnp.cos(x)) + 0.3 * jnp.sum((x[1:] - x[:-1]) ** 2)


def gaussian_wells(x):
    centres = jnp.asarray(np.random.default_rng(5).uniform(-4.0, 4.0, (6, x.size)))
    depths = jnp.linspace(1.0, 3.0, 6)
    return -jnp.sum(depths * jnp.exp(-0.5 * jnp.sum((x - centres) ** 2, axis=1) / x.size)) + 1e-3 * jnp.sum(x**2)


def oscillation_fit(x):
    """Sums of decaying waves, fitted to one."""
    t, wave = jnp.linspace(0.0, 2.0, 24), lambda a, b: a * jnp.sin(b)
    made = sum(wave(x[2 * i], (1.0 + x[2 * i + 1]) * t) for i in range(x.size // 2))
    return jnp.mean((made - jnp.sin(3.0 * t)) ** 2)


def log_sum_exp(x):
    matrix = jnp.asarray(np.random.default_rng(7).normal(size=(2 * x.size, x.size)))
    return jax.nn.logsumexp(matrix @ x) + 0.05 * jnp.sum(x**2)


FUNCTIONS = (ellipsoid, griewank, levy, styblinski_tang, zakharov, dixon_price, trid, salomon, alpine, schwefel_sums)
FUNCTIONS += (powell_pairs, coupled_pendulums, gaussian_wells, oscillation_fit, log_sum_exp)


@functools.cache
def in_numpy(fun: Callable) -> Callable:
    """x -> (value, gradient), NumPy in and out."""
    pair = jax.jit(jax.value_and_grad(fun))

    def read(x):
        value, gradient = pair(x)
        return float(value), np.asarray(gradient)

    return read
