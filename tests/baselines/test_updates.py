"""Every update against slow references: the paper's equations in NumPy, and Optax driven by hand."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from shapeopt.baselines import (
    SAM,
    SOAP,
    AdaDelta,
    AdaGrad,
    Adam,
    AdamW,
    GradientDescent,
    Lion,
    LionK,
    Lookahead,
    Momentum,
    Muon,
    Nesterov,
    RMSProp,
    Shampoo,
    Sophia,
)
from shapeopt.core import Box
from shapeopt.oracles import ExactOracle
from shapeopt.rollout import rollout

STEPS, D, EPS = 200, 4, 1e-8
X0 = np.array([1.5, -2.0, 0.7, 3.0])
CURVATURE = np.array([0.5, 1.0, 2.0, 4.0])

METHODS = {
    "gd": GradientDescent(0.03),
    "momentum": Momentum(0.028, 0.72),
    "nag": Nesterov(0.026, 0.82),
    "adagrad": AdaGrad(0.2),
    "rmsprop": RMSProp(0.02, 0.99),
    "adadelta": AdaDelta(),
    "adam": Adam(0.025, 0.9, 0.999),
    "adamw": AdamW(0.025, 0.9, 0.999, 0.1),
    "lookahead": Lookahead(Adam(0.025), 5, 0.4),
    "sam": SAM(0.03, 0.05),
    "shampoo": Shampoo(0.02),
    "soap": SOAP(0.012, 0.95, 0.99),
    "sophia": Sophia(0.5, 0.965, 0.99, 0.5),
    "lion": Lion(0.01, 0.9, 0.99, 0.1),
    "lionk": LionK(0.01, 0.9, 0.99, 5, 0.3),
    "muon": Muon(0.02),
}


def value(x):
    """A coupled bowl with ripples, whose gradients are of order 1."""
    return 0.5 * jnp.sum(CURVATURE * x**2) + 0.15 * jnp.sum(jnp.cos(2 * x)) + 0.05 * jnp.sum(x) ** 2


def slope(x):
    return CURVATURE * x - 0.3 * np.sin(2 * x) + 0.1 * np.sum(x)


@functools.cache
def points_of(name):
    """Points that the method reads, in a box too wide to matter."""
    box = Box.around(np.full(D, -50.0), np.full(D, 50.0))
    run = lambda x: rollout(METHODS[name], ExactOracle(value), x, box, STEPS, jax.random.key(0), record_points=True)  # noqa: E731
    return np.asarray(jax.jit(run)(jnp.asarray(X0)).steps.x)


def test_the_slope_is_that_of_the_value():
    np.testing.assert_allclose(jax.grad(value)(jnp.asarray(X0)), slope(X0), rtol=1e-12)


# The paper's equations, written as they stand there: (q, g, memory, k) -> (next q, memory), k counting from 1.

ZERO = np.zeros(D)


def gd(q, g, _, k):
    return q - 0.03 * g, None


def heavy_ball(q, g, p=ZERO, k=0, lr=0.028, beta=0.72):
    eta = lr**0.5
    gamma = (1 - beta) / eta
    p = (1 - gamma * eta) * p - eta * g
    return q + eta * p, p


def nag(predicted, g, p=ZERO, k=0, lr=0.026, beta=0.82):
    q = predicted - beta * p
    p = beta * p - lr * g
    q = q + p
    return q + beta * p, p


def adagrad(q, g, v=ZERO, k=0, lr=0.2):
    v = v + g * g
    return q - lr * g / (np.sqrt(v) + EPS), v


def rmsprop(q, g, v=ZERO, k=0, lr=0.02, alpha=0.99):
    v = alpha * v + (1 - alpha) * g * g
    return q - lr * g / (np.sqrt(v) + EPS), v


def adadelta(q, g, memory=(ZERO, ZERO), k=0, rho=0.9, eps=1e-6):
    v, m = memory
    v = rho * v + (1 - rho) * g * g
    u = -np.sqrt(m + eps) / np.sqrt(v + eps) * g
    return q + u, (v, rho * m + (1 - rho) * u * u)


def adam(q, g, memory=(ZERO, ZERO), k=0, lr=0.025, beta1=0.9, beta2=0.999, decay=0.0):
    m, v = memory
    m, v = beta1 * m + (1 - beta1) * g, beta2 * v + (1 - beta2) * g * g
    m_hat, v_hat = m / (1 - beta1**k), v / (1 - beta2**k)
    return q - lr * m_hat / (np.sqrt(v_hat) + EPS) - lr * decay * q, (m, v)


def lookahead(q, g, memory=(X0, (ZERO, ZERO)), k=0, period=5, alpha=0.4):
    slow, fast_memory = memory
    q, fast_memory = adam(q, g, fast_memory, k)
    if k % period == 0:
        q = slow = slow + alpha * (q - slow)
    return q, (slow, fast_memory)


def sam(q, g, origin=None, k=0, lr=0.03, rho=0.05):
    if origin is None:
        return q + rho * g / (np.sqrt(g @ g) + EPS), q
    return origin - lr * g, None


def shampoo(q, g, memory=(ZERO, 0.0), k=0, lr=0.02):
    L, R = memory
    L, R = L + np.diag(np.outer(g, g)), R + g @ g
    return q - lr * g / ((L + EPS) * (R + EPS)) ** 0.25, (L, R)


def sophia(q, g, memory=(ZERO, ZERO), k=0, lr=0.5, beta1=0.965, beta2=0.99, rho=0.5):
    m, h = memory
    m, h = beta1 * m + (1 - beta1) * g, beta2 * h + (1 - beta2) * g * g
    return q - lr * np.clip(m / (h + EPS), -rho, rho), (m, h)


def lion(q, g, m=ZERO, k=0, lr=0.01, beta1=0.9, beta2=0.99, decay=0.1):
    c = beta1 * m + (1 - beta1) * g
    return q - lr * (np.sign(c) + decay * q), beta2 * m + (1 - beta2) * g


def lionk(q, g, m=ZERO, k=0, period=5, scale=0.3):
    return lion(q, g, m, k, lr=scale if k % period == 0 else 0.01, decay=0.0)


def muon(q, g, B=ZERO, k=0, lr=0.02, mu=0.95):
    B = mu * B + g
    left, _, right = np.linalg.svd(B[:, None], full_matrices=False)  # the polar factor of a d x 1 matrix
    return q - lr * D**0.5 * (left @ right)[:, 0], B


REFERENCES = {
    "gd": gd,
    "momentum": heavy_ball,
    "nag": nag,
    "adagrad": adagrad,
    "rmsprop": rmsprop,
    "adadelta": adadelta,
    "adam": adam,
    "adamw": functools.partial(adam, decay=0.1),
    "lookahead": lookahead,
    "sam": sam,
    "shampoo": shampoo,
    "soap": functools.partial(adam, lr=0.012, beta1=0.95, beta2=0.99),
    "sophia": sophia,
    "lion": lion,
    "lionk": lionk,
    "muon": muon,
}


@pytest.mark.parametrize("name", METHODS)
def test_the_points_are_those_of_the_papers_equation(name):
    step, points = REFERENCES[name], [X0]
    arguments: tuple = (None,) if name == "gd" else ()
    for k in range(1, STEPS):
        q, memory = step(points[-1], slope(points[-1]), *arguments, k=k)
        points.append(q)
        arguments = (memory,)
    assert np.linalg.norm(points[-1] - X0) > 0.2  # it went somewhere
    np.testing.assert_allclose(points_of(name), points, rtol=0, atol=1e-6)


OPTAX = {
    "gd": optax.sgd(0.03),
    "momentum": optax.sgd(0.028, momentum=0.72),
    "nag": optax.sgd(0.026, momentum=0.82, nesterov=True),
    "adagrad": optax.adagrad(0.2, initial_accumulator_value=0.0, eps=EPS),
    "rmsprop": optax.rmsprop(0.02, decay=0.99, eps=EPS, eps_in_sqrt=False),
    "adadelta": optax.adadelta(1.0, rho=0.9, eps=1e-6),
    "adam": optax.adam(0.025),
    "adamw": optax.adamw(0.025, weight_decay=0.1),
    "lookahead": optax.lookahead(optax.adam(0.025), 5, 0.4),
    "sam": optax.contrib.sam(optax.sgd(0.03), optax.chain(optax.contrib.normalize(), optax.sgd(0.05))),
    "soap": optax.adam(0.012, b1=0.95, b2=0.99),
    "lion": optax.lion(0.01, weight_decay=0.1),
}


@pytest.mark.parametrize("name", OPTAX)
def test_the_points_are_those_of_optax(name):
    rule, x0 = OPTAX[name], jnp.asarray(X0)
    paired = name == "lookahead"

    def step(carry, _):
        params, memory = carry
        x = params.fast if paired else params
        u, memory = rule.update(jax.grad(value)(x), memory, params)
        return (optax.apply_updates(params, u), memory), x

    with jax.numpy_dtype_promotion("standard"):  # Optax mixes dtypes
        params = optax.LookaheadParams.init_synced(x0) if paired else x0
        points = jax.jit(lambda params: jax.lax.scan(step, (params, rule.init(params)), length=STEPS)[1])(params)
    np.testing.assert_allclose(points_of(name), points, rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: GradientDescent(-1.0), "`lr` must be finite and positive; got -1.0"),
        (lambda: Momentum(0.1, 1.0), "`beta` must be at least 0 and below 1; got 1.0"),
        (lambda: Adam(0.1, beta2=-0.5), "`beta2` must be at least 0 and below 1; got -0.5"),
        (lambda: AdamW(0.1, weight_decay=-1.0), "`weight_decay` must be finite and not negative; got -1.0"),
        (lambda: Lookahead(Adam(0.1), 0), "`period` must be an integer of at least 1; got 0"),
        (lambda: Lookahead(Adam(0.1), alpha=1.5), "`alpha` must be above 0 and at most 1; got 1.5"),
        (lambda: SAM(0.1, rho=float("inf")), "`rho` must be finite and positive; got inf"),
        (lambda: LionK(0.1, 0.9, 0.99, 2.5, 1.0), "`kick_period` must be an integer of at least 1; got 2.5"),
        (lambda: Muon(float("nan")), "`lr` must be finite and positive; got nan"),
    ],
)
def test_wrong_settings_are_refused_by_name(build, message):
    with pytest.raises(ValueError, match=message):
        build()
