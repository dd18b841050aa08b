"""`shapeopt train`: a task family becomes a trained policy."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tyro

from .environment import keep_compiled_code
from .errors import UsageError, did_you_mean


@dataclass(frozen=True)
class Train:
    """Train a policy on a task family; started again, it goes on where it stopped."""

    out: tyro.conf.Positional[Path]
    """Folder of the run: config.toml, log.jsonl, checkpoint, and at the end policy.safetensors with its card."""
    preset: str = "small-2"
    """paper-2, paper-20, paper-100, paper-500: the paper's schedule. small-...: some minutes on two cores."""
    config: Path | None = None
    """A TOML file of settings, instead of a preset."""
    family: str | None = None
    """A family's name (see `shapeopt list`), instead of the configured one."""
    seed: int | None = None
    """Weights, tasks, starts and noise follow from it."""
    epochs: int | None = None
    """Epochs, instead of the configured number."""
    event_horizon: int | None = None
    """Readings in a stage; the paper's ablations use 4."""
    no_controller: bool = False
    """Ablation: unit mass and plain damping instead of the learned controller."""
    no_memory: bool = False
    """Ablation: planner and controller do not see the memory."""

    def run(self) -> int:
        keep_compiled_code()
        from ..training import train

        config = self._config()
        try:
            trained = train(config, self.out, onlooker=_report)
        except ValueError as error:
            raise UsageError(str(error)) from error
        except KeyboardInterrupt:
            print(f"stopped; {self.out} keeps the last checkpoint, and the same command goes on from there")
            return 130
        card = trained.card
        first, best = card["validation"][0][1], card["best_validation"]
        print(f"{self.out / 'policy.safetensors'}: validation {first:.4f} untrained, {best:.4f} at best")
        return 0

    def _config(self) -> Any:
        import dataclasses

        from ..training import PRESETS, read_toml

        if self.config is None and self.preset not in PRESETS:
            hint = did_you_mean(self.preset, PRESETS)
            raise UsageError(f"`preset` must be one of {', '.join(PRESETS)}; got {self.preset!r}{hint}")
        chosen = {"family": self.family, "seed": self.seed, "epochs": self.epochs, "event_horizon": self.event_horizon}
        changes: dict[str, Any] = {name: value for name, value in chosen.items() if value is not None}
        if self.no_controller:
            changes["use_controller"] = False
        if self.no_memory:
            changes["use_memory"] = False
        try:
            base = PRESETS[self.preset] if self.config is None else read_toml(self.config)
            return dataclasses.replace(base, **changes)
        except (OSError, ValueError) as error:
            raise UsageError(str(error)) from error


def _report(progress: Any) -> None:
    """A line now and then."""
    if progress.done % 10 and progress.done != progress.total:
        return
    print(
        f"{progress.done}/{progress.total} {progress.phase}: loss {progress.loss:.4f}, validation "
        f"{progress.validation:.4f}, {progress.per_second:.1f} updates/s, about {progress.seconds_left:.0f} s left",
        file=sys.stderr,
        flush=True,
    )
