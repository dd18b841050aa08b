"""The cross-entropy method with a diagonal Gaussian."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from ..core import REACH, Box, Reading
from ..oracles.checks import require
from .base import AbstractBaseline, average, inside, require_count, require_positive


class Gaussian(eqx.Module):
    """The law that samples are drawn from, coordinate by coordinate."""

    mean: Float[Array, " d"]
    std: Float[Array, " d"]


class CrossEntropyState(eqx.Module):
    """The law, the sample to read next, those of this round already read, and the key of the draws to come."""

    law: Gaussian
    x: Float[Array, " d"]
    samples: Float[Array, "population d"]
    values: Float[Array, " population"]
    count: Int[Array, ""]
    key: PRNGKeyArray
    box: Box


class CrossEntropy(AbstractBaseline):
    """Each round reads `population` samples of a Gaussian and refits it to the `elites` best; it uses values alone.

        law' = smoothing * (mean, std of the elites) + (1 - smoothing) * law

    Samples are asked one after another, x0 first; the law begins at x0 with `spread` times half the box's width as its
    deviation. The population is that of the paper's comparison (figure ackley:with:search:algo); elites and smoothing
    are ordinary choices for this method.

    Departs from the paper: it gives no other settings.
    """

    population: int = 40
    elites: int = 8
    smoothing: float = 0.7
    spread: float = 0.5

    def __check_init__(self):
        require_count("population", self.population)
        require_count("elites", self.elites)
        if self.elites > self.population:
            raise ValueError(f"`elites` must be at most `population` = {self.population}; got {self.elites}.")
        require("smoothing", self.smoothing, lambda a: (a > 0) & (a <= 1), "above 0 and at most 1")
        require_positive("spread", self.spread)

    def init(self, x0: Float[Array, " d"], box: Box, budget: int, key: PRNGKeyArray) -> CrossEntropyState:
        samples = jnp.zeros((self.population, x0.size), x0.dtype)
        values = jnp.full(self.population, jnp.inf, x0.dtype)
        law = Gaussian(x0, self.spread * REACH * box.scale)
        return CrossEntropyState(law, x0, samples, values, jnp.zeros((), jnp.int32), key, box)

    def ask(self, state: CrossEntropyState) -> Float[Array, " d"]:
        return state.x

    def tell(self, state: CrossEntropyState, reading: Reading) -> CrossEntropyState:
        key, sample_key = jax.random.split(state.key)
        value = jnp.where(jnp.isfinite(reading.value), reading.value, jnp.inf).astype(state.x.dtype)
        samples, values = state.samples.at[state.count].set(state.x), state.values.at[state.count].set(value)
        count = (state.count + 1) % self.population
        refitted = self._refit(state.law, samples, values)
        law = jax.tree.map(lambda new, old: jnp.where(count == 0, new, old), refitted, state.law)
        x = inside(law.mean + law.std * jax.random.normal(sample_key, state.x.shape, state.x.dtype), state.box)
        return CrossEntropyState(law, x, samples, values, count, key, state.box)

    def _refit(self, law: Gaussian, samples: Float[Array, "n d"], values: Float[Array, " n"]) -> Gaussian:
        """The law after a round; samples whose value was not finite are never elites."""
        weights = (_ranks(values) < self.elites) & jnp.isfinite(values)
        weights = weights.astype(samples.dtype)[:, None]
        total = jnp.maximum(weights.sum(), 1)
        mean = jnp.sum(weights * samples, axis=0) / total
        std = jnp.sqrt(jnp.sum(weights * (samples - mean) ** 2, axis=0) / total)
        share = jnp.where(weights.sum() > 0, self.smoothing, 0.0).astype(samples.dtype)
        return Gaussian(average(1 - share, law.mean, mean), average(1 - share, law.std, std))


def _ranks(values: Float[Array, " n"]) -> Int[Array, " n"]:
    """How many values come before each, earlier ones first among equals.

    By counting: a compiled sort can not be part of the single kernel in which host objectives are stepped.
    """
    order = jnp.arange(values.size, dtype=jnp.int32)
    equal_but_earlier = (values == values[:, None]) & (order < order[:, None])
    return jnp.sum((values < values[:, None]) | equal_but_earlier, axis=1)
