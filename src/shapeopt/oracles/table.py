"""One table of oracle constructors: what generic tests and comparisons over oracles run through."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from .base import AbstractOracle, Objective
from .exact import ExactOracle
from .minibatch import MinibatchOracle
from .noise import AdditiveNoise, NoisyOracle
from .value_only import CoordinateDifferenceOracle, ValueOnlyOracle

Side = Float[Array, " d"]
SIGMA = 0.2  # noise level of the noisy cells of the benchmark table


class _Weighted(eqx.Module):
    """Eight terms that are `fun` times weights with mean 1, so that any objective becomes a finite sum.

    A module is equal to another one of the same function, so that all readers of it share one compiled program.
    """

    fun: Objective

    def __call__(self, q: Float[Array, " d"], indices: Int[Array, " batch"]) -> Float[Array, ""]:
        weights = 1 + SIGMA * jnp.linspace(-1, 1, 8, dtype=q.dtype)
        return self.fun(q) * weights[indices].mean()


ORACLES: Mapping[str, Callable[[Objective, Side, Side], AbstractOracle]] = MappingProxyType(
    {
        "exact": lambda fun, lower, upper: ExactOracle(fun),
        "additive": lambda fun, lower, upper: NoisyOracle(ExactOracle(fun), AdditiveNoise(SIGMA)),
        "minibatch": lambda fun, lower, upper: MinibatchOracle(_Weighted(fun), size=8, batch=4),
        "value_only": lambda fun, lower, upper: ValueOnlyOracle(fun, max(1, lower.size // 2), None, lower, upper),
        "coordinate": lambda fun, lower, upper: CoordinateDifferenceOracle(fun, lower.size, None, lower, upper),
    }
)
