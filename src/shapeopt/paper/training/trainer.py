"""A training run: the schedule, its log, checkpoints, validation, and the policy with its card at the end.

In the run's folder: `config.toml`, `log.jsonl` (a line an update, a line a validation), `checkpoint.safetensors`, and
at the end `policy.safetensors` with its card `policy.json`. A run that was killed goes on from its checkpoint when it
is started again, and ends in the same weights, byte for byte: update n draws from fold_in(key, n) alone.

Where there are several devices or processes, the tasks are divided over them (see `parallel`).
"""

import json
import math
import platform
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import equinox as eqx
import jax
from jaxtyping import PRNGKeyArray, PyTree

from ...tasks import AbstractFamily
from ..policy import PaperPolicy
from ..weights import save_policy
from . import parallel
from .checkpoint import CheckpointError, read_progress, replace_file, restore, save_checkpoint
from .command import differences, remake
from .config import Keep, Precision, TrainConfig, to_plain, write_toml
from .curriculum import Grade
from .phases import Learner, Outcome, Phases, make_phases, split_policy

CONTROLLER, PLANNER, JOINT = "controller", "planner", "joint"
PACKAGES = ("shapeopt", "jax", "jaxlib", "equinox", "optax", "numpy")
SILENT = "another process ended or can't be reached: no update within {} s"
POLICY_STREAM, ESTIMATOR_STREAM, VALIDATION_STREAM, UPDATE_STREAM = range(4)


class Update(NamedTuple):
    """One update of the schedule; `epoch` is -1 before the first. `closes`: it is the last of its epoch."""

    number: int
    phase: str
    epoch: int
    closes: bool


class Progress(NamedTuple):
    """The state of a run after an update, as an observer gets it."""

    done: int
    total: int
    phase: str
    loss: float
    terms: dict[str, float]
    validation: float
    best: float  # validation
    per_second: float
    seconds_left: float


@dataclass
class Tally:
    """What the run has come to, beside its arrays; all of it is in the checkpoint."""

    updates: int = 0
    best: float = math.inf
    stale: int = 0
    calls: float = 0.0
    seconds: float = 0.0
    stopped: bool = False
    curve: tuple[tuple[int, float], ...] = ()  # (updates, validation score)


class Trained(NamedTuple):
    """The policy (the best on validation, or the last: see `Keep`), its card, and the last learner."""

    policy: PaperPolicy
    card: dict[str, Any]
    learner: Learner


Observer = Callable[[Progress], bool | None]  # True asks the run to stop


def schedule(config: TrainConfig) -> Iterator[Update]:
    """All updates in order (tab. app:shape_training_specs)."""
    config, index = config.ablated, 0
    before = [CONTROLLER] * config.controller_pretrain + [PLANNER] * config.planner_pretrain
    epoch = [CONTROLLER] * config.controller_updates + [JOINT] * config.joint_updates
    for phase in before:
        yield Update(index, phase, -1, index == len(before) - 1)
        index += 1
    for number in range(config.epochs):
        for place, phase in enumerate(epoch):
            yield Update(index, phase, number, place == len(epoch) - 1)
            index += 1


def untrained(config: TrainConfig) -> PaperPolicy:
    """The policy with which a run of `config` begins."""
    return config.make_policy(jax.random.fold_in(jax.random.key(config.seed), POLICY_STREAM))


def train(
    config: TrainConfig, folder: Path, family: AbstractFamily | None = None, observer: Observer | None = None
) -> Trained:
    """Train a policy of the paper's kind, or go on with a training that was stopped.

    Args:
        config: what is trained, on what, for how long.
        folder: where checkpoints, the curve and the policy are kept; a training that is there already goes on.
        family: in the place of the one that the configuration names.
        observer: is shown every update, and may ask to stop.

    Returns:
        The trained policy and its curve.

    Raises:
        ValueError: if the configuration or the folder's content is wrong.
        LostProcessError: if another process of the same training ended.
        KeyboardInterrupt: if the observer asked to stop; the checkpoint is up to date.

    Example:
        from shapeopt.paper.training import TrainConfig, train

        trained = train(TrainConfig(), Path("runs/mine"))
    """
    silent = SILENT.format(parallel.SECONDS_SILENT)
    clock = parallel.Clock(parallel.SECONDS_SILENT, silent) if jax.process_count() > 1 else None
    with jax.enable_x64(config.precision is Precision.DOUBLE), clock or nullcontext():
        try:
            return _Run(config, folder, family, observer, clock).finish()
        except (ValueError, RuntimeError) as error:
            if parallel.lost(error):
                reason = str(error).partition("\n")[0]
                raise parallel.LostProcessError(f"another process ended or can't be reached: {reason}") from error
            raise


class _Run:
    """A run under way."""

    def __init__(
        self,
        config: TrainConfig,
        folder: Path,
        family: AbstractFamily | None,
        observer: Observer | None,
        clock: parallel.Clock | None,
    ) -> None:
        self.config, self.folder, self.family, self.observer = config, folder, family, observer
        self.clock, self.mesh, self.writes = clock, parallel.task_mesh(), parallel.is_writer()
        for name in ("batch", "validation_tasks"):
            parallel.check_divisible(self.mesh, name, getattr(config, name))
        parallel.check_agreement("config", str(to_plain(config)))
        self.key = jax.random.key(config.seed)
        self.tally, self.began = Tally(), time.perf_counter()
        self._made: dict[Grade, Phases] = {}
        self.checkpoint, self.log = folder / "checkpoint.safetensors", folder / "log.jsonl"
        params, self.static = split_policy(untrained(config))
        phases = self._phases(config.grade(-1))
        if self.writes:
            folder.mkdir(parents=True, exist_ok=True)
        stored = self.checkpoint.read_bytes() if self.writes and self.checkpoint.exists() else None
        stored = parallel.told_by_writer(stored)
        progress = None if stored is None else self._checked(stored)
        self.learner: Learner = phases.init(params, self._stream(ESTIMATOR_STREAM))
        self.best: PyTree = self.learner.params
        if stored is not None and progress is not None:
            self._resume(stored, progress)
            return
        if self.writes:
            write_toml(folder / "config.toml", config)
            self.log.write_text("")
        self._validate(0)  # the untrained policy: what is kept is never worse

    def finish(self) -> Trained:
        """All updates that are left, and the policy on disk."""
        updates = list(schedule(self.config))
        done_before, began = self.tally.updates, time.perf_counter()
        for update in updates[self.tally.updates :]:
            if self.tally.stopped:
                break
            outcome = self._step(update)
            self._close(update)
            if self.clock is not None:
                self.clock.rewind()
            rate = (self.tally.updates - done_before) / (time.perf_counter() - began)
            if self._tell(update, outcome, len(updates), rate):
                self._save()
                raise KeyboardInterrupt
        self._save()
        kept = self.best if self.config.keep is Keep.BEST else self.learner.params
        policy, card = eqx.combine(parallel.at_hand(kept), self.static), self._card()
        if self.writes:
            save_policy(self.folder / "policy", policy, card)
        return Trained(policy, card, parallel.at_hand(self.learner))

    def _step(self, update: Update) -> Outcome:
        phases = self._phases(self.config.grade(update.epoch))
        if update.epoch > 0 and self.config.grade(update.epoch) != self.config.grade(update.epoch - 1):
            self._change_grade(phases, update)
        key = jax.random.fold_in(self._stream(UPDATE_STREAM), update.number)
        self.learner, outcome = _applied(phases, update.phase)(self.learner, key)
        outcome = jax.device_get(outcome)
        self.tally.updates, self.tally.calls = update.number + 1, self.tally.calls + float(outcome.calls)
        self._write({"update": update.number, "phase": update.phase, "epoch": update.epoch, **_numbers(outcome)})
        return outcome

    def _change_grade(self, phases: Phases, update: Update) -> None:
        """Runs that an estimator holds end with their tasks, at the first update of a new grade."""
        first = next(u.number for u in schedule(self.config) if u.epoch == update.epoch)
        if update.number == first and self.learner.estimator is not None:
            fresh = phases.init(self.learner.params, self._stream(ESTIMATOR_STREAM)).estimator
            self.learner = self.learner._replace(estimator=fresh)

    def _close(self, update: Update) -> None:
        """At an epoch's end: validate, keep the best, save."""
        if not update.closes:
            return
        number, last = update.epoch + 1, update.epoch + 1 == self.config.epochs
        if number % self.config.validate_every == 0 or last:
            self._validate(self.tally.updates)
        if number % self.config.checkpoint_every == 0 or last:
            self._save()

    def _validate(self, updates: int) -> None:
        config, tally = self.config, self.tally
        key, params, tasks = self._stream(VALIDATION_STREAM), self.learner.params, config.validation_tasks
        score = float(
            self._phases(config.grade(config.epochs)).evaluate(params, key, tasks, config.validation_readings)
        )
        better = score < tally.best
        tally.stale = 0 if better else tally.stale + 1
        if better:
            tally.best, self.best = score, self.learner.params
        tally.stopped = tally.stale >= config.patience
        tally.curve = (*tally.curve, (updates, score))
        self._write({"update": updates, "validation": score, "best": tally.best})

    def _tell(self, update: Update, outcome: Outcome, total: int, rate: float) -> bool:
        """Whether the observer asks to stop."""
        if self.observer is None:
            return False
        terms = {} if outcome.terms is None else {name: float(term) for name, term in outcome.terms._asdict().items()}
        done, loss = self.tally.updates, float(outcome.loss)
        left, validation = (total - done) / rate, self.tally.curve[-1][1]
        progress = Progress(done, total, update.phase, loss, terms, validation, self.tally.best, rate, left)
        return bool(self.observer(progress))

    def _save(self) -> None:
        now = time.perf_counter()
        self.tally.seconds, self.began = self.tally.seconds + now - self.began, now
        if self.writes:
            progress = {"config": to_plain(self.config), "tally": vars(self.tally)}
            save_checkpoint(self.checkpoint, parallel.at_hand((self.learner, self.best)), progress)

    def _checked(self, stored: bytes) -> dict[str, Any]:
        """The progress of a checkpoint, which must be this run's."""
        progress = read_progress(stored, self.checkpoint)
        if {**to_plain(TrainConfig()), **progress["config"]} != to_plain(self.config):  # a setting may be newer than it
            other = differences(self.config, progress["config"])
            raise CheckpointError(f"{self.checkpoint} belongs to a run with another configuration: {other}.")
        return progress

    def _resume(self, stored: bytes, progress: dict[str, Any]) -> None:
        found = restore(stored, self.checkpoint, parallel.at_hand((self.learner, self.best)))
        self.learner, self.best = parallel.compiled(self.mesh, lambda held: held)(found)
        tally = progress["tally"]
        self.tally = Tally(**{**tally, "curve": tuple((n, score) for n, score in tally["curve"])})
        if self.writes:
            text = self.log.read_text() if self.log.exists() else ""
            lines = [line for line in text.splitlines() if _is_before(line, self.tally.updates)]
            replace_file(self.log, "".join(line + "\n" for line in lines).encode())

    def _write(self, entry: dict[str, Any]) -> None:
        if self.writes:
            with self.log.open("a") as file:
                file.write(json.dumps(entry) + "\n")

    def _card(self) -> dict[str, Any]:
        config, tally = self.config, self.tally
        return self._tasks() | {
            "schedule": to_plain(config),
            "updates": tally.updates,
            "stopped_early": tally.stopped,
            "skipped_updates": int(self.learner.skipped),
            "seed": config.seed,
            "seconds": round(tally.seconds, 1),
            "calls": tally.calls,
            "validation_tasks": config.validation_tasks,
            "validation": [list(point) for point in tally.curve],
            "best_validation": tally.best,
            "command": remake(config) if self.family is None else f"training.train(config, folder, {self.family!r})",
            "devices": jax.device_count(),
            "versions": {name: version(name) for name in PACKAGES} | {"python": platform.python_version()},
        }

    def _tasks(self) -> dict[str, Any]:
        """What the card says of the tasks."""
        config = self.config
        plan = config.plan(config.epochs, self.family)
        protocol = {"law": config.law.value, "readings": config.readings}
        return {"family": plan.family.name, "dimension": config.dimension, "protocol": protocol}

    def _phases(self, grade: Grade) -> Phases:
        if grade not in self._made:
            self._made[grade] = make_phases(self.config.plan_of(grade, self.family, self.mesh), self.static)
        return self._made[grade]

    def _stream(self, number: int) -> PRNGKeyArray:
        return jax.random.fold_in(self.key, number)


def _applied(phases: Phases, phase: str) -> Any:
    """The update of a phase."""
    if phase == JOINT:
        return phases.train_jointly
    return phases.teach_controller if phase == CONTROLLER else phases.teach_planner


def _numbers(outcome: Outcome) -> dict[str, Any]:
    """What the log says of an update; a number that is not finite is null."""
    real = lambda x: float(x) if math.isfinite(x) else None  # noqa: E731
    terms = {} if outcome.terms is None else {name: real(term) for name, term in outcome.terms._asdict().items()}
    sizes = {"loss": real(outcome.loss), "gradient_norm": real(outcome.gradient_norm), "calls": real(outcome.calls)}
    return sizes | {"skipped": int(outcome.skipped)} | ({"terms": terms} if terms else {})


def _is_before(line: str, updates: int) -> bool:
    """Whether a line of the log was written before the checkpoint at `updates`; half a line was not."""
    try:
        entry = json.loads(line)
    except ValueError:
        return False
    return entry["update"] < updates or ("validation" in entry and entry["update"] == updates)
