"""Peers: optimizers that others wrote, to compare with. One counter, one hard stop, the same starts and noise."""

from .base import AbstractPeer, Start, run_peer
from .basinhopping import BasinHopping
from .cma_es import BipopCmaEs, CmaEs, IpopCmaEs
from .differential_evolution import DifferentialEvolution
from .direct import Direct
from .dual_annealing import DualAnnealing
from .least_squares import LeastSquares
from .monotonic import MonotonicHopping
from .multistart import MultiStart
from .nevergrad_portfolio import NGOpt
from .nlopt_global import ControlledRandomSearch, Isres, Mlsl, MlslBobyqa
from .nlopt_local import Bobyqa
from .optuna_tpe import OptunaTpe
from .packages import available
from .restarts import Bfgs, Cobyqa, NelderMead, Slsqp
from .scaled import Scaled
from .shgo import Shgo
from .table import PEERS, make_peer
from .tiktak import TikTak, TikTakBobyqa

__all__ = [
    "PEERS",
    "AbstractPeer",
    "BasinHopping",
    "Bfgs",
    "BipopCmaEs",
    "Bobyqa",
    "CmaEs",
    "Cobyqa",
    "ControlledRandomSearch",
    "DifferentialEvolution",
    "Direct",
    "DualAnnealing",
    "IpopCmaEs",
    "Isres",
    "LeastSquares",
    "Mlsl",
    "MlslBobyqa",
    "MonotonicHopping",
    "MultiStart",
    "NGOpt",
    "NelderMead",
    "OptunaTpe",
    "Scaled",
    "Shgo",
    "Slsqp",
    "Start",
    "TikTak",
    "TikTakBobyqa",
    "available",
    "make_peer",
    "run_peer",
]
