"""Oracles: the only things that know the objective. They answer readings, and they count.

Those of host objectives need NumPy alone; the traceable ones need JAX, and load when they are first used.
"""

from typing import TYPE_CHECKING

from ..core.lazy import lazy_names
from .batched import Rows, fetch_round
from .counting import AbstractReader, FunctionReader
from .finite_differences import SCHEMES, FiniteDifferences
from .host import BudgetExhausted, HostOracle, TraceablePair, Untraceable
from .jax_use import refers_to_jax
from .journal import Journal, JournalError
from .losses import find_loss, weighed
from .residuals import ResidualOracle

if TYPE_CHECKING:
    from .base import AbstractOracle, Objective, OracleState
    from .exact import ExactOracle
    from .minibatch import MinibatchOracle
    from .noise import AdditiveNoise, NoisyOracle
    from .reader import Reader
    from .table import ORACLES
    from .traced import traced_pair
    from .value_only import CoordinateDifferenceOracle, ValueOnlyOracle

__all__ = [
    "ORACLES",
    "SCHEMES",
    "AbstractOracle",
    "AbstractReader",
    "AdditiveNoise",
    "BudgetExhausted",
    "CoordinateDifferenceOracle",
    "ExactOracle",
    "FiniteDifferences",
    "FunctionReader",
    "HostOracle",
    "Journal",
    "JournalError",
    "MinibatchOracle",
    "NoisyOracle",
    "Objective",
    "OracleState",
    "Reader",
    "ResidualOracle",
    "Rows",
    "TraceablePair",
    "Untraceable",
    "ValueOnlyOracle",
    "fetch_round",
    "find_loss",
    "refers_to_jax",
    "traced_pair",
    "weighed",
]

__getattr__ = lazy_names(
    __name__,
    {
        "ORACLES": "table",
        "AbstractOracle": "base",
        "AdditiveNoise": "noise",
        "CoordinateDifferenceOracle": "value_only",
        "ExactOracle": "exact",
        "MinibatchOracle": "minibatch",
        "NoisyOracle": "noise",
        "Objective": "base",
        "OracleState": "base",
        "Reader": "reader",
        "ValueOnlyOracle": "value_only",
        "traced_pair": "traced",
    },
)
