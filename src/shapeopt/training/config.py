"""What a training run is: one frozen dataclass, its presets, and its TOML file."""

import math
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from enum import Enum
from pathlib import Path
from types import MappingProxyType
from typing import Any

from jaxtyping import PRNGKeyArray

from ..policy.paper import PaperPolicy
from ..tasks import AbstractFamily, StartLaw, make_family
from .curriculum import Curriculum, Grade, grades_of
from .estimators import AbstractEstimator, Backpropagation, EvolutionStrategy, Reuse
from .phases import Plan
from .sensing import Sensing


class Estimation(Enum):
    """Which estimator phase III uses."""

    BACKPROPAGATION = "backpropagation"
    EVOLUTION = "evolution"


class Precision(Enum):
    """The floats of a run."""

    SINGLE = "float32"
    DOUBLE = "float64"


@dataclass(frozen=True)
class TrainConfig:
    """A training run of the paper's policy; the same configuration gives the same weights, byte for byte.

    The schedule is the paper's (tab. app:shape_training_specs): `controller_pretrain` updates of phase I and
    `planner_pretrain` of phase II, then epochs of `controller_updates` of phase I and `joint_updates` of phase III. The
    no-controller ablation leaves phase I out.

    Departs from the paper: it gives neither a length of phase II nor learning rates, clipping, or a rule to stop.
    """

    family: str = "rastrigin"
    dimension: int = 2
    law: StartLaw = StartLaw.PAPER
    rotated: bool | None = None
    varied: bool | None = None
    curriculum: Curriculum = Curriculum.NONE
    sigma: float = 0.0  # noise of the readings
    directions: int = 0  # of value-only readings; 0: gradients are read
    # the policy
    hidden: int | None = None  # None: the paper's width for the dimension
    rank: int = 4
    event_horizon: int = 6  # paper; its ablations use 4
    use_controller: bool = True
    use_memory: bool = True
    # the schedule
    seed: int = 0
    batch: int = 64
    readings: int = 128
    controller_pretrain: int = 100
    planner_pretrain: int = 100
    epochs: int = 500
    controller_updates: int = 2
    joint_updates: int = 2
    controller_rate: float = 1e-3
    planner_rate: float = 1e-3
    joint_rate: float = 3e-4
    # the estimator of phase III
    estimator: Estimation = Estimation.BACKPROPAGATION
    windows: int = 1
    clip: float = 1.0
    noise_scale: float = 0.01  # of an evolution strategy's perturbations
    pairs: int = 4
    reuse: Reuse = Reuse.REUSED
    constant_forces: bool = False
    remat: bool = False
    precision: Precision = Precision.SINGLE
    # validation
    validation_tasks: int = 128
    validation_readings: int = 128
    validate_every: int = 10  # epochs
    patience: int = 20  # validations without a better one before the run ends
    checkpoint_every: int = 10  # epochs

    def __post_init__(self) -> None:
        for name in ("epochs", "controller_pretrain", "planner_pretrain", "controller_updates", "joint_updates"):
            _require_at_least(name, getattr(self, name), 0)
        for name in ("batch", "validation_tasks", "validate_every", "patience", "checkpoint_every"):
            _require_at_least(name, getattr(self, name), 1)
        for name in ("readings", "validation_readings"):
            _require_at_least(name, getattr(self, name), 2)
        if not 0 <= self.seed < 2**32:
            raise ValueError(f"`seed` must lie in [0, 2^32); got {self.seed}.")

    @property
    def ablated(self) -> "TrainConfig":
        """Without phase I where there is no controller to train."""
        return self if self.use_controller else replace(self, controller_pretrain=0, controller_updates=0)

    def grade(self, epoch: int) -> Grade:
        """How hard the tasks of an epoch are; before the first epoch it is -1."""
        progress = max(epoch, 0) / max(self.epochs, 1)
        full = Grade(math.inf, self.family, self.law, self.sigma, self.directions)
        return next(grade for grade in grades_of(self.curriculum, full) if progress < grade.until)

    def make_family(self, grade: Grade) -> AbstractFamily:
        return make_family(grade.family, self.dimension, grade.law, self.rotated, self.varied)

    def make_estimator(self) -> AbstractEstimator:
        if self.estimator is Estimation.EVOLUTION:
            return EvolutionStrategy(self.noise_scale, self.pairs, self.reuse)
        return Backpropagation(self.clip)

    def make_policy(self, key: PRNGKeyArray) -> PaperPolicy:
        return PaperPolicy.create(
            self.dimension,
            key,
            rank=self.rank,
            event_horizon=self.event_horizon,
            use_memory=self.use_memory,
            use_controller=self.use_controller,
            hidden=self.hidden,
            dtype=self.precision.value,
        )

    def plan(self, epoch: int, family: AbstractFamily | None = None) -> Plan:
        """The updates of an epoch; `family` replaces the one that the configuration names."""
        grade = self.grade(epoch)
        return Plan(
            family=self.make_family(grade) if family is None else family,
            batch=self.batch,
            readings=self.readings,
            windows=self.windows,
            sensing=Sensing(grade.sigma, grade.directions),
            estimator=self.make_estimator(),
            controller_rate=self.controller_rate,
            planner_rate=self.planner_rate,
            joint_rate=self.joint_rate,
            constant_forces=self.constant_forces,
            remat=self.remat,
        )


# dimension, epochs, hidden width, evaluated runs; tab. app:shape_training_specs
PAPER_SPECS = ((2, 500, 32, 128), (20, 800, 64, 64), (100, 1000, 128, 32), (500, 1000, 128, 32))
# dimension, epochs, readings of a run (those of the `paper` protocol), batch; ours, some minutes on two cores each
SMALL_SPECS = ((2, 150, 48, 64), (20, 120, 48, 32), (100, 80, 56, 16), (500, 30, 64, 8))


def _presets() -> Mapping[str, TrainConfig]:
    paper = {
        f"paper-{d}": TrainConfig(dimension=d, epochs=epochs, hidden=hidden, validation_tasks=runs)
        for d, epochs, hidden, runs in PAPER_SPECS
    }
    small = {
        f"small-{d}": TrainConfig(
            dimension=d,
            epochs=epochs,
            readings=readings,
            batch=batch,
            validation_tasks=64,
            validation_readings=readings,
        )
        for d, epochs, readings, batch in SMALL_SPECS
    }
    return MappingProxyType(paper | small)


def write_toml(path: Path, config: TrainConfig) -> None:
    """The configuration as a flat TOML table; what is None is left out."""
    lines = [f"{name} = {_toml(value)}" for name, value in asdict(config).items() if value is not None]
    path.write_text("\n".join(lines) + "\n")


def read_toml(path: Path) -> TrainConfig:
    """The configuration of a TOML file; what it leaves out has its default."""
    return from_plain(tomllib.loads(path.read_text()))


def to_plain(config: TrainConfig) -> dict[str, Any]:
    """The configuration in JSON values."""
    plain = lambda value: value.value if isinstance(value, Enum) else value  # noqa: E731
    return {name: plain(value) for name, value in asdict(config).items()}


def from_plain(table: Mapping[str, Any]) -> TrainConfig:
    """The configuration that `to_plain` wrote; ValueError for a name or a type that it does not have."""
    defaults = {field.name: field.default for field in fields(TrainConfig)}
    if unknown := sorted(table.keys() - defaults.keys()):
        raise ValueError(f"A configuration has no {', '.join(f'`{name}`' for name in unknown)}.")
    return TrainConfig(**{name: _typed(name, value, defaults[name]) for name, value in table.items()})


def _typed(name: str, value: Any, default: Any) -> Any:
    if isinstance(default, Enum):
        try:
            return type(default)(value)
        except ValueError as error:
            known = ", ".join(repr(member.value) for member in type(default))
            raise ValueError(f"`{name}` must be one of {known}; got {value!r}.") from error
    if isinstance(default, float) and type(value) is int:
        return float(value)
    if default is not None and type(value) is not type(default):
        raise ValueError(f"`{name}` must be of type {type(default).__name__}; got {value!r}.")
    return value


def _toml(value: Any) -> str:
    if isinstance(value, Enum):
        return f'"{value.value}"'
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) else repr(value)  # names of families need no escapes


def _require_at_least(name: str, value: int, least: int) -> None:
    if not value >= least:
        raise ValueError(f"`{name}` must be at least {least}; got {value}.")


PRESETS = _presets()
