"""The contract that every compiled optimizer obeys."""

import abc

import equinox as eqx
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from .box import Box
from .reading import Reading


class AbstractOptimizer(eqx.Module):
    """A method that is asked where to read and told what was read; it never calls the objective itself.

    All points are in the user's coordinates and inside the box. `init` decides the first query (x0 itself).
    Every method is traceable: `rollout` compiles it, and `vmap` batches it.
    """

    @abc.abstractmethod
    def init(self, x0: Float[Array, " d"], box: Box, budget: int, key: PRNGKeyArray) -> PyTree:
        """The state before any reading; `ask` of it is x0."""

    @abc.abstractmethod
    def ask(self, state: PyTree) -> Float[Array, " d"]:
        """The point to read next."""

    @abc.abstractmethod
    def tell(self, state: PyTree, reading: Reading) -> PyTree:
        """The state after a reading at `ask(state)`."""

    def is_even(self, d: int) -> bool:
        """Whether all steps in d dimensions take about as long, so that no run of a batch waits for another."""
        return True

    def info(self, state: PyTree) -> PyTree:
        """What a person wants to see of the last step; a fixed-shape pytree (None where there is nothing)."""
        return None
