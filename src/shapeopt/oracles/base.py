"""The oracle: the only thing that knows the objective, and the only thing that counts (eq. oracle_generic_force)."""

import abc
from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from ..core import Reading

Objective = Callable[[Float[Array, " d"]], Float[Array, ""]]


class OracleState(NamedTuple):
    """The ledger: calls spent, readings given, and the key of this run's noise stream."""

    calls: Int[Array, ""]
    readings: Int[Array, ""]
    key: PRNGKeyArray


class AbstractOracle(eqx.Module):
    """Answers readings (value, g~(q), cost) and keeps the ledger of calls (eq. oracle_generic_force).

    Reading number n draws its randomness from fold_in(key, n) alone. So two optimizers with one key meet the same
    noise at their n-th reading, wherever they ask.

    Departs from the paper: nothing; it asks for paired noise and leaves open how.
    """

    @property
    @abc.abstractmethod
    def cost(self) -> int:
        """Calls that one reading spends."""

    @abc.abstractmethod
    def measure(self, q: Float[Array, " d"], key: PRNGKeyArray) -> tuple[Float[Array, ""], Float[Array, " d"]]:
        """Value and force at q, uncounted; only `read` and wrapping oracles call it."""

    @property
    def value_alone(self) -> "AbstractOracle":
        """The oracle whose readings have this one's value at q, with no call spent on the force where that can be had.

        For methods that use values only; here every reading brings both for one price.
        """
        return self

    def init(self, key: PRNGKeyArray) -> OracleState:
        """The ledger at the start of a run."""
        none: Any = np.zeros((), np.int32)  # NumPy's, so that nothing is compiled for it
        return OracleState(none, none, key)

    def read(self, state: OracleState, q: Float[Array, " d"]) -> tuple[OracleState, Reading]:
        """One reading at q, charged."""
        value, gradient = self.measure(q, jax.random.fold_in(state.key, state.readings))
        cost = jnp.asarray(self.cost, jnp.int32)
        return OracleState(state.calls + cost, state.readings + 1, state.key), Reading(value, gradient, cost)
