"""The fast port-Hamiltonian layer: potential, operators, one step, and the energy ledger of that step."""

from .energy import Energy, EnergyLedger, PendingBalance, close_balance, open_balance
from .metric import AbstractMetric, DiagonalMetric
from .passivity import PassivityMonitor, PortAccount
from .potential import Centres, ShapedPotential
from .secant import SecantMetric, SecantPairs
from .step import AbstractStep, ChannelWork, ConformalSymplecticStep, SemiImplicitStep, StepResult, StormerVerletStep
from .structure import DissipationOperator, SkewOperator, Structure

__all__ = [
    "AbstractMetric",
    "AbstractStep",
    "Centres",
    "ChannelWork",
    "ConformalSymplecticStep",
    "DiagonalMetric",
    "DissipationOperator",
    "Energy",
    "EnergyLedger",
    "PassivityMonitor",
    "PendingBalance",
    "PortAccount",
    "SecantMetric",
    "SecantPairs",
    "SemiImplicitStep",
    "ShapedPotential",
    "SkewOperator",
    "StepResult",
    "StormerVerletStep",
    "Structure",
    "close_balance",
    "open_balance",
]
