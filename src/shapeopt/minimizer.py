"""The front door: `shapeopt.minimize`."""

import os
import sys
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from .core import Reading, Status
from .core.fingerprint import describe, digest, environment
from .core.problem import read_problem, require_callable, require_path, seeded
from .core.result import Result
from .core.stopping import Stopping
from .engines.ends import Callback, Ends
from .engines.host import HostRun, whole
from .family import FamilyPolicy
from .objective import host_oracle, vectorised_rows
from .optimizer import Policy
from .oracles import HostOracle, Journal, JournalError, Rows, TraceablePair, Untraceable, fetch_round, refers_to_jax
from .oracles.calls import Calls, Remote, are_threads, require_importable, width
from .oracles.journal import OPAQUE
from .policies import find_policy
from .workers.processes import Processes
from .workers.timed import TimedFunction

DEVICE_STARTS = 64  # from which on the starts of an objective that computes with JAX are compiled into one program


def minimize(
    fun: Callable[..., Any],
    x0: Any = None,
    *,
    bounds: Any = None,
    budget: int = 500,
    jac: bool | str | Callable[..., Any] | None = None,
    noise: float | None = None,
    policy: str | os.PathLike[str] | Policy | FamilyPolicy = "universal",
    num_starts: int = 1,
    workers: int | Executor = 1,
    target: float | None = None,
    tol: float | None = None,
    confidence: float | None = None,
    batched: bool = False,
    port_allowance: float | None = None,
    seed: int = 0,
    callback: Callback | None = None,
    journal: str | os.PathLike[str] | None = None,
    on_error: Literal["raise", "skip"] = "raise",
    call_timeout: float | None = None,
    stages: bool = False,
    report: str | os.PathLike[str] | None = None,
) -> Result:
    """The best minimum of `fun` that `budget` calls can buy.

    Args:
        fun: the objective. If it computes with JAX it is compiled and differentiated; else it is called as it is. With
            `jac=True` it returns (value, gradient). NaN and infinities of either sign are no values: they cost their
            call, the run goes on, and the best finite value comes back.
        x0: where to start: an array of any shape, or a pytree of arrays; `fun` sees the same structure. None: drawn
            inside `bounds`. Its dtype is the run's (float64 unless all of it is float32).
        bounds: (lower, upper), a sequence of pairs, a `scipy.optimize.Bounds`, or None. No query leaves them. By
            values, positive ones a factor of 1,000 or more apart, with x0 far down, are searched by the logarithm.
        budget: the hard cap on calls. A value with its gradient is one call; without gradients each value is one.
        jac: None (autodiff if `fun` computes with JAX, else value-only), True, a callable that returns the gradient, or
            "2-point", "3-point" or "cs": finite differences as SciPy names them, each value a call.
        noise: standard deviation of the gradient's noise, or of the values' where there are no gradients: it is then
            measured at the first reading; None lets the readings tell.
        policy: a name; a `shapeopt.Policy`: a tuple of tactics and a planner; or the path of a family's policy that
            `shapeopt train` made, where `fun` may have an attribute `descriptor` (or `shapeopt.load_family`'s).
        num_starts: particles that share the budget and the memory, read in rounds; the first one starts at x0. From 64
            on, those of an objective that computes with JAX are compiled into one program, unless a callback or a
            journal wants every call.
        workers: evaluate several points at once: a number of threads, or a `concurrent.futures.Executor`
            (`shapeopt.Processes`, Dask's `client.get_executor()`), which stays open. As many trajectories share the
            budget (`num_starts`, if that is more), each goes on when its own call has ended, and a slow call holds up
            no other (docs/parallel.md). The result depends on their number, not on what makes the calls or how long
            they take. A worker that dies costs its call. With `call_timeout` a number stands for processes.
        target: the run ends when a value is not above it.
        tol: the run ends when the best value fell by no more than `tol` (relative, where the value is above 1) in the
            second half of the calls, in which a descent began and ended. None: the whole budget is spent.
        confidence: the run ends when the probability of having seen the best basin (`result.confidence`) is not below
            this one, say 0.9.
        batched: `fun` (and `jac`) answer many points at once: they get (n, d) and return n values (or n gradients).
            Each point is a call. The next points of all starts come together; it goes with no `call_timeout`.
        port_allowance: how much energy a tactic's port may feed in, as a multiple of what was dissipated so far; an
            input that would pass it is cut. None: nobody watches; infinity: watched, and never cut. The shipped tactics
            use no port.
        seed: all randomness follows from it.
        callback: called with (x, fun, nfev, mode, tactic, budget, events) at every call. `events` are those since the
            last time. Returning True or raising StopIteration ends the run.
        journal: a file that keeps every call as it is made. After a crash the same `minimize` answers them from it and
            ends as if nothing had happened, down to the byte; only the call that was cut short (where `batched`, its
            round) is made again.
        on_error: "raise" passes an exception of `fun` on, unchanged, with the result so far in its attribute
            `shapeopt_result`; "skip" counts the call and goes on.
        call_timeout: seconds that one call may take. `fun` is then called in a process of its own, with NumPy arrays,
            and must be something that another process can import; a call that takes longer is ended with all that it
            started, and raises a TimeoutError, to which `on_error` applies.
        stages: keep what shaped each stage in `result.stages` (q_bar, kappa, remembered basins).
        report: a folder in which a page about the run is written at its end, to be opened in a browser; needs the extra
            `report`. `fun` is not called for it.

    Returns:
        A SciPy `OptimizeResult`: x, fun, success, status, `message` (why the run ended), nfev, njev, nit, and

        - minima: distinct basins, best first: x, fun, visits.
        - events: one entry for each stage that ended: call, particle, stage, tactic, phase, mode, cause, the values
          with which it began (`before`) and ended (`value`), where it ended (`x`), best, whether memory was written
          (`wrote`), the `anchor` of the stage that follows, `next_x`, and how many of its port inputs were cut.
        - trace: per reading value, best, calls, tactic, mode, and x where the run is not huge.
        - confidence: the probability that no better basin is unseen, as far as meetings with known basins tell
          (docs/stopping.md); 0 where there were none, or where gradients are noisy.
        - energy: the ledger, one array a term.
        - passivity: allowance, energy `injected` by the port and `dissipated` after each reading, and the calls after
          an input was `cut`; None if nobody watched.
        - gradient_fit: where `jac` gave the gradient, whether it is the values': the `ratio` of the value's changes to
          what the gradient makes of the same moves, over how many `moves`, and whether it `agrees` (is about 1);
          `message` tells if not. It costs no call.
        - value_precision: where values are all that is read, the unit of the last digit that they have at the best
          point: 0 where they are exact, None where no basin was finished or gradients were read.
        - noise: the standard deviation of a coordinate of the gradient, or of the value where there are no gradients,
          as readings at one point tell: 0 where they agreed, None where no point was read twice.
        - mean, standard_error: where values are noisy (and gradients, if any, come from `jac`), x is the best point by
          estimated mean; `fun` is the value that was read there. Else None, and x is the lowest reading.

    Raises:
        ValueError: if an argument is wrong; the message names it. Exceptions of `fun` pass as they are.

    Example:
        result = shapeopt.minimize(lambda x: (x @ x, 2 * x), np.ones(3), bounds=(-5, 5), jac=True, budget=100)
    """
    if on_error not in ("raise", "skip"):
        raise ValueError(f"`on_error` must be 'raise' or 'skip'; got {on_error!r}.")
    require_callable("callback", callback)
    require_path("journal", journal)
    require_path("report", report)
    folder = None if report is None else _report_folder(report)
    problem = read_problem(x0, bounds, seeded(seed))
    limits = Stopping(target, tol, confidence)
    kept = stages or folder is not None
    found = find_policy(policy, problem, fun)
    pool = Pool.of(workers, jac, batched, call_timeout)
    num_starts = whole("num_starts", num_starts)
    particles = num_starts if pool is None else max(num_starts, pool.width)
    run = HostRun(found, problem, budget, int(seed), particles, port_allowance, noise, stages=kept)
    run.keeps_forces = jac is True or callable(jac)
    run.judges_gradients = run.keeps_forces and not noise
    rows = vectorised_rows(fun, jac, problem.layout, call_timeout) if batched else []
    asked, slope = (rows[0] if rows else fun), (rows[1] if len(rows) > 1 else jac)
    host = host_oracle(asked, slope, problem, run.budget, call_timeout if pool is None else None)
    settings = {"noise": noise, "on_error": on_error, "call_timeout": call_timeout, "stages": kept, "batched": batched}
    settings |= {name: float(limit) for name, limit in vars(limits).items() if limit is not None}
    settings |= {} if pool is None else {"overlapping": True}
    with ExitStack() as opened:
        if journal is not None:
            host.journal = opened.enter_context(_journal(journal, fun, jac, found, run, settings))
        if isinstance(host.fun, TimedFunction):
            opened.enter_context(host.fun)
        try:
            if pool is None:
                status = _drive(asked, slope, run, host, callback, on_error, rows, limits)
            else:
                status = _drive_many(fun, jac, run, host, pool, callback, on_error, limits)
            if host.journal is not None and status == Status.BUDGET_SPENT:
                host.journal.finish()
        except BaseException as error:
            run.saw(host.best_x, host.best_value, host.calls)
            object.__setattr__(error, "shapeopt_result", run.result(Status.FAILED))  # a frozen exception takes it too
            raise
    run.saw(host.best_x, host.best_value, host.calls)
    result = run.result(status)
    if folder is not None:
        try:
            _report(folder, result, fun, jac, policy, noise, run)
        except Exception as error:  # what was paid for is not lost with the page
            error.shapeopt_result = result  # type: ignore[attr-defined]
            raise
    return result


def _journal(
    path: str | os.PathLike[str], fun: Any, jac: Any, policy: Policy, run: HostRun, settings: dict[str, Any]
) -> Journal:
    """The journal at `path`, whose header has all that the run's bytes depend on and that can be told."""
    problem = run.problem
    if jac == "cs":
        raise ValueError("`jac` must not be 'cs' where a `journal` is kept, which has no complex numbers.")
    given = jac if isinstance(jac, str) else "none" if jac is None else "with the value" if jac is True else None
    header = {
        "objective": describe(fun),
        "gradient": describe(jac) if given is None else given,
        "x0": digest(problem.x0),
        "bounds": digest(problem.lower, problem.upper),
        "dimension": problem.x0.size,
        "dtype": str(problem.x0.dtype),
        "structure": digest(str(problem.layout)),
        "budget": run.budget,
        "seed": run.seed,
        "policy": describe(policy),
        "num_starts": run.particles,
        "port_allowance": run.port_allowance,
        "environment": environment(),
    }
    return Journal(path, header | settings, problem.x0, run.budget)


def _report_folder(report: str | os.PathLike[str]) -> Path:
    from .report import check_folder

    return check_folder(report)


def _report(folder: Path, result: Result, fun: Any, jac: Any, policy: Any, noise: float | None, run: HostRun) -> None:
    """Write the page about a run; a task of a built-in family may be evaluated for it, a user's function not."""
    from .report import Subject, write_run_report

    problem, task = run.problem, fun if _is_task(fun) else None
    shown = getattr(fun, "landscape", fun) if task is not None else fun
    name = getattr(shown, "__name__", type(shown).__name__)
    name = name.removesuffix("Task").removesuffix("Landscape") if task is not None else name
    gradient = "not given" if jac is None else "returned with the value" if jac is True else "a function of its own"
    gradient = f"{jac} differences" if isinstance(jac, str) else gradient
    settings = {"objective": name, "budget": run.budget, "policy": policy if isinstance(policy, str) else "own"}
    settings |= {"seed": run.seed, "starts": run.particles, "gradient": gradient, "noise": noise}
    settings |= {"port allowance": run.port_allowance}
    settings |= {"x0": problem.x0, "lower bounds": problem.lower, "upper bounds": problem.upper}
    subject = Subject(
        title=f"{name}, {problem.x0.size} dimension{'s' if problem.x0.size > 1 else ''}",
        settings=settings,
        x0=problem.x0.astype(float),
        lower=problem.lower.astype(float),
        upper=problem.upper.astype(float),
        task=task,
        seed=run.seed,
        budget=run.budget,
        particles=run.particles,
    )
    write_run_report(folder, result, subject)


def _is_task(fun: Any) -> bool:
    """Whether it is a task of a built-in family; asked without importing them, since they need JAX."""
    families = sys.modules.get("shapeopt.tasks.base")
    return families is not None and isinstance(fun, families.AbstractTask)


def _drive(
    fun: Any,
    jac: Any,
    run: HostRun,
    host: HostOracle,
    callback: Callback | None,
    on_error: str,
    rows: list[Rows],
    limits: Stopping,
) -> Status:
    """Learn whether the objective computes with JAX, and has gradients thereby; then read on."""
    called = isinstance(host.fun, TimedFunction) or isinstance(jac, str)  # with NumPy arrays, and never compiled
    if not called and _is_traced(fun, jac, run, host, on_error):
        rows = []
        if run.particles >= DEVICE_STARTS and callback is None and host.journal is None and not limits:
            from .oracles.traced import traceable_pair

            _read_on_device(run, host, on_error, traceable_pair(fun, jac, run.problem.layout))
    return _step(run, host, callback, on_error, rows, limits)


def _is_traced(fun: Any, jac: Any, run: HostRun, host: HostOracle, on_error: str) -> bool:
    """Whether the objective is read as a traced pair from now on.

    It is traced before its first call if its gradient is wanted and its code refers to JAX, else after a first answer
    that consists of JAX arrays: evaluated at one place as it is and by the pair, it has two calls to pay for.
    """
    suspected = jac is None and refers_to_jax(fun)
    if suspected and _attempt(lambda: host.read_traced(run.x, _pair(fun, jac, run)), host, on_error):
        return True
    answered = _attempt(lambda: host.first_reading(run.x), host, on_error)
    if suspected or not answered:
        return False
    return bool(_attempt(lambda: host.read_traced(run.x, _pair(fun, jac, run)), host, on_error))


def _pair(fun: Any, jac: Any, run: HostRun) -> TraceablePair:
    from .oracles.traced import traced_pair

    return traced_pair(fun, jac, run.problem.layout, run.x.dtype)


def _step(
    run: HostRun, host: HostOracle, callback: Callback | None, on_error: str, rows: list[Rows], limits: Stopping
) -> Status:
    """A host objective: one reading a time; a vectorised one is asked for a whole round before."""
    if host.alone:
        run.start(values_only=True)
    ends = Ends(run, callback, limits, run.x.size if host.alone or host.cost > 1 else 0)
    if not host.calls and not host.fits(run.x):  # differences of which not one fits: the value at x0 is read
        _attempt(lambda: host.first_reading(run.x), host, on_error)
    while host.fits(run.x):
        if rows and len(run.round) == run.particles:
            fetch_round(rows, host, run.round)
        _tell_next(run, host, on_error)
        if (status := ends.look()) is not None:
            return status
    return Status.BUDGET_SPENT


def _read_on_device(run: HostRun, host: HostOracle, on_error: str, pair: Callable[[Any], Any]) -> None:
    """A first round on the host, which has made its first call, then all whole rounds as one compiled program."""
    for _ in range(min(run.particles, run.left)):
        _tell_next(run, host, on_error)
    run.read_batch(pair)
    host.calls = run.calls


def _tell_next(run: HostRun, host: HostOracle, on_error: str) -> None:
    """One reading, made on the host."""
    reading = host.read(run.x) if on_error == "raise" else _attempt(lambda: host.read(run.x), host, on_error)
    run.tell(_nothing(run) if reading is None else reading, host.calls)


def _attempt(call: Callable[[], Any], host: HostOracle, on_error: str) -> Any:
    """The call's answer, or None where it failed and failures are to be skipped."""
    try:
        return call()
    except JournalError:
        raise
    except Exception:
        if on_error == "raise":
            raise
        host.forgo()
        return None


def _nothing(run: HostRun) -> Reading:
    """The reading of a call that failed."""
    x = run.x
    numbers: Any = (x.dtype.type(np.nan), np.full_like(x, np.nan), np.int32(1))
    return Reading(*numbers)


@dataclass(frozen=True)
class Pool:
    """Where calls are made at the same time: an executor, or how one is opened for the run."""

    width: int
    executor: Executor | None
    seconds: float | None

    @staticmethod
    def of(workers: Any, jac: Any, batched: bool, call_timeout: float | None) -> "Pool | None":
        """What `workers` stand for; None: one call a time."""
        if isinstance(workers, Executor) or (hasattr(workers, "submit") and not isinstance(workers, int)):
            pool = Pool(width(workers), workers, None)
            refused: dict[str, Any] = {"call_timeout": call_timeout}
        elif whole("workers", workers) == 1:
            return None
        else:
            pool, refused = Pool(whole("workers", workers), None, call_timeout), {}
        refused |= {"batched": True if batched else None, "jac": jac if isinstance(jac, str) else None}
        for name, given in refused.items():
            if given is not None:
                raise ValueError(f"`{name}` must not be {given!r} where `workers` are given.")
        return pool

    def open(self) -> AbstractContextManager[Executor]:
        """The executor; one that is made for the run ends with it."""
        if self.executor is not None:
            return nullcontext(self.executor)
        return Made(ThreadPoolExecutor(self.width) if self.seconds is None else Processes(self.width, self.seconds))


@dataclass(frozen=True)
class Made:
    """An executor of this run's own: its threads finish their calls, its processes end at once."""

    executor: Executor

    def __enter__(self) -> Executor:
        return self.executor

    def __exit__(self, *exception: object) -> None:
        self.executor.shutdown(wait=are_threads(self.executor), cancel_futures=True)


def _drive_many(
    fun: Any,
    jac: Any,
    run: HostRun,
    host: HostOracle,
    pool: Pool,
    callback: Callback | None,
    on_error: str,
    limits: Stopping,
) -> Status:
    """The first call alone, since it may tell what the objective computes with; then all trajectories at once."""
    from .engines.parallel import Trajectories, spend

    with pool.open() as executor:
        if are_threads(executor):
            _is_traced(fun, jac, run, host, on_error)
            ask: Any = host.answer
            first = _attempt(lambda: host.read(run.x), host, on_error) or _nothing(run)
            values_only = host.alone
        else:
            ask, first = _first_remote(executor, Remote(fun, jac, run.problem.layout), run, host, on_error)
            values_only = ask.jac is None and not ask.traced
        if values_only:
            run.start(values_only=True)
        else:
            run.fit_scales(first)
        if host.journal is not None:
            host.journal.overlap(run.budget)
        ends = Ends(run, callback, limits, run.x.size if values_only else 0)
        try:
            with Calls(executor, ask, host.journal, on_error) as calls:
                return spend(Trajectories(run), calls, first, host.calls, ends.look)
        finally:
            host.calls = run.calls


def _first_remote(
    executor: Executor, ask: Remote, run: HostRun, host: HostOracle, on_error: str
) -> tuple[Remote, Reading]:
    """The first reading, made where all others will be."""
    if isinstance(executor, Processes):
        require_importable(ask)
    if ask.jac is None and refers_to_jax(ask.fun):
        traced = replace(ask, traced=True)
        host.fun, host.jac = _Elsewhere(executor, traced), True
        try:
            return traced, host.read(run.x)
        except Untraceable:
            host.forgo(OPAQUE)
    host.fun, host.jac = _Elsewhere(executor, ask), None if ask.jac is None else True
    return ask, _attempt(lambda: host.read(run.x), host, on_error) or _nothing(run)


@dataclass(frozen=True)
class _Elsewhere:
    """A function that an executor calls, as one that is called here."""

    executor: Executor
    ask: Remote

    def __call__(self, x: np.ndarray) -> Any:
        kept = self.executor.submit(self.ask, x).result()
        return kept.value if kept.gradient is None else (kept.value, kept.gradient)
