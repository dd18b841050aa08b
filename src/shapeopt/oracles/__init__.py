"""Oracles: the only things that know the objective. They answer readings, and they count."""

from .base import AbstractOracle, Objective, OracleState
from .batched import Rows, fetch_round
from .exact import AdjointOracle, ExactOracle
from .finite_differences import SCHEMES, FiniteDifferences
from .host import BudgetExhausted, HostOracle, probe_traceable
from .host_differences import HostDifferences
from .journal import Journal, JournalError
from .minibatch import MinibatchOracle
from .noise import AbstractNoise, AdditiveNoise, HeavyTailedNoise, MultiplicativeNoise, NoisyOracle
from .reader import Reader, compiled_pair
from .table import ORACLES
from .value_only import CoordinateDifferenceOracle, ValueOnlyOracle

__all__ = [
    "ORACLES",
    "SCHEMES",
    "AbstractNoise",
    "AbstractOracle",
    "AdditiveNoise",
    "AdjointOracle",
    "BudgetExhausted",
    "CoordinateDifferenceOracle",
    "ExactOracle",
    "FiniteDifferences",
    "HeavyTailedNoise",
    "HostDifferences",
    "HostOracle",
    "Journal",
    "JournalError",
    "MinibatchOracle",
    "MultiplicativeNoise",
    "NoisyOracle",
    "Objective",
    "OracleState",
    "Reader",
    "Rows",
    "ValueOnlyOracle",
    "compiled_pair",
    "fetch_round",
    "probe_traceable",
]
