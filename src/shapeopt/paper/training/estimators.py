"""Gradients of a rollout's loss: backpropagation through time, and antithetic evolution strategies.

A problem is an episode cut into windows. Backpropagation stops at the cuts; evolution strategies take one window at a
time and keep their runs alive in between, with noise that persists or is reused, so that no gradient is lost at a cut.
"""

import abc
import math
from enum import Enum
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray, PyTree

Scalar = Float[Array, ""]


class AbstractProblem(eqx.Module):
    """An episode whose loss is the sum over `windows` windows."""

    windows: eqx.AbstractVar[int]

    @abc.abstractmethod
    def start(self, params: PyTree, key: PRNGKeyArray) -> PyTree:
        """The carry before the first window; all randomness of the episode follows from the key."""

    @abc.abstractmethod
    def advance(self, params: PyTree, carry: PyTree) -> tuple[PyTree, Scalar, PyTree]:
        """The carry after one window, the window's loss, and what else is worth keeping of it (summed over windows)."""


class Estimate(NamedTuple):
    """A loss, an estimate of its gradient, and what the problem kept."""

    value: Scalar
    gradient: PyTree
    aux: PyTree


class AbstractEstimator(eqx.Module):
    """Estimates the gradient of a problem's loss, shortened to the norm `clip` (infinite: never).

    Some estimators keep runs alive from one estimate to the next.
    """

    clip: eqx.AbstractVar[float]

    def __check_init__(self):
        if not self.clip > 0:
            raise ValueError(f"`clip` must be positive; got {self.clip}.")

    def estimate(
        self, problem: AbstractProblem, params: PyTree, state: PyTree, key: PRNGKeyArray
    ) -> tuple[PyTree, Estimate]:
        """The next estimate."""
        state, found = self.differentiate(problem, params, state, key)
        return state, found._replace(gradient=shortened(found.gradient, self.clip))

    @abc.abstractmethod
    def init(self, problem: AbstractProblem, params: PyTree, key: PRNGKeyArray) -> PyTree:
        """What the first estimate needs; None where nothing is kept."""

    @abc.abstractmethod
    def differentiate(
        self, problem: AbstractProblem, params: PyTree, state: PyTree, key: PRNGKeyArray
    ) -> tuple[PyTree, Estimate]:
        """The next estimate at its full length."""


class Backpropagation(AbstractEstimator):
    """Reverse mode through a whole episode, with no derivative across windows.

    Departs from the paper: it trains by backpropagation and says neither whether it cuts nor whether it clips.
    """

    clip: float = 1.0  # chosen here: a chaotic rollout's gradient is long in a direction that means little

    def init(self, problem: AbstractProblem, params: PyTree, key: PRNGKeyArray) -> None:
        return None

    def differentiate(
        self, problem: AbstractProblem, params: PyTree, state: None, key: PRNGKeyArray
    ) -> tuple[None, Estimate]:
        def loss(params: PyTree) -> tuple[Scalar, PyTree]:
            def window(carry: PyTree, _: None) -> tuple[PyTree, tuple[Scalar, PyTree]]:
                carry, value, aux = problem.advance(params, jax.lax.stop_gradient(carry))
                return carry, (value, aux)

            _, (values, auxs) = jax.lax.scan(window, problem.start(params, key), length=problem.windows)
            return jnp.sum(values), jax.tree.map(lambda rows: jnp.sum(rows, axis=0), auxs)

        (value, aux), gradient = jax.value_and_grad(loss, has_aux=True)(params)
        return None, Estimate(value, gradient, aux)


BACKPROPAGATION = Backpropagation()


class Reuse(Enum):
    """What becomes of a pair's noise when a new window of its episode begins."""

    PERSISTENT = "persistent"  # new noise, and the sum of all so far is credited (PES: Vicol et al., ICML 2021)
    REUSED = "reused"  # the episode's first noise again (NRES: Li et al., NeurIPS 2023)


class Pairs(NamedTuple):
    """Antithetic runs under way: their carries (a leading axis of both signs, then pairs), noise, and window."""

    carries: PyTree
    noise: PyTree
    window: Int[Array, ""]


class EvolutionStrategy(AbstractEstimator):
    """Antithetic evolution strategies, one window an estimate; both signs of a pair share their randomness.

        gradient = mean over pairs of  xi (L(theta + eps) - L(theta - eps)) / (2 sigma^2)

    eps ~ N(0, sigma^2 I). PERSISTENT draws eps anew for each window and xi is their sum over the episode so far; REUSED
    keeps eps for the episode, and xi = eps. Over an episode at unchanged theta the estimates sum to an unbiased
    gradient of a smoothed loss: E L(theta + eps_1, ..., theta + eps_W), a perturbation for each window, or
    E L(theta + eps), where the sum is the plain method's. With one window an episode both are the plain method.

    Departs from the paper: it only backpropagates. Departs from Vicol et al. and Li et al.: all pairs are in the same
    window, where theirs are spread over the episode.
    """

    sigma: float = 0.01
    pairs: int = eqx.field(static=True, default=4)
    reuse: Reuse = eqx.field(static=True, default=Reuse.REUSED)
    clip: float = math.inf

    def __check_init__(self):
        if not self.sigma > 0:
            raise ValueError(f"`sigma` must be positive; got {self.sigma}.")
        if self.pairs < 1:
            raise ValueError(f"`pairs` must be at least 1; got {self.pairs}.")

    def init(self, problem: AbstractProblem, params: PyTree, key: PRNGKeyArray) -> Pairs | None:
        if problem.windows == 1:
            return None  # every estimate is a whole episode
        noise = jax.tree.map(lambda leaf: jnp.zeros((self.pairs, *leaf.shape), leaf.dtype), params)
        return Pairs(self.starts(problem, params, key), noise, jnp.zeros((), jnp.int32))

    def differentiate(
        self, problem: AbstractProblem, params: PyTree, state: Pairs | None, key: PRNGKeyArray
    ) -> tuple[Pairs | None, Estimate]:
        start_key, noise_key = jax.random.split(key)
        drawn = self.draw(params, noise_key)
        fresh = lambda: Pairs(self.starts(problem, params, start_key), drawn, jnp.zeros((), jnp.int32))  # noqa: E731
        held = fresh() if state is None else jax.lax.cond(state.window == 0, fresh, lambda: state)
        if self.reuse is Reuse.REUSED or state is None:
            used, credited = held.noise, held.noise
        else:
            again = jax.tree.map(lambda old, new: jnp.where(held.window == 0, new, old + new), held.noise, drawn)
            used, credited = drawn, again
        carries, values, aux = self.advance(problem, params, used, held.carries)
        gradient = self.slope(values, credited)
        window = (held.window + 1) % problem.windows
        estimate = Estimate(jnp.mean(values), gradient, jax.tree.map(lambda leaf: jnp.mean(leaf, (0, 1)), aux))
        return None if state is None else Pairs(carries, credited, window), estimate

    def slope(self, values: Float[Array, "2 pairs"], noise: PyTree) -> PyTree:
        """The gradient that the losses of both signs show along the noise."""
        slope = (values[0] - values[1]) / (2.0 * self.sigma**2)
        return jax.tree.map(lambda xi: jnp.tensordot(slope, xi, 1) / self.pairs, noise)

    def draw(self, params: PyTree, key: PRNGKeyArray) -> PyTree:
        """The noise of all pairs."""
        leaves, treedef = jax.tree.flatten(params)
        keys = jax.random.split(key, len(leaves))
        drawn = [
            self.sigma * jax.random.normal(k, (self.pairs, *leaf.shape), leaf.dtype)
            for k, leaf in zip(keys, leaves, strict=True)
        ]
        return jax.tree.unflatten(treedef, drawn)

    def starts(self, problem: AbstractProblem, params: PyTree, key: PRNGKeyArray) -> PyTree:
        """One start a pair, for both signs."""
        starts = jax.lax.map(lambda k: problem.start(params, k), jax.random.split(key, self.pairs))
        return jax.tree.map(lambda leaf: jnp.stack([leaf, leaf]), starts)

    def advance(self, problem: AbstractProblem, params: PyTree, noise: PyTree, carries: PyTree) -> Any:
        """One window of every run, one after another: batched, every branch becomes work at every reading, and an
        estimate of the paper's policy took 1.7 to 2 times as long (d = 2 and 20)."""

        def one(run: tuple[Scalar, PyTree, PyTree]) -> tuple[PyTree, Scalar, PyTree]:
            sign, eps, carry = run
            return problem.advance(jax.tree.map(lambda leaf, e: leaf + sign.astype(e.dtype) * e, params, eps), carry)

        both = jax.tree.map(lambda leaf: jnp.concatenate([leaf, leaf]), noise)
        signs = jnp.repeat(jnp.array([1.0, -1.0]), self.pairs)
        flat = jax.tree.map(lambda leaf: leaf.reshape(2 * self.pairs, *leaf.shape[2:]), carries)
        done = jax.lax.map(one, (signs, both, flat))
        return jax.tree.map(lambda leaf: leaf.reshape(2, self.pairs, *leaf.shape[1:]), done)


class Spread(NamedTuple):
    """Mean gradient over many keys, and the total standard deviation around it."""

    mean: PyTree
    deviation: Scalar


def gradient_spread(
    estimator: AbstractEstimator, problem: AbstractProblem, params: PyTree, key: PRNGKeyArray, episodes: int
) -> Spread:
    """How much an estimator's gradient of whole episodes scatters: what a chaotic rollout costs."""

    def episode(key: PRNGKeyArray) -> PyTree:
        first, *rest = jax.random.split(key, 1 + problem.windows)
        state, total = estimator.init(problem, params, first), jax.tree.map(jnp.zeros_like, params)
        for k in rest[: 1 if state is None else None]:
            state, estimate = estimator.estimate(problem, params, state, k)
            total = jax.tree.map(jnp.add, total, estimate.gradient)
        return total

    gradients = jax.lax.map(episode, jax.random.split(key, episodes))
    mean = jax.tree.map(lambda rows: jnp.mean(rows, axis=0), gradients)
    squares = jax.tree.map(lambda rows: jnp.sum(jnp.var(rows, axis=0)), gradients)
    return Spread(mean, jnp.sqrt(sum(jax.tree.leaves(squares))))


def length(gradient: PyTree) -> Scalar:
    """Euclidean norm over all leaves; a long finite gradient does not overflow, one that is not finite shows."""
    leaves = jax.tree.leaves(gradient)
    size = jnp.max(jnp.stack([jnp.max(jnp.abs(leaf)) for leaf in leaves]))
    unit = jnp.where(size > 0, size, 1.0)
    return size * jnp.sqrt(sum((jnp.sum((leaf / unit) ** 2) for leaf in leaves), jnp.zeros_like(size)))


def shortened(gradient: PyTree, limit: float) -> PyTree:
    """The gradient, no longer than `limit`, which may be infinite; not finite where it was not."""
    factor = 1.0 / jnp.maximum(length(gradient) / limit, 1.0)
    return jax.tree.map(lambda leaf: factor.astype(leaf.dtype) * leaf, gradient)
