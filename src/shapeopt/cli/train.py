"""`shapeopt train`: a family of problems becomes a policy that `minimize --policy` takes."""

import json
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from ..terminal.errors import UsageError, raised_here

# With any of these the command is the paper's (paper/commands/train.py), whose only word is its folder.
PAPER_OPTIONS = (
    *("--preset", "--config", "--family", "--dimension", "--law", "--curriculum", "--sigma", "--directions"),
    *("--event-horizon", "--no-controller", "--no-memory", "--from", "--epochs", "--batch", "--readings"),
    *("--estimator", "--precision", "--coordinator", "--process"),
)

PATIENCE = 30.0  # seconds after which a slow step prints a line


def is_papers(words: list[str]) -> bool:
    """Whether the words of a command line ask for the training of the paper's policies."""
    return words[:1] == ["train"] and any(word.partition("=")[0] in PAPER_OPTIONS for word in words)


@dataclass(frozen=True)
class Train:
    """Train a policy for a family of problems from the optimizer's own runs on some; started again, it goes on.

    The paper's policies: shapeopt train OUT --preset NAME (`shapeopt train --preset paper-2 --help`).
    """

    family: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="FAMILY")]
    """package.module:Class with a method sample(seed) that returns a shapeopt.Instance; or a folder of journals."""
    out: Annotated[Path, tyro.conf.arg(metavar="DIR", help_behavior_hint="")]
    """Folder of the runs and at the end of policy.safetensors with its card."""
    budget: int = 150
    """Calls of the runs that the policy is for."""
    instances: int = 40
    """Problems to train on."""
    held_out: int = 20
    """Problems on which before and after are compared."""
    effort: int = 2
    """The first runs have so many times the budget."""
    seed: int = 0
    """Of the problems."""
    workers: int = 1
    """Processes."""
    picture: Annotated[Path | None, tyro.conf.arg(metavar="PATH", help_behavior_hint="")] = None
    """Draw the calls before and after; needs the extra `report`."""
    json: bool = False
    """Print the card as JSON."""
    quiet: bool = False
    """No progress."""

    def run(self) -> int:
        from ..training import train_family

        settings: dict[str, Any] = {name: getattr(self, name) for name in ("budget", "instances", "effort", "seed")}
        try:
            trained = train_family(
                self.family,
                self.out,
                held_out=self.held_out,
                workers=self.workers,
                progress=Lines(self.quiet),
                **settings,
            )
        except KeyboardInterrupt:
            print(
                f"shapeopt: stopped by Ctrl-C; {self.out} keeps the runs, and the same command goes on", file=sys.stderr
            )
            return 130
        except ValueError as error:
            if not raised_here(error):
                raise
            raise UsageError(str(error)) from error
        if self.json:
            print(json.dumps(dict(trained.policy.card) | {"policy": str(self.out / "policy")}, indent=1))
        else:
            print(trained)
            print(f"{self.out / 'policy.safetensors'}: minimize --policy {self.out / 'policy'}")
        if self.picture is not None:
            trained.draw(self.picture)
        return 0


class Lines:
    """A line on standard error as each step begins and ends, and every half minute."""

    def __init__(self, quiet: bool) -> None:
        self.quiet, self.spoke, self.step = quiet, time.monotonic(), ""

    def __call__(self, what: str, done: int, total: int) -> None:
        now = time.monotonic()
        if self.quiet or (what == self.step and done < total and now - self.spoke < PATIENCE):
            return
        if total > 1 or what != self.step:
            print(f"{what}: {done} of {total} runs", file=sys.stderr, flush=True)
        self.spoke, self.step = now, what
