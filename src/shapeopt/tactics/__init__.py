"""Tactics: ways to spend readings, one file each."""

from .base import AbstractTactic
from .differences import Differences
from .explore import Explore
from .fit_forces import FitForces
from .gauss_newton import GaussNewton
from .hop import Hop
from .interpolate import Interpolate
from .noise_check import NoiseCheck
from .pair_model import PairModel
from .recall import Recall
from .refine import Refine
from .regress import Regress
from .sample import Sample
from .scout import Scout
from .separable_sum import SeparableSum
from .settle import Settle
from .start import Start
from .turned_axes import TurnedAxes
from .value_check import ValueCheck

__all__ = [
    "AbstractTactic",
    "Differences",
    "Explore",
    "FitForces",
    "GaussNewton",
    "Hop",
    "Interpolate",
    "NoiseCheck",
    "PairModel",
    "Recall",
    "Refine",
    "Regress",
    "Sample",
    "Scout",
    "SeparableSum",
    "Settle",
    "Start",
    "TurnedAxes",
    "ValueCheck",
]
