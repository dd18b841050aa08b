"""Constraints by an augmented Lagrangian around the front door (Hestenes 1969, Powell 1969, Rockafellar 1974)."""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import Bounds

from ..core import Status
from ..core.arrays import is_jax, loaded_jax, namespace
from ..core.codes import REGULAR, STATUS_MESSAGES
from ..core.result import Result
from .constraints import Constraints, read_constraints
from .scipy_forms import Jacobian

FEASIBLE = 1e-6  # the largest violation with which a point still counts as feasible
FIRST_SHARE = 3  # the first round, which has to find the region, gets a third of the budget
MOST_ROUNDS = 12
LEAST_READINGS = 16  # of a later round
SLOW = 0.25  # where the violation does not fall to this share of the last one the penalty becomes stiffer ...
STIFFER = 10.0  # ... by this factor
PENALTY = (0.1, 1e3)  # between which the first penalty lies
NEAR = 0.1  # half-width of the second round's box, as a share of the whole one's (of max(1, |x|) where it is endless)
NEARBY = "2-point"  # gradients of later rounds where the first one read values alone: they descend, and need no search
WIDER = 4.0  # half-width of a later round's box, in lengths of the last round's move


@dataclass(frozen=True, eq=False)
class Lagrangian:
    """The augmented Lagrangian, with s = c(x) + multipliers / penalty:

        L(x) = f(x) + penalty / 2 |s - clip(s, lower, upper)|^2

    Its least point, as multipliers <- penalty (s - clip(s)), goes to the constrained one; an equality is an interval
    without width. Where `paired`, `fun` returns (value, gradient), and so does this. It answers with a JAX array where
    the objective and all constraints compute with JAX, so that it is traced; as JAX knows it for a pytree with the
    arrays `multipliers` and `penalty`, rounds share compiled code.
    """

    fun: Callable[..., Any]
    paired: bool
    constraints: Constraints
    multipliers: Any
    penalty: Any

    @staticmethod
    def of(fun: Any, paired: bool, constraints: Constraints, multipliers: Any, penalty: float) -> "Lagrangian":
        if loaded_jax() is not None:
            _register()
        arrays = np.asarray(multipliers, float), np.asarray(penalty, float)
        return Lagrangian(fun, paired, constraints, *arrays)

    def __call__(self, x: Any) -> Any:
        if not self.paired:
            value, c = self.fun(x), self.constraints(x)
            if is_jax(value) and self.constraints.with_jax:
                xp = namespace(value)
                value, c = xp.asarray(value), xp.asarray(c, value.dtype)
            else:
                xp, value, c = np, np.asarray(value), np.asarray(c)
            excess, penalty = self._excess(c, xp)
            return value + 0.5 * penalty * (excess**2).sum()
        x = np.asarray(x)
        value, gradient = self.fun(x)
        excess, penalty = self._excess(self.constraints(x), np)
        pull = penalty * excess @ self.constraints.jacobian(x)
        return float(value) + 0.5 * float(penalty) * float(excess @ excess), np.asarray(gradient, float) + pull

    def _excess(self, c: Any, xp: Any) -> tuple[Any, Any]:
        """(s - clip(s), penalty) in the array library of c."""
        multipliers, penalty, lower, upper = (
            xp.asarray(part, c.dtype)
            for part in (self.multipliers, self.penalty, self.constraints.lower, self.constraints.upper)
        )
        s = c + multipliers / penalty
        return s - xp.clip(s.real, lower.real, upper.real), penalty  # a complex step moves where no bound cuts

    def multipliers_after(self, c: np.ndarray) -> np.ndarray:
        excess, penalty = self._excess(c, np)
        return penalty * excess

    def objective(self, value: float, c: np.ndarray) -> float:
        """f where L is `value`."""
        excess, penalty = self._excess(c, np)
        return float(value - 0.5 * penalty * excess @ excess)


@functools.cache
def _register() -> None:
    """Make `Lagrangian` a pytree of JAX."""
    data, meta = ["fun", "multipliers", "penalty"], ["paired", "constraints"]
    loaded_jax().tree_util.register_dataclass(Lagrangian, data_fields=data, meta_fields=meta)


class Round(NamedTuple):
    """What one run on an augmented Lagrangian read: places, objective values and violations, its best point last; its
    distinct minima in the same terms; and the run's own result."""

    x: np.ndarray
    fun: np.ndarray
    violation: np.ndarray
    minima: list[Result]
    result: Result


def minimize_constrained(
    solve: Callable[..., Result],
    fun: Callable[..., Any],
    x0: np.ndarray,
    constraints: Any,
    jac: Jacobian,
    budget: int,
    seed: int,
    told: Callable[[Result], None] | None,
    tol: float | None,
    box: Bounds,
) -> Result:
    """The best feasible point of a series of unconstrained runs that spend one budget.

    The first run searches the whole box; those after it follow its best point, as multipliers and penalty move it, in
    boxes no wider than that takes; where it read values alone, they read differences. `solve` is the front door with
    its settings. Every call of `fun` counts; evaluations of the constraints are reported in `constr_nfev`.
    `constr_violation` is the largest distance from a constraint's interval; `multipliers`, by how much the least value
    grows if the side of each constraint that holds it is raised by one (for inequalities this is SLSQP's sign); `trace`
    has the violation of each reading, `minima` are the last round's, and `success` says that the constraints are met.
    With `tol` the rounds end once two feasible ones agree to it.
    """
    known = Constraints(read_constraints(constraints), x0, box)
    paired = jac is True or callable(jac)
    pair = fun if jac is True or not paired else lambda x: (fun(x), jac(x))  # type: ignore[operator]
    answer = pair(x0.copy())
    start = float(np.asarray(answer[0] if paired else answer).reshape(()))
    violation = known.violation(known(x0))
    first = Result(x=x0, fun=start, nfev=1, njev=0, nit=0, status=int(Status.BUDGET_SPENT), events=[])
    rounds = [Round(x0[None], np.array([start]), np.array([violation]), [], first)]
    multipliers = np.zeros(known.lower.size)
    penalty = float(np.clip(2 * max(1.0, abs(start)) / max(1.0, violation**2), *PENALTY))
    x, around = x0, box
    while share := _share(budget - sum(one.result.nfev for one in rounds), rounds):
        lagrangian = Lagrangian.of(pair, paired, known, multipliers, penalty)
        look = None if told is None else _Look(told, lagrangian, sum(one.result.nfev for one in rounds))
        try:
            result = solve(
                lagrangian,
                x,
                bounds=around,
                jac=True if paired else jac if len(rounds) == 1 or rounds[1].result.njev else NEARBY,
                budget=share,
                seed=seed + len(rounds) - 1,
                callback=look,
            )
        except (Exception, KeyboardInterrupt) as error:
            if hasattr(error, "shapeopt_result"):
                rounds.append(_judged(lagrangian, error.shapeopt_result))
                error.shapeopt_result = _joined(rounds, known, multipliers)
            raise
        rounds.append(_judged(lagrangian, result))
        around = _around(result.x, x, box, len(rounds) == 2)
        x, c, before = result.x, known(result.x), violation
        multipliers, violation = lagrangian.multipliers_after(c), known.violation(c)
        if violation > max(SLOW * before, FEASIBLE / 100):
            penalty *= STIFFER
        read = result.njev or result.trace.value.size
        if result.status == Status.STOPPED_BY_CALLBACK or not read or _agree(rounds, tol):
            break
    return _joined(rounds, known, multipliers)


def _around(x: np.ndarray, before: np.ndarray, box: Bounds, first: bool) -> Bounds:
    """The box of the next round, inside the whole one."""
    with np.errstate(over="ignore"):
        half = 0.5 * box.ub - 0.5 * box.lb
    scale = np.where(np.isfinite(half), half, np.maximum(1.0, np.abs(x)))
    moved = NEAR if first else WIDER * np.max(np.abs(x - before) / np.where(scale > 0, scale, 1.0))
    reach = np.clip(moved, FEASIBLE, 1.0) * scale
    return Bounds(np.maximum(box.lb, x - reach), np.minimum(box.ub, x + reach))


class _Look(NamedTuple):
    """The user's callback, told of the objective instead of the Lagrangian."""

    told: Callable[[Result], None]
    lagrangian: Lagrangian
    spent: int

    def __call__(self, progress: Result) -> None:
        c = self.lagrangian.constraints(np.asarray(progress.x))
        progress.update(fun=self.lagrangian.objective(progress.fun, c), nfev=self.spent + progress.nfev)
        progress.update(constr_violation=self.lagrangian.constraints.violation(c))
        self.told(progress)


def _share(left: int, rounds: list[Round]) -> int:
    """Calls of the next round; 0 where no reading fits any more."""
    last = rounds[-1].result
    if len(rounds) == 1:
        return -(-left // FIRST_SHARE) if left > 3 * LEAST_READINGS else left
    cost = max(1, round(last.nfev / last.njev)) if last.njev else last.x.size + 1  # `NEARBY`
    if left < cost:
        return 0
    return left // int(np.clip(left // (LEAST_READINGS * cost), 1, max(1, MOST_ROUNDS - len(rounds))))


def _judged(lagrangian: Lagrangian, result: Result) -> Round:
    """What a round read, in terms of the objective and the constraints."""
    places = result.trace.get("x", np.zeros((0, result.x.size)))
    x = np.concatenate([places, result.x[None]])
    values = np.append(result.trace.value[: len(places)], result.fun)
    judged = [lagrangian.constraints(point) for point in x]
    funs = [lagrangian.objective(value, c) for value, c in zip(values, judged, strict=True)]
    minima = [_minimum(lagrangian, one) for one in result.minima]
    return Round(x, np.array(funs), np.array([lagrangian.constraints.violation(c) for c in judged]), minima, result)


def _minimum(lagrangian: Lagrangian, one: Result) -> Result:
    c = lagrangian.constraints(np.asarray(one.x))
    fun, violation = lagrangian.objective(one.fun, c), lagrangian.constraints.violation(c)
    return Result(x=one.x, fun=fun, constr_violation=violation, visits=one.visits)


def _agree(rounds: list[Round], tol: float | None) -> bool:
    """Whether the best points of the last two rounds are feasible and their values closer than `tol`."""
    if tol is None or len(rounds) < 3:
        return False
    one, other = rounds[-2:]
    feasible = max(one.violation[-1], other.violation[-1]) <= FEASIBLE
    return bool(feasible and abs(one.fun[-1] - other.fun[-1]) <= tol * max(1.0, abs(other.fun[-1])))


def _joined(rounds: list[Round], known: Constraints, multipliers: np.ndarray) -> Result:
    """One result for all rounds."""
    x, fun, violation = (np.concatenate(column) for column in list(zip(*rounds, strict=True))[:3])
    rank = np.where(np.isfinite(fun), np.maximum(violation, FEASIBLE), np.inf)
    merit = fun + 2 * np.abs(multipliers).sum() * violation  # so that what is gained by a slight violation does not win
    best = np.lexsort((merit, rank))[0]
    runs, last = [one.result for one in rounds], rounds[-1].result
    offsets = np.cumsum([0, *(run.nfev for run in runs)])[:-1]
    met = bool(violation[best] <= FEASIBLE and np.isfinite(fun[best]))
    status = Status(last.status) if met else Status.INFEASIBLE
    events = [
        Result(event | {"call": event.call + offset})
        for run, offset in zip(runs, offsets.tolist(), strict=True)
        for event in run.events
    ]
    read = [(one, offset) for one, offset in zip(rounds, offsets.tolist(), strict=True) if "trace" in one.result]
    trace = Result(
        value=np.concatenate([np.zeros(0), *(one.fun[:-1] for one, _ in read)]),
        violation=np.concatenate([np.zeros(0), *(one.violation[:-1] for one, _ in read)]),
        calls=np.concatenate([np.zeros(0, int), *(one.result.trace.calls[: len(one.x) - 1] + n for one, n in read)]),
        x=np.concatenate([np.zeros((0, x.shape[1])), *(one.x[:-1] for one, _ in read)]),
    )
    return Result(
        x=x[best],
        fun=float(fun[best]),
        success=met and status in REGULAR,
        status=int(status),
        message=STATUS_MESSAGES[status],
        nfev=sum(run.nfev for run in runs),
        njev=sum(run.njev for run in runs),
        nit=len(rounds) - 1,
        constr_violation=float(violation[best]),
        constr_nfev=known.evaluations,
        multipliers=0.0 - multipliers,  # no minus zeros
        minima=rounds[-1].minima,
        events=events,
        trace=trace,
    )
