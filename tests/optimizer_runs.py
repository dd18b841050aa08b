"""Runs of the optimizer on either engine, reading by reading, and NumPy objectives (value, gradient) made for them."""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from shapeopt.core import Box, Cause, Reading
from shapeopt.core.board import Spec
from shapeopt.engines.host import noise_settings, seed_words
from shapeopt.ops import HOST
from shapeopt.optimizer import Optimizer, Policy, State

Objective = Callable[[np.ndarray], tuple[float, np.ndarray]]
REACH = 5.0


class Made(NamedTuple):
    """A run: a row a reading. `decisions` are (tactic, phase, cause); `ledger` has the columns LEDGER_TERMS."""

    x: np.ndarray
    value: np.ndarray
    decisions: list[tuple[str, str, str]]
    ledger: np.ndarray
    states: list[State]  # after each reading, on the host alone

    @property
    def tactics(self) -> list[str]:
        return [tactic for tactic, _, _ in self.decisions]

    @property
    def best(self) -> float:
        return float(np.min(self.value[np.isfinite(self.value)], initial=np.inf))


def box_around(x0: np.ndarray, lower: Any = -REACH, upper: Any = REACH) -> Box:
    sides = (np.broadcast_to(np.asarray(side, x0.dtype), x0.shape) for side in (lower, upper))
    return Box.around(*sides, x0)


def run_on_host(
    fun: Objective,
    x0: Any,
    budget: int = 100,
    *,
    lower: Any = -REACH,
    upper: Any = REACH,
    policy: Policy | None = None,
    seed: int = 0,
    noise: float | None = None,
    keep: bool = False,
) -> Made:
    x0 = np.asarray(x0)
    box = box_around(x0, lower, upper)
    told, noise_std = noise_settings(policy or Policy(), noise)
    optimizer = Optimizer(told, Spec(x0.size, x0.dtype), noise_std)
    q = np.clip(box.inward(x0), box.q_lower, box.q_upper)
    state = optimizer.init(HOST, q, box.q_lower, box.q_upper, float(budget), seed_words(seed, 0))
    points, values, infos, states = [], [], [], []
    for _ in range(budget):
        x = box.outward(state.q)
        f, g = fun(x)
        with np.errstate(all="ignore"):
            state = optimizer.tell(HOST, state, float(f), np.asarray(g, x0.dtype) * box.scale, 1)
        points.append(x.copy())
        values.append(float(f))
        infos.append(state.info)
        if keep:
            states.append(state)
    return _made(optimizer, points, values, infos, states)


@functools.cache
def _device_programs(policy: Policy, noise_std: float, d: int, dtype: str) -> tuple[Any, Any]:
    """(init, tell) of the device engine; compiled once for a policy, dimension and precision."""
    import jax

    from shapeopt.engines.device import DeviceShape

    shape = DeviceShape(policy, noise_std)

    def begin(x0: Any, box: Box, budget: Any, words: Any) -> Any:
        state = shape.init(x0, box, budget, jax.random.wrap_key_data(words))
        return state, shape.ask(state)

    def tell(state: Any, value: Any, gradient: Any, cost: Any) -> Any:
        state = shape.tell(state, Reading(value, gradient, cost))
        return state, shape.ask(state), shape.info(state)

    return jax.jit(begin), jax.jit(tell)


def run_on_device(
    fun: Objective,
    x0: Any,
    budget: int = 100,
    *,
    lower: Any = -REACH,
    upper: Any = REACH,
    policy: Policy | None = None,
    seed: int = 0,
    noise: float | None = None,
) -> Made:
    import jax

    x0 = np.asarray(x0)
    box = box_around(x0, lower, upper)
    told, noise_std = noise_settings(policy or Policy(), noise)
    begin, tell = _device_programs(told, noise_std, x0.size, str(x0.dtype))
    state, x = begin(x0, box, np.asarray(budget, x0.dtype), seed_words(seed, 0))
    points, values, infos = [], [], []
    for _ in range(budget):
        here = np.asarray(x)
        f, g = fun(here)
        state, x, info = tell(state, np.asarray(f, x0.dtype), np.asarray(g, x0.dtype), np.int32(1))
        points.append(here)
        values.append(float(f))
        infos.append(jax.device_get(info))
    return _made(Optimizer(told, Spec(x0.size, x0.dtype)), points, values, infos, [])


def _made(optimizer: Optimizer, points: list, values: list, infos: list, states: list) -> Made:
    tactics = [optimizer.tactics[int(info.tactic)] for info in infos]
    decisions = [
        (tactic.name, tactic.phases[int(info.phase)], Cause(int(info.cause)).name.lower())
        for tactic, info in zip(tactics, infos, strict=True)
    ]
    ledger = np.array([info.ledger for info in infos], float)
    return Made(np.array(points), np.array(values), decisions, ledger, states)


# ------------------------------------------------------------------------------------------------------ objectives


def bowl(x: np.ndarray) -> tuple[float, np.ndarray]:
    """An ill-conditioned quadratic, not separable; its minimum is at 1."""
    scales = np.geomspace(1.0, 100.0, x.size).astype(x.dtype)
    turned = scales * _turn(x.size, x.dtype).dot(x - 1)
    return 0.5 * float(turned @ (turned / scales)), turned @ _turn(x.size, x.dtype)


def rastrigin(x: np.ndarray) -> tuple[float, np.ndarray]:
    """A separable sum with its minimum, 0, at 0.7."""
    z = x - x.dtype.type(0.7)
    w = x.dtype.type(2.0 * np.pi)
    return float(np.sum(z * z + 10.0 * (1.0 - np.cos(w * z)))), 2.0 * z + 10.0 * w * np.sin(w * z)


def turned_rastrigin(x: np.ndarray) -> tuple[float, np.ndarray]:
    """The same in turned axes, with its minimum at the same place."""
    turn, centre = _turn(x.size, x.dtype), x.dtype.type(0.7)
    f, g = rastrigin(turn @ (x - centre) + centre)
    return f, g @ turn


def turned_ackley(x: np.ndarray) -> tuple[float, np.ndarray]:
    """Ackley's function in turned axes: a funnel under ripples that no descent passes; minimum 0 at 1."""
    turn, d = _turn(x.size, x.dtype), x.size
    z = turn @ (x - 1.0)
    radius = np.sqrt(z @ z / d + 1e-12)
    funnel, ripples = 20.0 * np.exp(-0.2 * radius), np.exp(np.mean(np.cos(2.0 * np.pi * z)))
    g = funnel * 0.2 * z / (d * radius) + ripples * 2.0 * np.pi * np.sin(2.0 * np.pi * z) / d
    return float(20.0 + np.e - funnel - ripples), g @ turn


def rosenbrock(x: np.ndarray) -> tuple[float, np.ndarray]:
    """A curved valley, a sum in no frame; minimum 0 at 1."""
    a, b = x[1:] - x[:-1] ** 2, 1.0 - x[:-1]
    g = np.zeros_like(x)
    g[1:] += 200.0 * a
    g[:-1] += -400.0 * a * x[:-1] - 2.0 * b
    return float(np.sum(100.0 * a * a + b * b)), g


def wells(x: np.ndarray) -> tuple[float, np.ndarray]:
    """Six round wells on a plain: many basins, no axes."""
    rng = np.random.default_rng(8)
    centres, depths = rng.uniform(-4.0, 4.0, (6, x.size)), rng.uniform(1.0, 2.0, 6)
    away = x - centres
    heights = depths * np.exp(-0.15 * np.sum(away * away, axis=1))
    return float(0.01 * x @ x - heights.sum()), 0.02 * x + 0.3 * heights @ away


def kinked(x: np.ndarray) -> tuple[float, np.ndarray]:
    """Sums of absolute values in turned axes: forces jump, and nothing is noisy."""
    turn = _turn(x.size, x.dtype)
    z = turn @ (x - 0.4)
    return float(np.abs(z).sum()), np.sign(z) @ turn


def cluster(x: np.ndarray) -> tuple[float, np.ndarray]:
    """Lennard-Jones atoms, three coordinates each."""
    atoms = x.reshape(-1, 3)
    away = atoms[:, None] - atoms
    square = np.sum(away * away, axis=-1)
    np.fill_diagonal(square, np.inf)
    s = 1.0 / square**3
    pull = (-24.0 * (2.0 * s * s - s) / square)[..., None] * away
    return float(2.0 * np.sum(s * s - s)), pull.sum(axis=1).reshape(-1)


class Noisy:
    """Adds normal noise of one standard deviation to each coordinate of the force; values are exact."""

    def __init__(self, fun: Objective, std: float, seed: int = 0) -> None:
        self.fun, self.std, self.rng = fun, std, np.random.default_rng(seed)

    def __call__(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        f, g = self.fun(x)
        return f, g + self.std * self.rng.normal(size=x.size).astype(x.dtype)


@functools.cache
def _turn(d: int, dtype: Any) -> np.ndarray:
    return np.linalg.qr(np.random.default_rng(5).normal(size=(d, d)))[0].astype(dtype)
