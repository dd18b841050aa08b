"""`shapeopt train`: a task family becomes a trained policy."""

import json
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from ...core.extras import require
from ...terminal.environment import keep_compiled_code
from ...terminal.errors import UsageError, did_you_mean, raised_here
from ...terminal.interrupt import Interrupt
from .train_progress import make_display


def _shown(metavar: str, name: str | None = None) -> Any:
    """How an option without a default looks in the help; `name` where it is no name in Python."""
    return tyro.conf.arg(metavar=metavar, help_behavior_hint="", name=name)


# settings that a flag switches off
NEGATED = {"use_controller": "no_controller", "use_memory": "no_memory", "sees_place": "no_place"}


@dataclass(frozen=True)
class Train:
    """Train a policy on a family of tasks; started again, it goes on where it stopped."""

    out: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="OUT")]
    """Folder of the run: config.toml, log.jsonl, checkpoint, and at the end policy.safetensors with its card."""
    config: Annotated[Path | None, _shown("PATH")] = None
    """A TOML file of settings, or a trained policy's card, instead of a preset."""
    preset: Annotated[str | None, _shown("NAME")] = None
    """paper-2, -20, -100, -500: the paper's schedule. small-2, ...: some minutes on two cores; one of these if
    none."""
    family: Annotated[str | None, _shown("NAME")] = None
    """A built-in family (see `shapeopt list`), or package.module:Attribute, looked for in the current directory too."""
    dimension: Annotated[int | None, _shown("INT")] = None
    """How many coordinates tasks have; a family of your own says it itself."""
    law: Annotated[Literal["paper", "near", "box"] | None, _shown("paper|near|box")] = None
    """How minimisers and starts are drawn."""
    curriculum: Annotated[
        Literal["none", "wells", "sensing", "starts", "all"] | None, _shown("none|wells|sensing|starts|all")
    ] = None
    """What is easier at first."""
    sigma: Annotated[float | None, _shown("FLOAT")] = None
    """Standard deviation of the readings' noise."""
    directions: Annotated[int | None, _shown("INT")] = None
    """Value-only readings along so many directions; 0: gradients are read."""
    event_horizon: Annotated[int | None, _shown("INT")] = None
    """Readings in a stage; the paper's ablations use 4."""
    no_controller: bool = False
    """Ablation: unit mass and plain damping instead of the learned controller."""
    no_memory: bool = False
    """Ablation: planner and controller do not see the memory."""
    no_place: bool = False
    """Planner and controller do not see where in the box they are, and can't learn a pull to a place."""
    start: Annotated[str | None, _shown("POLICY", name="from")] = None
    """Go on from a stored policy, by name or path, instead of random weights."""
    seed: Annotated[int | None, _shown("INT")] = None
    """Weights, tasks, starts and noise follow from it."""
    epochs: Annotated[int | None, _shown("INT")] = None
    """Length of the schedule."""
    batch: Annotated[int | None, _shown("INT")] = None
    """Tasks in an update."""
    readings: Annotated[int | None, _shown("INT")] = None
    """Readings of a run, in training and in validation."""
    estimator: Annotated[Literal["backpropagation", "evolution"] | None, _shown("backpropagation|evolution")] = None
    """How phase III gets its gradients."""
    precision: Annotated[Literal["float32", "float64"] | None, _shown("float32|float64")] = None
    """Floats of the run."""
    coordinator: Annotated[str | None, _shown("HOST:PORT")] = None
    """Several processes: where process 0 can be reached. Start the same command on every host."""
    process: Annotated[str | None, _shown("I/N")] = None
    """Several processes: this one's number, from 0, and how many there are. Process 0 writes the files."""
    json: bool = False
    """Print the summary as JSON."""
    quiet: bool = False
    """No progress."""

    def run(self) -> int:
        require("jax", "shapeopt train")
        number, processes = self._place()
        keep_compiled_code()
        from ..training.parallel import LostProcessError, join

        if self.coordinator is not None:
            join(self.coordinator, number, processes)
        config = self._config()
        try:
            card = self._train(config, self.quiet or number > 0)
        except KeyboardInterrupt:
            kept = (self.out / "checkpoint.safetensors").exists()
            rest = (
                f"{self.out} keeps the checkpoint, and the same command goes on from there" if kept else "nothing kept"
            )
            print(f"shapeopt: stopped by Ctrl-C; {rest}", file=sys.stderr)
            return 130
        except LostProcessError as error:
            print(f"shapeopt: error: {error}", file=sys.stderr)
            print("shapeopt: the same commands go on from the last checkpoint", file=sys.stderr)
            return 1
        if number == 0:
            self._print(card)
        return 0

    def _train(self, config: Any, quiet: bool) -> dict[str, Any]:
        from ..training import train

        display = make_display(quiet)
        with display, Interrupt(display.stopping) as interrupt:

            def observer(progress: Any) -> bool:
                display.show(progress)
                return interrupt.asked

            try:
                return train(config, self.out, observer=observer).card
            except OSError as error:
                raise UsageError(f"`out` {self.out} can't be used: {error}") from error
            except ValueError as error:
                if not raised_here(error):
                    raise
                raise UsageError(str(error)) from error

    def _print(self, card: dict[str, Any]) -> None:
        weights, (first, best) = self.out / "policy.safetensors", (card["validation"][0][1], card["best_validation"])
        if self.json:
            names = ("family", "dimension", "updates", "stopped_early", "skipped_updates", "seed", "seconds", "calls")
            summary = {"policy": str(weights), "untrained": first, "best": best}
            print(json.dumps(summary | {name: card[name] for name in (*names, "command")}, indent=1))
            return
        early = ", stopped early" if card["stopped_early"] else ""
        where = f" in {card['dimension']} dimensions" if card["dimension"] else ""
        print(f"{weights}: {card['family']}{where}, {card['updates']} updates{early}")
        print(f"validation {first:.4f} untrained, {best:.4f} at best; {card['calls']:.3g} calls, {card['seconds']} s")
        if card["skipped_updates"]:
            print(f"{card['skipped_updates']} updates were not finite and were skipped")
        if not best < first:
            print("nothing beat the untrained weights, which were kept")

    def _place(self) -> tuple[int, int]:
        """This process's number, and how many there are."""
        if (self.coordinator is None) != (self.process is None):
            raise UsageError("--coordinator and --process go together; only one was given")
        if self.coordinator is None or self.process is None:
            return 0, 1
        if not re.fullmatch(r".+:\d{1,5}", self.coordinator):
            raise UsageError(f"--coordinator must look like HOST:PORT; got {self.coordinator!r}")
        found = re.fullmatch(r"(\d+)/(\d+)", self.process)
        if found is None or not int(found[1]) < int(found[2]):
            raise UsageError(f"--process must look like 0/2, the first number being the smaller; got {self.process!r}")
        return int(found[1]), int(found[2])

    def _config(self) -> Any:
        from ..training.command import with_flags

        try:
            return with_flags(self._base(), self._chosen())
        except OSError as error:
            raise UsageError(f"`config` {self.config} can't be read: {error}") from error
        except ValueError as error:
            if not raised_here(error) and self.config is None:
                raise
            raise UsageError(str(error) if raised_here(error) else f"`config` {self.config}: {error}") from error

    def _base(self) -> Any:
        """The settings that the flags change."""
        from ..training import PRESETS, read_config

        if self.config is not None:
            if self.preset is not None:
                raise UsageError(f"--config and --preset exclude each other; got {self.config} and {self.preset}")
            return read_config(self.config)
        preset = self.preset
        if preset is None:
            sizes = [int(name.removeprefix("small-")) for name in PRESETS if name.startswith("small-")]
            dimension = self._dimension() or min(sizes)
            preset = f"small-{max((d for d in sizes if d <= dimension), default=min(sizes))}"
        if preset not in PRESETS:
            hint = did_you_mean(preset, PRESETS)
            raise UsageError(f"`preset` must be one of {', '.join(PRESETS)}; got {preset!r}{hint}")
        return PRESETS[preset]

    def _dimension(self) -> int | None:
        from ..training.config import load_family

        if self.dimension is None and self.family is not None and ":" in self.family:
            return load_family(self.family).dimension
        return self.dimension

    def _chosen(self) -> dict[str, Any]:
        """Settings that flags change."""
        from ...tasks import FAMILIES
        from ..training.command import FLAGS
        from ..training.config import from_plain

        if self.family is not None and ":" not in self.family and self.family not in FAMILIES:
            known = f"one of {', '.join(FAMILIES)}, or package.module:Attribute"
            raise UsageError(f"`family` must be {known}; got {self.family!r}{did_you_mean(self.family, FAMILIES)}")
        given = {name: getattr(self, name) for name in FLAGS if name not in NEGATED}
        given |= {"dimension": self._dimension()}
        given |= {name: False if getattr(self, flag) else None for name, flag in NEGATED.items()}
        chosen = {name: value for name, value in given.items() if value is not None}
        typed = from_plain(chosen)
        return {name: getattr(typed, name) for name in chosen}
