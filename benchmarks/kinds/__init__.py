"""Objectives as users have them, with the values that they return: 37 kinds, each in two instances.

Designs (filters, arrays, films, trusses, gears), fits of models to made data (kinetics, spectra, epidemics,
volatility, orbits), layouts (facilities, sensors, arms among obstacles), hyperparameters, and decisions under sampled
scenarios. Among them: active bounds, scales that differ by powers of ten, values rounded to a few digits, kinks,
plateaus, cliffs, holes (NaN) and many basins. Data are made from a fixed seed. Every other kind belongs to the half
`dev`, on which rules may be tuned; the others are for confirmation. None is of a suite.

With gradients, a reading brings central differences beside the value, which nobody counts; kinds whose values are
rounded or count whole pieces are left out then.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from shapeopt.bench.suites.base import DEV, TEST, Objective, SuiteProblem

from . import decades, decisions, designs, fits
from .base import Made

INSTANCES = 2
STEPPED = ("peaks", "oscillator", "gear", "stock")  # kinds without a gradient
DIFFERENCE = 1e-6  # of the bounds' width, or of x where they are decades apart
CALLS = {False: (40, 100, 600), True: (15, 60, 300)}  # without and with gradients: a dimension; at least and at most


KINDS: dict[str, Callable[[Any, int], Made]] = {
    "epidemic": fits.epidemic,
    "enzyme": fits.enzyme,
    "peaks": fits.peaks,
    "tones": fits.tones,
    "volatility": fits.volatility,
    "orbit": fits.orbit,
    "oscillator": fits.oscillator,
    "mixture": fits.mixture,
    "kernel": fits.kernel,
    "hinge": fits.hinge,
    "network": fits.network,
    "registration": fits.registration,
    "gravity": fits.gravity,
    "film": designs.film,
    "array": designs.array,
    "filter": designs.network_filter,
    "truss": designs.truss,
    "controller": designs.controller,
    "reactor": designs.reactor,
    "gear": designs.gear,
    "heat": designs.heat,
    "facilities": decisions.facilities,
    "sensors": decisions.sensors,
    "arm": decisions.arm,
    "portfolio": decisions.portfolio,
    "queue": decisions.queue,
    "stock": decisions.stock,
    "rocket": decisions.rocket,
    "well": decisions.well,
    "arrhenius": decades.arrhenius,
    "dose": decades.dose,
    "circuit": decades.circuit,
    "lengths": decades.lengths,
    "ridge": decades.ridge,
    "decay": decades.decay,
    "beam": decades.beam,
    "bands": decades.bands,
}


def make(kind: str, instance: int) -> Objective:
    """One instance, with a start at which there is a value: anywhere in its bounds, in odd instances by the logarithm
    where the bounds are decades apart."""
    rng = np.random.default_rng([instance, *kind.encode()])
    fun, lower, upper = KINDS[kind](rng, instance % INSTANCES)
    low, high = np.array(lower, float), np.array(upper, float)
    decades = are_apart(low, high) & bool(instance % 2)
    size = np.where(decades, high / np.where(decades, low, 1.0), 1.0)

    def start() -> np.ndarray:
        share = rng.uniform(size=low.size)
        return np.clip(np.where(decades, low * size**share, low + share * (high - low)), low, high)

    x0 = start()
    while not np.isfinite(fun(x0)):
        x0 = start()
    return Objective(fun, x0, low, high)


def are_apart(lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """Which bounds are decades apart."""
    return (lower > 0) & (upper >= 1e3 * lower)


def with_gradient(one: Objective) -> Objective:
    """The same with central differences, one-sided at a bound."""
    apart = are_apart(one.lower, one.upper)

    def fun(x: np.ndarray) -> tuple[float, np.ndarray]:
        width = DIFFERENCE * np.where(apart, x, one.upper - one.lower)
        above, below = np.minimum(x + width, one.upper), np.maximum(x - width, one.lower)
        sides = [np.where(np.arange(x.size) == i, end, x) for end in (above, below) for i in range(x.size)]
        values = np.array([one.fun(side) for side in sides])
        return one.fun(x), (values[: x.size] - values[x.size :]) / (above - below)

    return Objective(fun, one.x0, one.lower, one.upper)


def make_with_gradient(kind: str, instance: int) -> Objective:
    return with_gradient(make(kind, instance))


def problems(gradients: bool = False) -> list[SuiteProblem]:
    """All kinds that there are for such readings, each with several sizes, data and starts."""
    per, least, most = CALLS[gradients]
    found = []
    for place, kind in enumerate(KINDS):
        for instance in range(INSTANCES if kind not in STEPPED or not gradients else 0):
            d, half = make(kind, instance).x0.size, (DEV, TEST)[place % 2]
            calls, maker = int(np.clip(per * d, least, most)), make_with_gradient if gradients else make
            one = SuiteProblem(f"{kind}/{instance}", kind, half, d, gradients, calls, partial(maker, kind, instance))
            found.append(one)
    return found
