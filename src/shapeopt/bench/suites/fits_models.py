"""The models of the suite `fits`: what each is fitted to, its box and its loss."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

DECAY = 1e-4  # weight of the squared size of a network's weights in its loss
NOISE = 0.02  # standard deviation of generated data, in units of their own

Built = tuple[Callable[[Any], Any], np.ndarray, np.ndarray]  # loss, lower, upper


@dataclass(frozen=True)
class Model:
    """A loss that can be built: the group of its data, its kind and its number of parameters."""

    group: str
    kind: str
    dimension: int
    build: Callable[[], Built]


def _data(name: str, columns: tuple[int, ...] = ()) -> tuple[np.ndarray, np.ndarray]:
    """Standardised features and the raw target of a set that scikit-learn bundles."""
    import sklearn.datasets as datasets

    table = getattr(datasets, f"load_{name}")()
    x = table.data[:, list(columns)] if columns else table.data
    return (x - x.mean(axis=0)) / x.std(axis=0), table.target


def _network(name: str, columns: tuple[int, ...], hidden: int, outputs: int, reach: float) -> Built:
    """One hidden layer of tanh; classes by cross-entropy, or one number by squares if `outputs` is 1."""
    import jax.numpy as jnp
    from jax.nn import log_softmax

    x, target = _data(name, columns)
    y = (target - target.mean()) / target.std() if outputs == 1 else target.astype(int)
    first, second = (x.shape[1] + 1) * hidden, (hidden + 1) * outputs

    def loss(w: Any) -> Any:
        inner = jnp.tanh(jnp.asarray(x) @ w[:first].reshape(-1, hidden)[1:] + w[:hidden])
        out = inner @ w[first:].reshape(-1, outputs)[1:] + w[first : first + outputs]
        error = (out[:, 0] - y) ** 2 if outputs == 1 else -log_softmax(out)[jnp.arange(len(y)), y]
        return jnp.mean(error) + DECAY * jnp.sum(w**2)

    box = np.full(first + second, reach)
    return loss, -box, box


def _mixture(name: str, columns: tuple[int, ...], parts: int) -> Built:
    """Gaussian parts with diagonal covariances: logits of the weights (the first is 0), means, log deviations."""
    import jax.numpy as jnp
    from jax.nn import log_softmax
    from jax.scipy.special import logsumexp

    x, _ = _data(name, columns)
    count = parts * x.shape[1]

    def loss(theta: Any) -> Any:
        logits = log_softmax(jnp.concatenate([jnp.zeros(1), theta[: parts - 1]]))
        means, scales = theta[parts - 1 :].reshape(2, parts, -1)
        z = (jnp.asarray(x)[:, None, :] - means) / jnp.exp(scales)
        terms = -0.5 * jnp.sum(z**2, axis=2) - jnp.sum(scales, axis=1) - 0.5 * x.shape[1] * jnp.log(2 * jnp.pi)
        return -jnp.mean(logsumexp(terms + logits, axis=1))

    upper = np.concatenate([np.full(parts - 1, 3.0), np.full(count, 3.0), np.full(count, 1.0)])
    return loss, np.concatenate([-upper[: parts - 1 + count], np.full(count, -3.0)]), upper


def _generated(curve: Callable[[Any], Any], truth: np.ndarray, lower: Any, upper: Any, seed: int) -> Built:
    """Mean squares between a curve and its values at known parameters with noise."""
    import jax.numpy as jnp

    clean = np.asarray(curve(jnp.asarray(truth)))
    noisy = clean + NOISE * np.std(clean) * np.random.default_rng(seed).normal(size=clean.shape)

    def loss(theta: Any) -> Any:
        return jnp.mean((curve(theta) - noisy) ** 2)

    return loss, np.asarray(lower, float), np.asarray(upper, float)


def _decays(amplitudes: tuple[float, ...], rates: tuple[float, ...]) -> Built:
    """sum_k a_k exp(-r_k t), with the rates as logarithms."""
    import jax.numpy as jnp

    t, parts = np.linspace(0, 10, 120), len(rates)

    def curve(theta: Any) -> Any:
        return jnp.exp(-t[:, None] * jnp.exp(theta[parts:])) @ theta[:parts]

    truth = np.concatenate([amplitudes, np.log(rates)])
    ends = np.repeat([10.0, 3.0], parts)
    return _generated(curve, truth, np.repeat([-10.0, -4.0], parts), ends, parts)


def _waves(amplitudes: tuple[float, ...], rates: tuple[float, ...], frequencies: tuple[float, ...]) -> Built:
    """sum_k a_k exp(-r_k t) cos(w_k t)."""
    import jax.numpy as jnp

    t, parts = np.linspace(0, 10, 200), len(rates)

    def curve(theta: Any) -> Any:
        a, r, w = theta.reshape(3, parts)
        return (jnp.exp(-t[:, None] * r) * jnp.cos(t[:, None] * w)) @ a

    truth = np.concatenate([amplitudes, rates, frequencies])
    ends = np.repeat([5.0, 2.0, 8.0], parts)
    return _generated(curve, truth, np.repeat([-5.0, 0.0, 0.0], parts), ends, 10 + parts)


def _solve(slope: Callable[[Any, Any], Any], theta: Any, start: Any, step: float, steps: int, every: int) -> Any:
    """States of an equation at every `every`-th step of the classic Runge-Kutta method, clipped to |y| <= 1e3."""
    import jax
    import jax.numpy as jnp

    def advance(y: Any, _: Any) -> tuple[Any, Any]:
        k1 = slope(y, theta)
        k2 = slope(y + step / 2 * k1, theta)
        k3 = slope(y + step / 2 * k2, theta)
        k4 = slope(y + step * k3, theta)
        y = jnp.clip(y + step / 6 * (k1 + 2 * k2 + 2 * k3 + k4), -1e3, 1e3)
        return y, y

    return jax.lax.scan(advance, start, None, length=steps)[1][every - 1 :: every]


def _predators(y: Any, p: Any) -> Any:
    import jax.numpy as jnp

    return jnp.stack([p[0] * y[0] - p[1] * y[0] * y[1], p[2] * y[0] * y[1] - p[3] * y[1]])


def _epidemic(y: Any, p: Any) -> Any:
    import jax.numpy as jnp

    infected, ill = p[0] * y[0] * y[2], p[1] * y[1]
    return jnp.stack([-infected, infected - ill, ill - p[2] * y[2]])


def _neuron(y: Any, p: Any) -> Any:
    import jax.numpy as jnp

    return jnp.stack([p[2] * (y[0] - y[0] ** 3 / 3 + y[1]), -(y[0] - p[0] + p[1] * y[1]) / p[2]])


def _oscillator(y: Any, p: Any) -> Any:
    import jax.numpy as jnp

    return jnp.stack([y[1], p[0] * (1 - y[0] ** 2) * y[1] - p[1] * y[0]])


def _steps(y: Any, p: Any) -> Any:
    import jax.numpy as jnp

    forward, back, end = p[0] * y[0], p[1] * y[1], p[2] * y[1]
    return jnp.stack([back - forward, forward - back - end, end])


def _feedback(y: Any, p: Any) -> Any:
    import jax.numpy as jnp

    made = p[0] / (1 + jnp.maximum(y[2], 0) ** p[1])
    return jnp.stack([made - p[2] * y[0], p[3] * y[0] - p[4] * y[1], p[5] * y[1] - p[6] * y[2]])


@dataclass(frozen=True)
class Equation:
    """An equation with true parameters, true start, and the box of parameters (then the box of starts)."""

    slope: Callable[[Any, Any], Any]
    truth: tuple[float, ...]
    start: tuple[float, ...]
    box: tuple[float, float]
    starts: tuple[float, float] | None  # the box of the start, where it is fitted, too
    span: float

    @property
    def dimension(self) -> int:
        return len(self.truth) + (len(self.start) if self.starts else 0)

    def build(self) -> Built:
        import jax.numpy as jnp

        count, step = len(self.truth), self.span / 400

        def curve(theta: Any) -> Any:
            start = theta[count:] if self.starts else jnp.asarray(self.start)
            return _solve(self.slope, theta[:count], start, step, 400, 10)

        truth = np.array(self.truth + (self.start if self.starts else ()))
        sides = [self.box] * count + ([self.starts] * len(self.start) if self.starts else [])
        lower, upper = np.array(sides, float).T
        return _generated(curve, truth, lower, upper, count)


EQUATIONS = {
    "predators": Equation(_predators, (1.1, 0.4, 0.1, 0.4), (10.0, 10.0), (0.01, 2.0), (1.0, 20.0), 20.0),
    "epidemic": Equation(_epidemic, (1.6, 0.35, 0.8), (0.99, 0.01, 0.01), (0.01, 5.0), None, 40.0),
    "neuron": Equation(_neuron, (0.2, 0.2, 3.0), (-1.0, 1.0), (0.05, 6.0), (-2.0, 2.0), 20.0),
    "oscillator": Equation(_oscillator, (1.5, 1.2), (2.0, 0.0), (0.0, 4.0), (-3.0, 3.0), 15.0),
    "steps": Equation(_steps, (0.8, 0.3, 0.5), (1.0, 0.0, 0.0), (0.0, 5.0), None, 10.0),
    "feedback": Equation(_feedback, (3.0, 6.0, 0.5, 1.0, 0.6, 1.0, 0.7), (0.5, 0.5, 0.5), (0.1, 10.0), None, 30.0),
}


def _size(features: int, hidden: int, outputs: int) -> int:
    return (features + 1) * hidden + (hidden + 1) * outputs


def _networks() -> dict[str, Model]:
    rows = [  # data, columns, features, hidden, outputs
        ("iris", (), 4, 3, 3),
        ("diabetes", (), 10, 4, 1),
        ("wine", (0, 6, 9, 11, 12), 5, 5, 3),
        ("breast_cancer", (0, 1, 7, 20, 21, 27), 6, 6, 2),
        ("iris", (2, 3), 2, 6, 3),
        ("diabetes", (2, 3, 8), 3, 8, 1),
    ]
    return {
        f"network_{data}_{features}_{hidden}": Model(
            data, "networks", _size(features, hidden, outputs), partial(_network, data, columns, hidden, outputs, 5.0)
        )
        for data, columns, features, hidden, outputs in rows
    }


def _mixtures() -> dict[str, Model]:
    rows = [  # data, columns, parts
        ("iris", (2,), 2),
        ("iris", (0, 2), 3),
        ("wine", (9,), 3),
        ("wine", (6, 9, 12), 3),
        ("breast_cancer", (0, 1), 3),
        ("diabetes", (2, 8), 4),
    ]
    return {
        f"mixture_{data}_{len(columns)}_{parts}": Model(
            data, "mixtures", parts - 1 + 2 * parts * len(columns), partial(_mixture, data, columns, parts)
        )
        for data, columns, parts in rows
    }


MODELS: dict[str, Model] = {
    **_networks(),
    **_mixtures(),
    "decays2": Model("decays2", "exponentials", 4, partial(_decays, (3.0, 1.5), (0.3, 2.0))),
    "decays3": Model("decays3", "exponentials", 6, partial(_decays, (2.0, -4.0, 3.0), (0.1, 0.8, 4.0))),
    "decays4": Model("decays4", "exponentials", 8, partial(_decays, (1.0, 5.0, -6.0, 2.0), (0.05, 0.4, 1.2, 6.0))),
    "waves1": Model("waves1", "exponentials", 3, partial(_waves, (2.0,), (0.2,), (3.0,))),
    "waves2": Model("waves2", "exponentials", 6, partial(_waves, (2.0, -1.0), (0.2, 0.05), (3.0, 5.5))),
    "waves3": Model("waves3", "exponentials", 9, partial(_waves, (2.0, -1.0, 1.5), (0.2, 0.05, 0.6), (3.0, 5.5, 1.2))),
    **{name: Model(name, "equations", each.dimension, each.build) for name, each in EQUATIONS.items()},
}
