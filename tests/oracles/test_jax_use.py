"""What the code of a function tells of JAX."""

import functools
import subprocess
import sys

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.numpy import sum as total

from shapeopt.oracles import refers_to_jax


def direct(x):
    return jnp.sum(x**2)


def in_numpy(x):
    return np.sum(x**2) if not isinstance(x, jax.core.Tracer) else 0.0


class Wrapped:
    def __init__(self, fun):
        self.fun = fun

    def __call__(self, x):
        return self.fun(x)


class Module(eqx.Module):
    shift: jax.Array

    def __call__(self, x):
        return ((x - self.shift) ** 2).sum()


def closed_over(fun):
    return lambda x: 2 * fun(x)


@pytest.mark.parametrize(
    "fun, found",
    [
        (direct, True),
        (lambda x: total(x), True),
        (lambda x: next(jnp.sin(part) for part in x), True),
        (jax.jit(in_numpy), True),
        (closed_over(direct), True),
        (functools.partial(closed_over, direct), True),
        (Wrapped(direct), True),
        (Wrapped(direct).__call__, True),
        (Module(jnp.ones(2)), True),
        (in_numpy, False),
        (closed_over(in_numpy), False),
        (Wrapped(in_numpy), False),
        (Wrapped(Wrapped(in_numpy)).__call__, False),
        (np.sum, False),
        (lambda x: float(jnp.sum(x)), False),
        (Wrapped([direct]), False),
    ],
)
def test_a_function_refers_to_jax_by_its_code_its_closure_or_its_attributes(fun, found):
    assert refers_to_jax(fun) is found


def test_a_function_that_refers_to_itself_is_looked_through():
    wrapped = Wrapped(None)
    wrapped.fun = wrapped
    assert not refers_to_jax(wrapped)


def test_without_jax_in_the_process_nothing_refers_to_it():
    code = "import sys; from shapeopt.oracles import refers_to_jax as f; assert not f(f) and 'jax' not in sys.modules"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
