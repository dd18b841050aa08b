"""The front door: `shapeopt.minimize`."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import equinox as eqx
import jax
import numpy as np

from .core import Reading, Status
from .core.problem import Layout, Problem, read_problem
from .core.result import Result
from .oracles import (
    SCHEMES,
    AbstractOracle,
    AdjointOracle,
    BudgetExhausted,
    ExactOracle,
    FiniteDifferences,
    HostDifferences,
    HostOracle,
    Rows,
    fetch_round,
)
from .policy import AbstractPolicy, find_policy
from .run import STRETCH, Run, prefer_prompt_dispatch
from .tasks import AbstractTask

Callback = Callable[[Result], Any]


def minimize(
    fun: Callable[..., Any],
    x0: Any = None,
    *,
    bounds: Any = None,
    budget: int = 500,
    jac: bool | str | Callable[..., Any] | None = None,
    noise: float | None = None,
    policy: str | AbstractPolicy = "universal",
    num_starts: int = 1,
    batched: bool = False,
    port_allowance: float | None = None,
    seed: int = 0,
    callback: Callback | None = None,
    on_error: Literal["raise", "skip"] = "raise",
    stages: bool = False,
    report: str | os.PathLike[str] | None = None,
) -> Result:
    """The best minimum of `fun` that `budget` calls can buy.

    Arguments:
        fun: the objective. If it computes with JAX it is compiled and differentiated; else it is called as it is. With
            `jac=True` it returns (value, gradient).
        x0: where to start: an array of any shape, or a pytree of arrays; `fun` sees the same structure. None: drawn
            uniformly inside `bounds`. Its dtype is the run's (float64 unless all of it is float32).
        bounds: (lower, upper), a sequence of pairs, a `scipy.optimize.Bounds`, or None. No query leaves them.
        budget: the hard cap on calls. A value with its gradient is one call; without gradients each probe is one.
        jac: None (autodiff if `fun` computes with JAX, else value-only), True, a callable that returns the gradient, or
            "2-point", "3-point" or "cs": finite differences as SciPy names them, each value a call.
        noise: standard deviation of the gradient's noise; None lets the readings tell.
        policy: a shipped name, a path to a weights file, or a policy.
        num_starts: particles that share the budget and the memory, read in rounds; the first one starts at x0.
        batched: `fun` (and `jac`) answer many points at once: they get (n, d) and return n values (or n gradients).
            Each point is a call. The starts, and the probes around them where there are no gradients, come together.
        port_allowance: how much energy a policy's port may feed in, as a multiple of what was dissipated so far; an
            input that would pass it is cut. None: nobody watches; infinity: watched, and never cut.
        seed: all randomness follows from it.
        callback: called with (x, fun, nfev, mode, budget, events) as the run goes on: at every call of a host
            objective, at intervals of a compiled one. `events` are those since the last time. Returning True or raising
            StopIteration ends the run.
        on_error: "raise" passes an exception of `fun` on, unchanged, with the result so far in its attribute
            `shapeopt_result`; "skip" counts the call and goes on.
        stages: keep what shaped each stage in `result.stages` (anchor, kappa, remembered basins).
        report: a folder in which a page about the run is written at its end, to be opened in a browser; needs the extra
            `report`. `fun` is not called for it.

    Returns a SciPy `OptimizeResult` (x, fun, success, status, message, nfev, njev, nit) with `minima` (distinct basins:
    x, fun, visits), `events` (one entry for each stage that ended: call, particle, stage, mode, cause, the values with
    which it began (`before`) and ended (`value`), where it ended (`x`), best, whether memory was written (`wrote`), the
    `anchor` of the stage that follows, `next_x`, and how many of its port inputs were cut), `trace` (per reading:
    value, best, calls, mode, and x where the run is not huge), `energy` (the ledger, one array a term) and `passivity`
    (allowance, energy `injected` by the port and `dissipated` after each reading, and the calls after an input was
    `cut`; None if nobody watched).
    """
    if on_error not in ("raise", "skip"):
        raise ValueError(f"`on_error` must be 'raise' or 'skip'; got {on_error!r}.")
    if not isinstance(seed, int | np.integer):
        raise ValueError(f"`seed` must be an integer; got {seed!r}.")
    folder = None if report is None else _report_folder(report)
    prefer_prompt_dispatch()
    problem = read_problem(x0, bounds, np.random.default_rng(seed))
    kept = stages or folder is not None
    run = Run(find_policy(policy, noise), problem, budget, int(seed), num_starts, port_allowance, kept)
    rows = _rows(fun, jac, problem.layout) if batched else []
    asked, slope = (rows[0] if rows else fun), (rows[1] if len(rows) > 1 else jac)
    host = _host_oracle(asked, slope, problem, run)
    try:
        status = _drive(asked, slope, run, host, callback, on_error, rows)
    except (Exception, KeyboardInterrupt) as error:
        run.saw(host.best_x, host.best_value, host.calls)
        error.shapeopt_result = run.result(Status.FAILED)  # type: ignore[union-attr]
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


def _report_folder(report: str | os.PathLike[str]) -> Path:
    from .report import check_folder

    return check_folder(report)


def _report(folder: Path, result: Result, fun: Any, jac: Any, policy: Any, noise: float | None, run: Run) -> None:
    """Write the page about a run; a task of a built-in family may be evaluated for it, a user's function not."""
    from .report import Subject, write_run_report

    problem, task = run.problem, fun if isinstance(fun, AbstractTask) else None
    shown = getattr(fun, "landscape", fun) if task is not None else fun
    name = getattr(shown, "__name__", type(shown).__name__)
    name = name.removesuffix("Task").removesuffix("Landscape") if task is not None else name
    gradient = "not given" if jac is None else "returned with the value" if jac is True else "a function of its own"
    settings = {"objective": name, "budget": run.budget, "policy": policy if isinstance(policy, str) else policy.kind}
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


def _drive(
    fun: Any, jac: Any, run: Run, host: HostOracle, callback: Callback | None, on_error: str, rows: list[Rows]
) -> Status:
    """Learn from the first reading whether the objective traces; then the compiled or the stepped loop."""
    traceable = not isinstance(jac, str) and _attempt(lambda: host.first_reading(run.x), on_error)
    if traceable:
        oracle = _traceable_oracle(fun, jac, run.problem.layout)
        if _traces(oracle, run):
            return _stretch(run, oracle, host.calls, callback)
        host.calls += 1  # the objective was begun on a tracer, so it counts
    return _step(run, host, callback, on_error, rows)


def _stretch(run: Run, oracle: AbstractOracle, spent: int, callback: Callback | None) -> Status:
    """A traceable objective: compiled stretches, a look in between if someone looks."""
    run.calls = spent
    with run.precision():
        state = oracle.init(jax.random.key(run.seed), spent)
    look = STRETCH if callback is None else max(1, min(STRETCH, run.budget // (50 * run.particles)))
    cost = oracle.cost * run.particles
    while run.left >= cost:
        state = run.stretch(oracle, state, min(look, run.left // cost))
        if _stops(callback, run):
            return Status.STOPPED_BY_CALLBACK
    return Status.BUDGET_SPENT


def _step(run: Run, host: HostOracle, callback: Callback | None, on_error: str, rows: list[Rows]) -> Status:
    """A host objective: one reading a time; a vectorised one is asked for a whole round before."""
    read = host.read if on_error == "raise" else lambda x: _attempt(lambda: host.read(x), on_error)
    while True:
        if rows and len(run.round) == run.particles:
            fetch_round(rows, host, run.round)
        try:
            reading = read(run.x)
        except BudgetExhausted:
            return Status.BUDGET_SPENT
        run.tell(_nothing(run) if reading is None else reading, host.calls)
        if _stops(callback, run):
            return Status.STOPPED_BY_CALLBACK


def _attempt(call: Callable[[], Any], on_error: str) -> Any:
    """The call's answer, or None where it failed and failures are to be skipped."""
    if on_error == "raise":
        return call()
    try:
        return call()
    except BudgetExhausted:
        raise
    except Exception:
        return None


def _nothing(run: Run) -> Reading:
    """The reading of a call that failed."""
    x = run.x
    numbers: Any = (x.dtype.type(np.nan), np.full_like(x, np.nan), np.int32(1))
    return Reading(*numbers)


def _stops(callback: Callback | None, run: Run) -> bool:
    if callback is None:
        return False
    progress = run.progress()
    progress.events = run.new_events()
    try:
        return callback(progress) is True
    except StopIteration:
        return True


class _Flat(eqx.Module):
    """A function of the user's structure as a function of the flat vector; equal ones share compiled code."""

    fun: Callable[..., Any]
    layout: Layout = eqx.field(static=True)

    def __call__(self, x: Any) -> Any:
        return self.fun(self.layout.restore(x))


class _FlatPair(eqx.Module):
    """(value, gradient) of the flat vector, from one function or two of the user's structure."""

    fun: Callable[..., Any]
    jac: Callable[..., Any] | None
    layout: Layout = eqx.field(static=True)

    def __call__(self, x: Any) -> Any:
        point = self.layout.restore(x)
        value, gradient = self.fun(point) if self.jac is None else (self.fun(point), self.jac(point))
        return value, _raveled(gradient, x)


def _raveled(gradient: Any, x: Any) -> Any:
    leaves = jax.tree.leaves(gradient)
    if len(leaves) == 1:
        return leaves[0].reshape(-1) if getattr(leaves[0], "size", None) == x.size else leaves[0]
    concatenate = np.concatenate if isinstance(x, np.ndarray) else jax.numpy.concatenate
    return concatenate([leaf.reshape(-1) for leaf in leaves])


def _rows(fun: Any, jac: Any, layout: Layout) -> list[Rows]:
    """A vectorised objective, and its gradient where that is a function of its own."""
    if not layout.flat:
        raise ValueError("`x0` must be a flat array where `batched` is True.")
    if isinstance(jac, str):
        raise ValueError(f"`jac` must be None, True or a callable where `batched` is True; got {jac!r}.")
    for name, one in (("fun", fun), ("jac", jac)):
        if not callable(one) and (name == "fun" or one not in (None, True)):
            raise ValueError(f"`{name}` must be callable; got {one!r}.")
    return [Rows(one) for one in (fun, jac) if callable(one)]


def _host_oracle(fun: Any, jac: Any, problem: Problem, run: Run) -> HostOracle:
    layout = problem.layout
    scheme = FiniteDifferences(jac, problem.lower, problem.upper) if jac in SCHEMES else None
    jac = None if scheme is not None else jac
    if not callable(fun) or (jac is not None and jac is not True and not callable(jac)):
        return HostOracle(fun, problem.x0, jac)  # raises with the argument's name
    if not layout.flat:
        flat = _Flat(fun, layout) if jac is None else _FlatPair(fun, None if jac is True else jac, layout)
        fun, jac = flat, None if jac is None else True
    differences = scheme or HostDifferences.for_budget(problem.lower, problem.upper, run.budget, run.seed)
    return HostOracle(fun, problem.x0, jac, differences=differences, limit=run.budget)


def _traceable_oracle(fun: Any, jac: Any, layout: Layout) -> AbstractOracle:
    if jac is None:
        return ExactOracle(fun if layout.flat else _Flat(fun, layout))
    return AdjointOracle(_FlatPair(fun, None if jac is True else jac, layout))


def _traces(oracle: AbstractOracle, run: Run) -> bool:
    """Whether the objective, which answered a JAX array with a JAX array, can be compiled; one that branches on its
    values can't, and is then called as it is."""
    with run.precision():
        try:
            jax.eval_shape(lambda x: oracle.measure(x, jax.random.key(0)), run.problem.x0)
        except (jax.errors.ConcretizationTypeError, jax.errors.TracerArrayConversionError):
            return False
    return True
