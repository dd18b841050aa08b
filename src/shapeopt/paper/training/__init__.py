"""Training: teacher, losses, unroll, estimators, phases, runs."""

from .config import PRESETS, Estimation, Precision, TrainConfig, read_config, write_toml
from .curriculum import Curriculum
from .estimators import AbstractEstimator, AbstractProblem, Backpropagation, EvolutionStrategy, Reuse
from .losses import LossWeights
from .teacher import Label, ProbeTeacher
from .trainer import Progress, Trained, train, untrained

__all__ = [
    "PRESETS",
    "AbstractEstimator",
    "AbstractProblem",
    "Backpropagation",
    "Curriculum",
    "Estimation",
    "EvolutionStrategy",
    "Label",
    "LossWeights",
    "Precision",
    "ProbeTeacher",
    "Progress",
    "Reuse",
    "TrainConfig",
    "Trained",
    "read_config",
    "train",
    "untrained",
    "write_toml",
]
