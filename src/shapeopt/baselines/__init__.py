"""Every classical optimizer that the paper compares with, under the one contract."""

from .adadelta import AdaDelta
from .adagrad import AdaGrad
from .adam import Adam
from .adamw import AdamW
from .base import AbstractBaseline, AbstractDescent
from .basin_hopping import BasinHopping
from .cross_entropy import CrossEntropy
from .gradient_descent import GradientDescent
from .lion import Lion
from .lion_k import LionK
from .lookahead import Lookahead
from .momentum import Momentum
from .muon import Muon
from .nesterov import Nesterov
from .rmsprop import RMSProp
from .sam import SAM
from .settings import ByFamily
from .sghmc import SGHMC
from .shampoo import Shampoo
from .soap import SOAP
from .sophia import Sophia
from .table import BASELINES, Baseline, make_baseline

__all__ = [
    "BASELINES",
    "SAM",
    "SGHMC",
    "SOAP",
    "AbstractBaseline",
    "AbstractDescent",
    "AdaDelta",
    "AdaGrad",
    "Adam",
    "AdamW",
    "Baseline",
    "BasinHopping",
    "ByFamily",
    "CrossEntropy",
    "GradientDescent",
    "Lion",
    "LionK",
    "Lookahead",
    "Momentum",
    "Muon",
    "Nesterov",
    "RMSProp",
    "Shampoo",
    "Sophia",
    "make_baseline",
]
