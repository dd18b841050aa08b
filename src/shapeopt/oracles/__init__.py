"""Oracles: the only things that know the objective. They answer readings, and they count."""

from .base import AbstractOracle, Objective, OracleState
from .exact import AdjointOracle, ExactOracle
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
    "AbstractNoise",
    "AbstractOracle",
    "AdditiveNoise",
    "AdjointOracle",
    "BudgetExhausted",
    "CoordinateDifferenceOracle",
    "ExactOracle",
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
    "ValueOnlyOracle",
    "compiled_pair",
    "probe_traceable",
]
