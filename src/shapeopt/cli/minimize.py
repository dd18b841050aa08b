"""`shapeopt minimize`: one objective and a budget."""

import sys
import time
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from ..terminal.environment import keep_compiled_code, one_thread_for_small_matrices
from ..terminal.errors import UsageError, raised_here, relayed, traceback_below
from ..terminal.interrupt import Interrupt
from ..terminal.progress import Display, make_display
from ..terminal.record import STANDARD_OUTPUT, check_writable, write_record
from .objective import ImportFailed, Objective, UserFunction, make_command, make_function, make_task

INTERRUPTED = "Stopped by Ctrl-C; the best point seen is returned."


def _shown(metavar: str) -> Any:
    """How an option without a default looks in the help."""
    return tyro.conf.arg(metavar=metavar, help_behavior_hint="")


@dataclass(frozen=True)
class Minimize:
    """Minimise a function of yours (package.module:function), a program (--command) or a task of a built-in family."""

    objective: Annotated[tyro.conf.Positional[str | None], _shown("OBJECTIVE")] = None
    """package.module:function, looked for in the current directory too; or a family (see `shapeopt list`)."""
    command: Annotated[str | None, _shown("COMMAND")] = None
    """A program instead, such as "./sim {x}": {x} becomes the coordinates, and it prints the value. No shell."""
    bounds: Annotated[tuple[float, ...], _shown("LOWER UPPER ...")] = ()
    """One pair for all coordinates, or a pair for each; families have their own."""
    dim: Annotated[int | None, _shown("INT")] = None
    """How many coordinates there are."""
    x0: Annotated[tuple[float, ...], _shown("X ...")] = ()
    """Where to start; a single number stands for all coordinates. Drawn in the bounds if not given."""
    budget: int = 500
    """The most calls that may be spent."""
    workers: int = 1
    """How many calls may be under way at the same time, in threads; with --call-timeout in processes."""
    target: Annotated[float | None, _shown("FLOAT")] = None
    """End when a value is not above this one."""
    tol: Annotated[float | None, _shown("FLOAT")] = None
    """End when the best value fell by no more than this in the second half of the calls."""
    confidence: Annotated[float | None, _shown("FLOAT")] = None
    """End when the probability of having seen the best basin is not below this one, say 0.9."""
    jac: bool = False
    """The function returns (value, gradient); the program prints both."""
    policy: str = "universal"
    """universal; the path of a family's policy that `shapeopt train` made; or a policy of the paper's kind for an
    objective that computes with JAX: the name or the path of one that is stored (see `shapeopt list`)."""
    seed: int = 0
    """All randomness follows from it, a family's task and start too."""
    rotated: bool = False
    """Families: turn the task by a random rotation."""
    varied: bool = False
    """Families: vary the task's constants."""
    law: Literal["box", "near", "paper"] = "box"
    """Families: how the minimiser and the start are drawn."""
    journal: Annotated[Path | None, _shown("PATH")] = None
    """Keep every call here as it is made; after a crash the same command goes on and ends as if there had been none."""
    on_error: Literal["raise", "skip"] = "raise"
    """Whether a call that fails ends the run or only costs its call."""
    call_timeout: Annotated[float | None, _shown("SECONDS")] = None
    """How long a call may take; what takes longer is ended, with all that it has started. A function gets a process."""
    port_allowance: Annotated[float | None, _shown("FLOAT")] = None
    """Energy that the policy's port may feed in, as a multiple of what was dissipated; past it its input is cut."""
    events: bool = False
    """Print every event: which stage ended, why, from which value to which, and where the run went on."""
    json: Annotated[Path | None, _shown("PATH")] = None
    """Write the whole result here; - stands for the standard output, on which nothing else is then printed."""
    report: Annotated[Path | None, _shown("DIR")] = None
    """Write a page about the run into this folder, to be opened in a browser."""
    quiet: bool = False
    """No progress; print the best value alone."""

    def run(self) -> int:
        if self.json is not None:
            check_writable(self.json)
        if self.budget < 1:
            raise UsageError(f"--budget must be at least 1; got {self.budget}.")
        if self.workers < 1:
            raise UsageError(f"--workers must be at least 1; got {self.workers}.")
        if self.seed < 0:
            raise UsageError(f"--seed must not be negative; got {self.seed}.")
        keep_compiled_code()
        if self.report is not None:
            one_thread_for_small_matrices()
            _check_report(self.report)
        try:
            objective = self._objective()
        except ImportFailed as failure:
            return _show_traceback(failure.__cause__, f"the module {failure} raised while it was imported")
        if not _is_shipped(self.policy):
            from ..paper.commands.policy import check_policy

            check_policy(self.policy)
        if self.port_allowance is not None and not self.port_allowance >= 0:
            raise UsageError(f"--port-allowance must not be negative; got {self.port_allowance}.")
        if self.call_timeout is not None and not self.call_timeout > 0:
            raise UsageError(f"--call-timeout must be positive; got {self.call_timeout}.")
        outcome = attempt(
            objective,
            self.budget,
            self.policy,
            self.seed,
            self.quiet,
            port_allowance=self.port_allowance,
            stages=self.json is not None or self.report is not None,
            journal=self.journal,
            on_error=self.on_error,
            call_timeout=None if self.command is not None else self.call_timeout,  # which sees to it itself
            limits=self._limits(),
            workers=self.workers,
        )
        return self._report(objective, outcome)

    def _limits(self) -> dict[str, float | None]:
        """What may end the run before its budget is spent."""
        from ..core.stopping import Stopping

        limits = {"target": self.target, "tol": self.tol, "confidence": self.confidence}
        try:
            Stopping(**limits)
        except ValueError as error:
            raise UsageError(str(error).replace("`", "--", 1).replace("`", "", 1)) from error
        return {name: limit for name, limit in limits.items() if limit is not None}

    @property
    def name(self) -> str:
        """What is minimised, as the user named it."""
        if (self.objective is None) == (self.command is None):
            raise UsageError("name one OBJECTIVE (see `shapeopt list`), or a program with --command.")
        return self.objective or self.command or ""

    @property
    def of_family(self) -> bool:
        return self.command is None and ":" not in self.name

    def _objective(self) -> Objective:
        if not self.of_family:
            for flag, given in (("rotated", self.rotated), ("varied", self.varied), ("law", self.law != "box")):
                if given:
                    raise UsageError(f"--{flag} is for families; {self.name!r} is none.")
            placed = (self.bounds, self.dim, self.x0, self.jac)
            if self.command is not None:
                return make_command(self.command, self.call_timeout, *placed)
            return make_function(self.name, *placed)
        own = (("bounds", bool(self.bounds)), ("jac", self.jac), ("call-timeout", self.call_timeout is not None))
        for flag, given in own:
            if given:
                raise UsageError(f"--{flag} is for functions; families such as {self.name!r} bring their own.")
        return make_task(self.name, self.dim, self.law, self.rotated, self.varied, self.seed, self.x0)

    def _report(self, objective: Objective, outcome: "Outcome") -> int:
        """Write and print what is known, whichever way the run ended; returns the exit code."""
        result = outcome.result
        if result is not None and (self.json is not None or self.report is not None):
            self._write(objective, outcome)
        if outcome.error is not None:
            _show_error(outcome.error, self.name)
        elif outcome.interrupted:
            print(f"shapeopt: stopped by Ctrl-C{'' if result else ' before the first reading'}", file=sys.stderr)
        if result is not None and self.json != STANDARD_OUTPUT:
            self._print(objective, result, outcome.seconds)
        return 1 if outcome.error is not None else 130 if outcome.interrupted else 0 if result.success else 1

    def _write(self, objective: Objective, outcome: "Outcome") -> None:
        from ..core.fingerprint import versions
        from ..report import write_run_report
        from .report import subject_of

        result = outcome.result
        lower, upper = objective.bounds or ([None] * objective.dimension,) * 2
        about: dict[str, Any] = {
            "title": objective.title,
            "objective": self.name,
            "dimension": objective.dimension,
        }
        about |= {"budget": self.budget, "policy": self.policy, "seed": self.seed, "seconds": outcome.seconds}
        about |= {} if self.port_allowance is None else {"port_allowance": self.port_allowance}
        about |= self._limits() | ({} if self.workers == 1 else {"workers": self.workers})
        family = {"law": self.law, "rotated": self.rotated, "varied": self.varied}
        about |= family if self.of_family else {"jac": self.jac}
        about |= {} if self.command is None else {"command": True}
        about |= {"minimum": objective.minimum, "gap": result.fun - objective.minimum}
        about |= {"lower": lower, "upper": upper, "versions": versions()}
        if self.json is not None:
            write_record(self.json, about, result)
        if self.report is not None and "x" in result.get("trace", ()):
            task = objective.fun if self.of_family else None
            write_run_report(self.report, result, subject_of(about, result, task))

    def _print(self, objective: Objective, result: Any, seconds: float) -> None:
        if self.quiet:
            print(repr(float(result.fun)))
            return
        from rich.console import Console
        from rich.markup import escape

        from .summary import print_account, print_best, print_events

        console = Console(highlight=False)
        console.print(f"[bold]{escape(objective.title)}[/], seed {self.seed}, policy {self.policy}\n", soft_wrap=True)
        print_best(console, result, self.budget, seconds, objective.minimum)
        if not result.success and not result.get("partial"):
            console.print(f"[yellow]{result.message}[/]")
        console.print()
        print_account(console, result)
        if self.events and result.events:
            print_events(console, result.events)
        if self.json is not None:
            console.print(f"written to {self.json}", soft_wrap=True)
        if self.report is not None:
            console.print(f"page written to {self.report}", soft_wrap=True)


@dataclass(frozen=True)
class Outcome:
    """How a run ended: its result (None if nothing was read), and the objective's own exception if that ended it."""

    result: Any
    seconds: float
    error: BaseException | None = None
    interrupted: bool = False


def attempt(
    objective: Objective,
    budget: int,
    policy: str,
    seed: int,
    quiet: bool,
    *,
    port_allowance: float | None = None,
    stages: bool = False,
    journal: Path | None = None,
    on_error: Literal["raise", "skip"] = "raise",
    call_timeout: float | None = None,
    limits: dict[str, float | None] | None = None,
    workers: int = 1,
) -> Outcome:
    """Minimise under a progress display; whatever ends the run, what was learned so far is kept."""
    began = time.perf_counter()
    display = make_display(budget, quiet)
    watch = _Watch(display)
    if isinstance(objective.fun, UserFunction):
        objective.fun.interrupt = watch.interrupt
    try:
        with display, watch.interrupt:
            settings: dict[str, Any] = {"budget": budget, "policy": policy, "port_allowance": port_allowance}
            settings |= {"seed": seed, "callback": watch, "stages": stages, "bounds": objective.bounds}
            if _is_shipped(policy):
                from ..minimizer import minimize

                settings |= {"journal": journal, "on_error": on_error, "call_timeout": call_timeout, **(limits or {})}
                settings |= {"workers": workers}
                result = minimize(objective.fun, objective.x0, jac=objective.jac, **settings)
            else:
                if (
                    objective.jac is not None
                    or journal is not None
                    or call_timeout is not None
                    or limits
                    or workers > 1
                ):
                    raise UsageError(
                        f"--policy {policy} goes with no gradient, journal, limit, target or workers of one's own"
                    )
                from .. import paper

                result = paper.minimize(objective.fun, objective.x0, **settings)
    except KeyboardInterrupt as error:
        return Outcome(watch.so_far(error), time.perf_counter() - began, interrupted=True)
    except Exception as error:
        underway = hasattr(error, "shapeopt_result")
        own = isinstance(objective.fun, UserFunction) and (
            error is objective.fun.raised or (underway and relayed(error))
        )
        if not own and isinstance(error, ValueError) and raised_here(error):
            raise UsageError(str(error)) from error
        if not own:
            raise
        stopped = watch.interrupt.asked  # Ctrl-C reached a program that the objective had started, too
        seconds = time.perf_counter() - began
        return Outcome(watch.so_far(error), seconds, error=None if stopped else error, interrupted=stopped)
    interrupted = watch.interrupt.asked and result.nfev < budget
    if interrupted:
        result.message = INTERRUPTED
    return Outcome(result, time.perf_counter() - began, interrupted=interrupted)


class _Watch:
    """The callback: shows progress, keeps the last that was seen, and ends the run when Ctrl-C asked for it."""

    def __init__(self, display: Display) -> None:
        self.display = display
        self.interrupt = Interrupt(display.stopping)
        self.seen: Any = None

    def __call__(self, progress: Any) -> bool:
        self.seen = progress
        self.display.show(progress.fun, progress.nfev, progress.get("tactic", progress.mode))
        return self.interrupt.asked

    def so_far(self, error: BaseException) -> Any:
        """The result that came with the exception, else what the callback saw last; None where nothing was read."""
        import math

        result = getattr(error, "shapeopt_result", None)
        if result is None and self.seen is not None:
            result = self.seen
            result.update(success=False, minima=[], events=[])
        if result is None or not math.isfinite(result.fun):
            return None
        if self.interrupt.asked or isinstance(error, KeyboardInterrupt):
            result["message"] = INTERRUPTED
        result["partial"] = True
        return result


def _is_shipped(policy: str) -> bool:
    """Whether the product runs it: a shipped policy, or a family's."""
    from ..family.policy import is_family_file
    from ..policies import POLICIES

    return policy in POLICIES or is_family_file(policy)


def _check_report(folder: Path) -> None:
    """Refuse a folder of a report that can't be written before any call is spent."""
    from ..report import ReportError, check_folder

    try:
        check_folder(folder)
    except ReportError as error:
        raise UsageError(f"--report {folder}: {error}") from error


def _show_error(error: BaseException, name: str) -> None:
    """What ended a run: of a program what it did, of a function the part of the traceback that is the user's."""
    from ..adapters.command import CommandFailed

    if isinstance(error, CommandFailed):
        print(f"shapeopt: {error}", file=sys.stderr)
    else:
        _show_traceback(error, f"{name} raised")


def _show_traceback(error: BaseException | None, line: str) -> int:
    """Print the part of a traceback that is the user's, and `line`; returns the exit code."""
    assert error is not None
    below = None if relayed(error) else traceback_below(error, UserFunction.__call__.__code__)
    error = error.with_traceback(below)  # another process's frames are in the exception's notes
    traceback.print_exception(error)
    print(f"shapeopt: {line}", file=sys.stderr)
    return 1
