"""Peers: optimizers that others wrote, to compare with. One counter, one hard stop, the same starts and noise."""

from .base import AbstractPeer, Start, run_peer
from .basinhopping import BasinHopping
from .cma_es import BipopCmaEs, CmaEs
from .differential_evolution import DifferentialEvolution
from .direct import Direct
from .dual_annealing import DualAnnealing
from .monotonic import MonotonicHopping
from .multistart import MultiStart
from .nevergrad_portfolio import NGOpt
from .nlopt_global import ControlledRandomSearch, Isres, Mlsl
from .packages import available
from .shgo import Shgo
from .table import PEERS, make_peer

__all__ = [
    "PEERS",
    "AbstractPeer",
    "BasinHopping",
    "BipopCmaEs",
    "CmaEs",
    "ControlledRandomSearch",
    "DifferentialEvolution",
    "Direct",
    "DualAnnealing",
    "Isres",
    "Mlsl",
    "MonotonicHopping",
    "MultiStart",
    "NGOpt",
    "Shgo",
    "Start",
    "available",
    "make_peer",
    "run_peer",
]
