"""The command line: parse, build objects, call.

Importing this room brings in neither JAX nor SciPy, so that `shapeopt --help` answers at once; a command imports what
it needs when it runs.
"""

import os
import sys
from collections.abc import Sequence
from itertools import pairwise
from typing import Annotated, Any

import tyro

from ..core.extras import MissingExtra
from ..terminal.errors import UsageError, did_you_mean
from .bench import Bench
from .completion import Completion
from .demo import Demo
from .listing import List
from .minimize import Minimize
from .report import Report
from .train import Train, is_papers

__all__ = ["main"]

NAMES = ("minimize", "demo", "train", "bench", "report", "figures", "theory", "list", "completion")
DESCRIPTION = "Fixed-budget nonconvex minimisation."
CLOSED_PIPE = 141  # as a shell reports a program that wrote to a reader which had gone


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; `argv` defaults to the process's own. Returns the exit code (0 well, 1 the objective raised or a
    process was lost, 2 a wrong argument, 130 stopped by Ctrl-C, 141 whoever read the output has gone)."""
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        try:
            code = _main(words)
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is still to be flushed goes nowhere
        return CLOSED_PIPE
    if code == 130 and argv is None:  # JAX, interrupted while it compiles, can crash when the process ends in order
        sys.stderr.flush()
        os._exit(code)
    return code


def _main(words: list[str]) -> int:
    if words == ["--version"]:
        from importlib.metadata import version

        print(f"shapeopt {version('shapeopt')}")
        return 0
    if words and not words[0].startswith("-") and words[0] not in NAMES:
        hint = did_you_mean(words[0], NAMES) or f"; there are {', '.join(NAMES)}."
        print(f"shapeopt: error: no command is called {words[0]!r}{hint}", file=sys.stderr)
        return 2
    config = (tyro.conf.FlagCreatePairsOff, tyro.conf.OmitArgPrefixes, tyro.conf.OmitSubcommandPrefixes)
    args = _plain_budget(words)
    command: Any = tyro.cli(_commands(words), prog="shapeopt", description=DESCRIPTION, args=args, config=config)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a terminal without Unicode must not end a run
    return _run(command)


def _plain_budget(words: list[str]) -> list[str]:
    """The words with `--budget 1e3` as `--budget 1000`; what is no whole number stays, for the parser to refuse."""
    return [_whole(word) if before == "--budget" else word for before, word in pairwise(["", *words])]


def _whole(word: str) -> str:
    try:
        number = float(word)
    except ValueError:
        return word
    return str(int(number)) if number.is_integer() else word


def _commands(words: list[str]) -> Any:
    """All commands; the paper's have a room of their own, and with the paper's options `train` is one of them."""
    from ..paper.commands.figures import Figures
    from ..paper.commands.theory import Theory
    from ..paper.commands.train import Train as TrainPaper

    train: Any = TrainPaper if is_papers(words) else Train
    return (
        Annotated[Minimize, tyro.conf.subcommand("minimize")]
        | Annotated[Demo, tyro.conf.subcommand("demo")]
        | Annotated[train, tyro.conf.subcommand("train")]
        | Annotated[Bench, tyro.conf.subcommand("bench")]
        | Annotated[Report, tyro.conf.subcommand("report")]
        | Annotated[Figures, tyro.conf.subcommand("figures")]
        | Annotated[Theory, tyro.conf.subcommand("theory")]
        | Annotated[List, tyro.conf.subcommand("list")]
        | Annotated[Completion, tyro.conf.subcommand("completion")]
    )


def _run(command: Any) -> int:
    try:
        return command.run()
    except (UsageError, MissingExtra) as error:
        print(f"shapeopt: error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("shapeopt: stopped before the first reading", file=sys.stderr)
        return 130
