"""Families of objectives, each with its known minimum, its starts and its symmetries; needs the extra `jax`."""
# ruff: noqa: E402

from ..core.extras import require

require("jax", "shapeopt.tasks")

from .ackley import Ackley
from .base import AbstractFamily, AbstractTask, StartLaw, cube, draw_start
from .classic import DixonPrice, Quadratic, Rosenbrock
from .control import Control, ControlTask
from .landscapes import AbstractDrawnLandscape, LandscapeFamily
from .lennard_jones import LennardJones, LennardJonesTask
from .levy import Levy
from .multiwell import Multiwell, MultiwellTask
from .phase_retrieval import PhaseRetrieval, PhaseRetrievalTask, Sensing
from .plants import DoubleIntegrator, Navigation, Pendulum
from .published import AbstractProblem, PublishedFamily
from .rastrigin import Rastrigin
from .shifted import AbstractLandscape, ShiftedTask
from .table import FAMILIES, HELD_OUT, TRAINING, make_family

__all__ = [
    "FAMILIES",
    "HELD_OUT",
    "TRAINING",
    "AbstractDrawnLandscape",
    "AbstractFamily",
    "AbstractLandscape",
    "AbstractProblem",
    "AbstractTask",
    "Ackley",
    "Control",
    "ControlTask",
    "DixonPrice",
    "DoubleIntegrator",
    "LandscapeFamily",
    "LennardJones",
    "LennardJonesTask",
    "Levy",
    "Multiwell",
    "MultiwellTask",
    "Navigation",
    "Pendulum",
    "PhaseRetrieval",
    "PhaseRetrievalTask",
    "PublishedFamily",
    "Quadratic",
    "Rastrigin",
    "Rosenbrock",
    "Sensing",
    "ShiftedTask",
    "StartLaw",
    "cube",
    "draw_start",
    "make_family",
]
