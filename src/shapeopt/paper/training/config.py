"""What a training run is: one frozen dataclass, its presets, and its TOML file."""

import difflib
import json
import math
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from enum import Enum
from pathlib import Path
from types import MappingProxyType, NoneType
from typing import Any, get_args, get_type_hints

import jax
from jax.sharding import Mesh
from jaxtyping import PRNGKeyArray

from ...core.attribute import built, load_attribute
from ...tasks import AbstractFamily, StartLaw, make_family
from ..find import load_policy
from ..policy import PaperPolicy
from ..weights import cast_policy
from .curriculum import Curriculum, Grade, grades_of
from .estimators import AbstractEstimator, Backpropagation, EvolutionStrategy, Reuse
from .losses import LEVEL_WEIGHTS, OUTCOME_WEIGHTS, PAPER_WEIGHTS, SETTLED_WEIGHTS
from .phases import Part, Plan
from .sensing import Sensing


class Estimation(Enum):
    """Which estimator phase III uses."""

    BACKPROPAGATION = "backpropagation"
    EVOLUTION = "evolution"


class Aim(Enum):
    """What the loss of phase III weighs."""

    PAPER = "paper"  # tab. shape_loss_weights
    OUTCOME = "outcome"  # the best value, a little of the last, and nothing else; the teacher is not asked
    LEVEL = "level"  # the best value on a scale that is logarithmic far from zero, likewise
    SETTLED = "settled"  # as the outcome; the last value counts as much, and that a run comes to rest


AIMS = {
    Aim.PAPER: PAPER_WEIGHTS,
    Aim.OUTCOME: OUTCOME_WEIGHTS,
    Aim.LEVEL: LEVEL_WEIGHTS,
    Aim.SETTLED: SETTLED_WEIGHTS,
}


class Keep(Enum):
    """Which weights a run leaves."""

    BEST = "best"  # on validation; the untrained ones if none is better
    LAST = "last"  # of the schedule's end, whatever validation says


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

    family: str = "rastrigin"  # a name, or package.module:Attribute
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
    sees_place: bool = True  # whether the networks see where in the box q lies, as the paper's do
    cell_shaping: bool = False  # U_mem and V_bar from the memory's cells instead of the archive of basins
    noisy_stall: bool = False  # stalls judged by sums over a stage, which noise does not hide
    sees_task: bool = False  # whether the networks are told the task's descriptor d_tau; for families that have one
    start: str | None = None  # name or path of a policy to go on from; None: random weights
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
    decay: bool = False  # whether the rate of phase III falls to a twentieth over the run
    aim: Aim = Aim.PAPER
    trained: Part = Part.ALL
    # the estimator of phase III
    estimator: Estimation = Estimation.BACKPROPAGATION
    windows: int = 1
    clip: float = 1.0
    adjoint_clip: float | None = None  # longest derivative by q that a run hands on to an earlier reading; None: any
    noise_scale: float = 0.01  # of an evolution strategy's perturbations
    pairs: int = 4
    reuse: Reuse = Reuse.REUSED
    constant_forces: bool = False
    remat: bool = True
    precision: Precision = Precision.SINGLE
    # validation
    validation_tasks: int = 128
    validation_readings: int = 128
    validate_every: int = 10  # epochs
    patience: int = 20  # validations without a better one before the run ends
    keep: Keep = Keep.BEST  # which weights the policy has at the end
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

    @property
    def descriptor_size(self) -> int:
        """How many numbers of a task the networks are told."""
        if not self.sees_task:
            return 0
        family = self.make_family(self.grade(-1))
        size = jax.eval_shape(lambda key: family.sample(key).descriptor, jax.random.key(0)).size
        if not size:
            raise ValueError(f"`sees_task` needs a family whose tasks have a descriptor; {self.family} has none.")
        return size

    def grade(self, epoch: int) -> Grade:
        """How hard the tasks of an epoch are; before the first epoch it is -1."""
        progress = max(epoch, 0) / max(self.epochs, 1)
        full = Grade(
            math.inf, self.family, self.law, self.sigma, self.directions, self.dimension, self.rotated, self.readings
        )
        return next(grade for grade in grades_of(self.curriculum, full) if progress < grade.until)

    def make_family(self, grade: Grade) -> AbstractFamily:
        """The family of a grade; one of a user's own has its own dimension and starts."""
        if ":" not in grade.family:
            return make_family(grade.family, grade.dimension, grade.law, grade.rotated, self.varied)
        found = load_family(grade.family)
        if found.dimension != self.dimension:
            raise ValueError(f"`dimension` must be {found.dimension}, that of {grade.family}; got {self.dimension}.")
        return found

    def make_estimator(self) -> AbstractEstimator:
        if self.estimator is Estimation.EVOLUTION:
            return EvolutionStrategy(sigma=self.noise_scale, pairs=self.pairs, reuse=self.reuse, clip=self.clip)
        return Backpropagation(self.clip)

    def make_policy(self, key: PRNGKeyArray) -> PaperPolicy:
        """The policy before the first update."""
        fresh = PaperPolicy.create(
            self.dimension,
            key,
            rank=self.rank,
            event_horizon=self.event_horizon,
            use_memory=self.use_memory,
            use_controller=self.use_controller,
            sees_place=self.sees_place,
            cell_shaping=self.cell_shaping,
            noisy_stall=self.noisy_stall,
            descriptor_size=self.descriptor_size,
            hidden=self.hidden,
            dtype=self.precision.value,
        )
        return fresh if self.start is None else cast_policy(_like(fresh, self.start), self.precision.value)

    def plan(self, epoch: int, family: AbstractFamily | None = None, mesh: Mesh | None = None) -> Plan:
        """The updates of an epoch; `family` replaces the one that the configuration names."""
        return self.plan_of(self.grade(epoch), family, mesh)

    def plan_of(self, grade: Grade, family: AbstractFamily | None = None, mesh: Mesh | None = None) -> Plan:
        """The updates on tasks of a grade."""
        return Plan(
            family=self.make_family(grade) if family is None else family,
            batch=self.batch,
            readings=grade.readings,
            windows=self.windows,
            sensing=Sensing(grade.sigma, grade.directions),
            estimator=self.make_estimator(),
            controller_rate=self.controller_rate,
            planner_rate=self.planner_rate,
            joint_rate=self.joint_rate,
            joint_weights=AIMS[self.aim],
            decay=max(self.epochs * self.joint_updates, 1) if self.decay else None,
            trained=self.trained,
            constant_forces=self.constant_forces,
            remat=self.remat,
            adjoint_clip=self.adjoint_clip,
            mesh=mesh,
        )


def load_family(name: str) -> AbstractFamily:
    """A user's own family, `package.module:Attribute`: a family, or a class or function that needs no argument."""
    found = load_attribute(name, "family")
    family = built(found, AbstractFamily)
    if not isinstance(family, AbstractFamily):
        raise ValueError(f"`family` must name a family, or what makes one without arguments; {name!r} is {found!r}.")
    return family


def _like(fresh: PaperPolicy, name: str) -> PaperPolicy:
    """The policy called `name`, which must have the settings of `fresh`; its precision may be another."""
    found = load_policy(name)
    if not isinstance(found, PaperPolicy):
        raise ValueError(f"`start` must be a paper policy; {name!r} is of the kind {getattr(found, 'kind', '?')!r}.")
    theirs, ours = found.settings, fresh.settings
    other = [
        f"{key} {theirs[key]} instead of {ours[key]}" for key in ours if key != "dtype" and theirs[key] != ours[key]
    ]
    if other:
        raise ValueError(f"`start` must be a policy with this run's settings; {name!r} has {', '.join(other)}.")
    return found


# dimension, epochs, hidden width, evaluated runs; tab. app:shape_training_specs
PAPER_SPECS = ((2, 500, 32, 128), (20, 800, 64, 64), (100, 1000, 128, 32), (500, 1000, 128, 32))
# dimension, epochs, readings of a run (those of the `paper` protocol), batch; chosen for some minutes on two cores
SMALL_SPECS = ((2, 150, 48, 64), (20, 150, 48, 32), (100, 120, 56, 16), (500, 80, 64, 8))


NEVER = 10**6  # a patience that no schedule exhausts: the paper names no rule to stop


def _presets() -> Mapping[str, TrainConfig]:
    paper = {
        f"paper-{d}": TrainConfig(
            dimension=d,
            epochs=epochs,
            hidden=hidden,
            validation_tasks=runs,
            patience=NEVER,
            keep=Keep.LAST,
        )
        for d, epochs, hidden, runs in PAPER_SPECS
    }
    small = {
        f"small-{d}": TrainConfig(
            dimension=d,
            epochs=epochs,
            readings=readings,
            batch=batch,
            controller_pretrain=50,
            planner_pretrain=50,
            controller_updates=0,
            joint_updates=1,
            controller_rate=1e-2,
            planner_rate=1e-2,
            joint_rate=5e-2,
            decay=True,
            aim=Aim.OUTCOME,
            trained=Part.GAINS,
            estimator=Estimation.EVOLUTION,
            noise_scale=0.1,
            pairs=16,
            validation_tasks=max(64, 8 * batch),
            validation_readings=readings,
        )
        for d, epochs, readings, batch in SMALL_SPECS
    }
    return MappingProxyType(paper | small)


# what makes a run the paper's, whatever its family, sensing and ablation
SCHEDULE = (
    *("hidden", "rank", "sees_place", "start", "batch", "readings", "controller_pretrain", "epochs"),
    *("joint_updates", "aim", "trained", "estimator", "windows", "constant_forces", "patience", "keep"),
)


def paper_preset(dimension: int) -> TrainConfig:
    """The paper's schedule for a dimension; one that its table lacks has that of the next lower one."""
    known = [d for d, *_ in PAPER_SPECS if d <= dimension]
    return PRESETS[f"paper-{max(known, default=PAPER_SPECS[0][0])}"]


def is_as_written(config: TrainConfig) -> bool:
    """Whether a run has the paper's schedule: presets paper-2 to paper-500, whatever the family and the ablation."""
    preset = paper_preset(config.dimension)
    return all(getattr(config, name) == getattr(preset, name) for name in SCHEDULE)


def write_toml(path: Path, config: TrainConfig) -> None:
    """The configuration as a flat TOML table; what is None is left out."""
    lines = [f"{name} = {_toml(value)}" for name, value in asdict(config).items() if value is not None]
    path.write_text("\n".join(lines) + "\n")


def read_config(path: Path) -> TrainConfig:
    """The configuration of a TOML file (what it leaves out has its default), or of a trained policy's card."""
    text = path.read_text()
    if path.suffix != ".json":
        return from_plain(tomllib.loads(text))
    card = json.loads(text)
    if not isinstance(card, dict) or "schedule" not in card.get("about", {}):
        raise ValueError(f"{path} is no card of a trained policy: it has no schedule.")
    return from_plain(card["about"]["schedule"])


def to_plain(config: TrainConfig) -> dict[str, Any]:
    """The configuration in JSON values."""
    plain = lambda value: value.value if isinstance(value, Enum) else value  # noqa: E731
    return {name: plain(value) for name, value in asdict(config).items()}


def from_plain(table: Mapping[str, Any]) -> TrainConfig:
    """The configuration that `to_plain` wrote; ValueError for a name or a type that it does not have."""
    types = get_type_hints(TrainConfig)
    for name in table:
        if name not in types:
            close = difflib.get_close_matches(name, types, n=1)
            raise ValueError(f"A configuration has no `{name}`" + (f"; did you mean `{close[0]}`?" if close else "."))
    return TrainConfig(**{name: _typed(name, value, types[name]) for name, value in table.items()})


def _typed(name: str, value: Any, kind: Any) -> Any:
    if isinstance(kind, type) and issubclass(kind, Enum):
        try:
            return kind(value)
        except ValueError as error:
            known = ", ".join(repr(member.value) for member in kind)
            raise ValueError(f"`{name}` must be one of {known}; got {value!r}.") from error
    if kind is float and type(value) is int:
        return float(value)
    if type(value) not in (get_args(kind) or (kind,)):
        words = " or ".join("nothing" if t is NoneType else t.__name__ for t in get_args(kind) or (kind,))
        raise ValueError(f"`{name}` must be of type {words}; got {value!r}.")
    return value


def _toml(value: Any) -> str:
    if isinstance(value, Enum):
        return f'"{value.value}"'
    if isinstance(value, bool):
        return str(value).lower()
    return json.dumps(value) if isinstance(value, str) else repr(value)  # JSON's escapes are TOML's


def _require_at_least(name: str, value: int, least: int) -> None:
    if not value >= least:
        raise ValueError(f"`{name}` must be at least {least}; got {value}.")


PRESETS = _presets()
