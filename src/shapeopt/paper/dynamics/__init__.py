"""The fast port-Hamiltonian layer: potential, operators, one step, and the energy ledger of that step."""

from .energy import Energy, EnergyLedger, PendingBalance, close_balance, open_balance
from .metric import AbstractMetric, DiagonalMetric
from .passivity import PassivityMonitor, PortAccount
from .potential import Centres, ShapedPotential
from .step import ChannelWork, SemiImplicitStep, StepResult
from .structure import DissipationOperator, SkewOperator, Structure

__all__ = [
    "AbstractMetric",
    "Centres",
    "ChannelWork",
    "DiagonalMetric",
    "DissipationOperator",
    "Energy",
    "EnergyLedger",
    "PassivityMonitor",
    "PendingBalance",
    "PortAccount",
    "SemiImplicitStep",
    "ShapedPotential",
    "SkewOperator",
    "StepResult",
    "Structure",
    "close_balance",
    "open_balance",
]
