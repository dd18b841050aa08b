"""The optimizer: board, tactics and planner joined into `init` and `tell` (Algorithm alg:streaming_shape_compact).

At each reading:

    the line of the ledger that led here is closed; tactics that watch every reading see it
    the active tactic observes it, and says whether its stage is over
    if so: its evidence goes to the board, the planner chooses among the offers, and the chosen tactic opens a stage
    the active tactic proposes a move, or ends its stage before a call is spent on it, and the choice is made again
    the plant makes the move (dynamics/move.py)

Everything is written once against `ops`: plain Python on the host engine, traced by JAX on the device engine.
"""

from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from .core.board import (
    PAIR_SUM,
    UNKNOWN,
    UNTESTED,
    Board,
    Draws,
    Evidence,
    Plant,
    Spec,
    is_noisy,
)
from .core.box import REACH
from .core.codes import Cause, Mode
from .dynamics.move import Line, Move, Stepped, close, no_line, step
from .memory.basins import no_basins
from .memory.score import score_basin
from .ops import HOST
from .ops.random import to_normal, uniform
from .planner import FamilyOrder, FixedOrder
from .tactics import (
    AbstractTactic,
    Differences,
    Explore,
    FitForces,
    GaussNewton,
    Hop,
    Interpolate,
    NoiseCheck,
    PairModel,
    Refine,
    Regress,
    Sample,
    Scout,
    SeparableSum,
    Settle,
    Start,
    TurnedAxes,
    ValueCheck,
)

INF = float("inf")
MOST_ROUNDS = 4  # choices at one reading
CLOCK, PREEMPTED = int(Cause.CLOCK), int(Cause.PREEMPTED)

TACTICS: tuple[AbstractTactic, ...] = (
    PairModel(),
    NoiseCheck(),
    ValueCheck(),
    SeparableSum(),
    TurnedAxes(),
    Regress(),
    Sample(),
    Scout(),
    Explore(),
    FitForces(),
    Settle(),
    Differences(),
    Interpolate(),
    GaussNewton(),
    Refine(),
    Hop(),
)


class Info(NamedTuple):
    """What a person wants to see of a reading: its stage, why that ended, and the ledger's line."""

    tactic: Any
    phase: Any
    cause: Any
    ledger: tuple[Any, ...]
    cut: Any  # whether the port's input on the way here was cut


class State(NamedTuple):
    """Everything that the next reading needs; `q` is where it is made."""

    q: Any
    p: Any
    active: Any
    phase: Any
    age: Any  # readings of this stage
    horizon: Any
    spent: Any  # calls so far
    board: Board
    memories: tuple[Any, ...]
    line: Line
    live: Any  # whether the last reading was finite, so that the line has a beginning
    info: Info


Stage = tuple[Any, Any, Board, tuple[Any, ...]]  # the active tactic, its horizon, the board, all memories


@dataclass(frozen=True)
class Policy:
    """A tuple of tactics and a planner. An ablation is another tuple, and a tactic of your own is one more entry.

    `seam`: where the box opens in coordinates that are periodic, in the user's units; None for the others
    (core/box.py). `affine`: no coordinate is searched by its logarithm; so it is where tactics know places in the box.
    """

    tactics: tuple[AbstractTactic, ...] = TACTICS
    planner: FixedOrder | FamilyOrder = field(default_factory=FixedOrder)
    seam: tuple[float | None, ...] | None = None
    affine: bool = False

    def __post_init__(self) -> None:
        names = [tactic.name for tactic in self.tactics]
        if len(set(names)) < len(names):
            raise ValueError(f"`tactics` must have different names; got {names}.")
        if "start" in names:
            raise ValueError("`tactics` must not have a tactic named 'start': every run begins with one.")

    def without(self, *names: str) -> "Policy":
        """The policy without some of its tactics."""
        unknown = set(names) - {tactic.name for tactic in self.tactics}
        if unknown:
            raise ValueError(f"`names` must be of tactics of the policy; got {sorted(unknown)}.")
        return replace(self, tactics=tuple(t for t in self.tactics if t.name not in names))

    def told_of_noise(self) -> "Policy":
        """The policy for forces that are known to be noisy: the noise is measured at the first reading."""
        return replace(self, tactics=tuple(tactic.told_of_noise() for tactic in self.tactics))


class Optimizer:
    """SHAPE with a policy, for runs of one kind (`spec`). It never calls the objective, and never counts.

    Departs from the paper: stages are those of tactics; a stage may end before its next step is spent, not after.
    """

    def __init__(self, policy: Policy, spec: Spec, noise_std: float = UNKNOWN, allowance: float | None = None) -> None:
        self.policy, self.spec, self.noise_std, self.allowance = policy, spec, noise_std, allowance
        self.tactics: tuple[AbstractTactic, ...] = (Start(), *policy.tactics)
        self._interruptible = tuple(t.interruptible for t in self.tactics)
        self._basins = tuple(t.mode != Mode.ESCAPE for t in self.tactics)
        self._watchers = tuple(i for i, t in enumerate(self.tactics) if t.watches and t.blank(HOST, spec) is not None)
        self._settling = tuple(t.mode == Mode.SETTLE for t in self.tactics)
        self._sweeps = tuple(t.sweeps for t in self.tactics)
        self._largest = float(np.finfo(spec.dtype).max) ** 0.5 / 64.0  # beyond it a square overflows

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(tactic.name for tactic in self.tactics)

    @property
    def opens_by_value(self) -> bool:
        """Whether a basin is opened from a value, so that no force is read for it."""
        spec = self.spec
        return spec.values_only and any(t.opens_by_value and t.blank(HOST, spec) is not None for t in self.tactics)

    # ------------------------------------------------------------------------------------------------ init

    def init(self, ops: Any, q: Any, lower: Any, upper: Any, budget: Any, key: Any) -> State:
        """The state before the first reading, at q, of a run that may spend so many calls."""
        spec, xp = self.spec, ops.xp
        d, dtype = spec.dimension, spec.dtype
        unit = d + 1 if spec.values_only else 1
        real = lambda x: ops.real(x, dtype)  # noqa: E731
        no, zero, whole = ops.flag(False), ops.real(0.0, dtype), ops.whole(0)
        board = Board(
            lower=lower,
            upper=upper,
            key=key,
            budget=real(budget),
            unit=real(unit),
            readings=real(budget / unit),
            left=real(budget / unit),
            base=q,
            base_f=real(INF),
            base_g=xp.zeros(d, dtype),
            metric=xp.zeros((d, d), dtype) if any(one.tells_metric(spec) for one in self.tactics) else None,
            fresh=no,
            entry=q,
            entry_f=real(INF),
            interrupted=no,
            scored=no,
            stages=whole,
            escapes=whole,
            left_f=real(INF),
            outcome=whole,
            spread=zero,
            descent=zero,
            fall=zero,
            mismatch=zero,
            predicted=zero,
            noise_std=real(self.noise_std),
            noisy=no,
            value_noise=real(self.noise_std if spec.values_only else 0.0),
            value_precision=real(UNKNOWN),
            structure=ops.whole(UNTESTED),
            small_basins=no,
            reach=real(REACH),
            tank=real(INF if self.allowance in (None, INF) else 0.0),
            last=whole,
            cause=whole,
            basins=no_basins(ops, d, dtype),
        )
        memories = tuple(tactic.blank(ops, spec) for tactic in self.tactics)
        active, phase = whole, whole
        ledger = (zero,) * 7
        info = Info(active, phase, whole, ledger, no)
        line = no_line(ops, dtype)
        return State(q, xp.zeros(d, dtype), active, phase, whole, real(INF), zero, board, memories, line, no, info)

    # ------------------------------------------------------------------------------------------------ tell

    def tell(self, ops: Any, state: State, f: Any, g: Any, cost: Any, fit: Any = None) -> State:
        """The state after a reading at `state.q` that cost so many calls; `fit` as `Plant` has it (host only)."""
        if not ops.traced:
            return self._host_tell(ops, state, f, g, cost, fit)
        finite = ops.finite(f, g, self._largest)
        ledger = close(ops, state.line, f, finite & state.live)
        f, g = ops.cond(finite, lambda: (f, g), lambda: (ops.real(INF, self.spec.dtype), ops.xp.zeros_like(state.p)))
        plant = Plant(state.q, state.p, f, g, finite)
        board, spent = self._noisy_base(ops, state, plant), state.spent + cost
        if self.allowance is not None and self.allowance < INF:
            board = board._replace(tank=board.tank - self.allowance * ledger[0] - ledger[1])
        memories, urgent = self._watched(ops, state.memories, board, plant)
        age = state.age + 1
        memories, cause = self._observed(ops, state.active, board, memories, plant)
        may = ops.entry(self._interruptible, state.active)
        clock = may & (cause == 0) & (ops.real(age, self.spec.dtype) >= state.horizon)
        cause = ops.pick(clock, CLOCK, cause)
        cause = ops.whole(ops.pick(may & (cause == 0) & urgent, PREEMPTED, cause))
        stage = state.active, state.horizon, board, memories
        stage, moved, first = self._rounds(ops, cause, stage, state, plant, spent)
        active, horizon, board, memories = stage
        q, p, line = moved
        info = Info(state.active, state.phase, first, ledger, state.line.cut)
        phase = self._phase(ops, active, memories)
        age = ops.pick(first == 0, age, ops.whole(0))
        return State(q, p, active, phase, age, horizon, spent, board, memories, line, finite, info)

    def _rounds(
        self, ops: Any, cause: Any, stage: Stage, state: State, plant: Plant, spent: Any
    ) -> tuple[Stage, Any, Any]:
        """Choose, where a stage has ended, and propose; again where the proposal ends the stage. With the stage and the
        move comes why the stage of the reading ended, if it did."""

        def once(held: tuple) -> tuple:
            cause, stage, moved, first, rounds = held
            waits = (rounds == 0) | (cause != 0)  # else a lane of a batch that is done, for which nothing need run
            stage = ops.when(cause != 0, lambda old: self._next_stage(ops, old, cause, plant, spent), stage)
            active, horizon, board, memories = stage
            proposer = self._proposer(ops, board, plant, state.line.kinetic)
            common = (moved, state.q, ops.flag(False), ops.whole(0))
            proposing = ops.pick(waits, active, ops.whole(-1))
            memories, (moved, target, placed, cause) = ops.dispatch(proposing, proposer, memories, common)
            line = state.line
            moved = ops.pick(placed, tuple(step(ops, plant, Move(target), board, line.kinetic)), moved)
            first = ops.pick((rounds == 0) & (first == 0), cause, first)
            return cause, (active, horizon, board, memories), moved, first, rounds + 1

        again = lambda held: (held[-1] == 0) | ((held[0] != 0) & (held[-1] < MOST_ROUNDS))  # noqa: E731
        held = (cause, stage, (state.q, state.p, state.line), cause, ops.whole(0))
        _, stage, moved, first, _ = ops.rounds(again, once, held)
        return stage, moved, first

    def _host_tell(self, ops: Any, state: State, f: float, g: Any, cost: Any, fit: Any) -> State:
        """`tell` in plain Python: the same for one run, with a call of the active tactic's methods alone."""
        q, p, active, phase, age, horizon, spent, board, memories, line, live, _ = state
        finite = ops.finite(f, g, self._largest)
        ledger = close(ops, line, f, finite and live)
        plant = Plant(q, p, f, g, True, fit) if finite else Plant(q, p, INF, 0.0 * q, False, fit)
        if board.noise_std > 0:
            board = self._noisy_base(ops, state, plant)
        if self.allowance is not None and self.allowance < INF:
            board = board._replace(tank=board.tank - self.allowance * ledger[0] - ledger[1])
        urgent, spent, age = False, spent + cost, age + 1
        held, tactic = list(memories), self.tactics[active]
        for i in self._watchers:
            held[i], calls = self.tactics[i].watch(ops, held[i], board, plant)
            urgent = urgent or calls
        held[active], cause = tactic.observe(ops, held[active], board, plant)
        if not cause and tactic.interruptible:
            cause = CLOCK if age >= horizon else PREEMPTED if urgent else 0
        stage = active, horizon, board, held
        (now, horizon, board, held), moved, first = self._host_rounds(ops, cause, stage, line.kinetic, plant, spent)
        info = Info(active, phase, first, ledger, line.cut)
        phase, age = self.tactics[now].phase(ops, held[now]), 0 if first else age
        q, p, line = moved
        return State(q, p, now, phase, age, horizon, spent, board, tuple(held), line, finite, info)

    def _host_rounds(
        self, ops: Any, cause: int, stage: tuple[int, float, Board, list[Any]], kinetic: float, plant: Plant, spent: Any
    ) -> tuple[Any, Any, int]:
        """`_rounds` in plain Python, with the memories in a list."""
        first, (active, horizon, board, memories) = cause, stage
        for number in range(MOST_ROUNDS):
            if cause:
                held = active, horizon, board, tuple(memories)
                active, horizon, board, (*memories,) = self._next_stage(ops, held, cause, plant, spent)
            make = lambda move, board=board: step(ops, plant, move, board, kinetic)  # noqa: E731
            memories[active], moved, cause = self.tactics[active].propose(ops, memories[active], board, plant, make)
            if not cause:
                break
            if number == 0 and not first:
                first = cause
        return (active, horizon, board, memories), moved, first

    def _observed(self, ops: Any, active: Any, board: Board, memories: tuple, plant: Plant) -> tuple[tuple, Any]:
        observer = lambda i: lambda memory, _: self.tactics[i].observe(ops, memory, board, plant)  # noqa: E731
        return ops.dispatch(active, observer, memories, ops.whole(0))

    def _proposer(self, ops: Any, board: Board, plant: Plant, kinetic: Any) -> Any:
        """Tactic -> its proposal, as (moved, target, placed, cause): placements are made later, for all tactics at
        once."""

        def make(move: Move) -> Stepped:
            if move.way is None and move.solve is None:
                return Stepped(move.target, None, None)
            return step(ops, plant, move, board, kinetic)

        def of(i: int) -> Any:
            def propose(memory: Any, held: tuple) -> tuple[Any, Any]:
                memory, made, cause = self.tactics[i].propose(ops, memory, board, plant, make)
                placed = made.p is None
                return memory, (held[0], made.q, True, cause) if placed else (tuple(made), held[1], False, cause)

            return propose

        return of

    def _watched(self, ops: Any, memories: tuple, board: Board, plant: Plant) -> tuple[tuple, Any]:
        urgent = ops.flag(False)
        for i in self._watchers:
            memory, calls = self.tactics[i].watch(ops, memories[i], board, plant)
            memories, urgent = (*memories[:i], memory, *memories[i + 1 :]), urgent | calls
        return memories, urgent

    def _phase(self, ops: Any, active: Any, memories: tuple) -> Any:
        phase = ops.whole(0)
        for i, tactic in enumerate(self.tactics):
            if memories[i] is not None and len(tactic.phases) > 1:
                phase = ops.pick(active == i, tactic.phase(ops, memories[i]), phase)
        return phase

    def settles(self, ops: Any, state: State) -> Any:
        """Whether the run settles where values are noisy, so that its last place is its result, not the lowest one."""
        return (state.board.value_noise > 0) & ops.entry(self._settling, state.active)

    # ----------------------------------------------------------------------------------------------- stages

    def _noisy_base(self, ops: Any, state: State, plant: Plant) -> Board:
        """The board after a reading: with noise any better point of a basin stage is the base."""
        board = state.board
        lower = board.noisy & (plant.f < board.base_f) & ops.entry(self._basins, state.active)
        noisy = lambda: is_noisy(ops, board.noise_std, plant.f, plant.g)  # noqa: E731
        return ops.cond(
            lower,
            lambda: board._replace(base=plant.q, base_f=plant.f, base_g=plant.g, noisy=noisy()),
            lambda: board,
        )

    def _next_stage(self, ops: Any, stage: Stage, cause: Any, plant: Plant, spent: Any) -> Stage:
        """The stage after one that ended: evidence to the board, the planner's choice, its opening."""
        active, _, board, memories = stage
        evidence = self._evidence(ops, active, board, memories, plant)
        board = self._learn(ops, board, evidence, active, cause, plant, spent)
        offers = tuple(
            None if memory is None else tactic.offer(ops, memory, board)
            for tactic, memory in zip(self.tactics, memories, strict=True)
        )
        choice = self.policy.planner.choose(ops, offers, board)
        draws = self._draws(ops, board)
        opener = lambda i: lambda memory, _: (self.tactics[i].open(ops, memory, board, plant, draws), _)  # noqa: E731
        memories, _ = ops.dispatch(choice.tactic, opener, memories, ops.whole(0))
        return choice.tactic, ops.real(choice.horizon, self.spec.dtype), board, memories

    def _evidence(self, ops: Any, active: Any, board: Board, memories: tuple, plant: Plant) -> Evidence:
        if not ops.traced:
            return self.tactics[active].evidence(ops, memories[active], board, plant)
        numbered = [i for i, memory in enumerate(memories) if memory is not None]
        told = [self.tactics[i].evidence(ops, memories[i], board, plant) for i in numbered]
        told = [one._replace(metric=board.metric) if one.metric is None else one for one in told]
        return Evidence(*(_merged(ops, active, numbered, field) for field in zip(*told, strict=True)))

    def _draws(self, ops: Any, board: Board) -> Any:
        """The random numbers of the next stage; the host makes them where a tactic asks."""
        d, dtype = self.spec.dimension, self.spec.dtype

        def draw() -> Draws:
            u = uniform(ops, board.key, board.stages - 1, 3 * d + 2, dtype)
            return Draws(u[: d + 2], to_normal(ops, u[d + 2 :]))

        return ops.lazy(draw)

    def _learn(
        self, ops: Any, board: Board, evidence: Evidence, active: Any, cause: Any, plant: Plant, spent: Any
    ) -> Board:
        """The board after a stage; one rule a field. A basin that was only interrupted is not scored yet."""
        paused = (cause == CLOCK) & ops.entry(self._interruptible, active)
        scored = evidence.basin & ops.no(paused)
        swept = ops.entry(self._sweeps, board.last)
        board = ops.when(scored, lambda old: score_basin(ops, self.spec, old, evidence, cause, swept), board)
        rebase = evidence.rebase & (evidence.f <= board.base_f) & (evidence.f < INF)
        started = (active == 0) & plant.finite
        news = evidence.basin | paused
        structure = ops.pick(evidence.structure == UNTESTED, board.structure, evidence.structure)
        if self.spec.dimension < 2:
            structure = ops.pick(structure == UNTESTED, ops.whole(PAIR_SUM), structure)
        unit = board.unit if self.spec.values_only else ops.pick(active == 0, spent, board.unit)
        left = (board.budget - spent) / unit
        readings = ops.pick(active == 0, board.budget / unit, board.readings)
        base, base_f, base_g = ops.pick(rebase, evidence[:3], (board.base, board.base_f, board.base_g))
        metric = board.metric if evidence.metric is None else ops.pick(rebase, evidence.metric, board.metric)
        noise_std = ops.pick(evidence.noise_std >= 0, evidence.noise_std, board.noise_std)
        return board._replace(
            base=base,
            base_f=base_f,
            base_g=base_g,
            metric=metric,
            fresh=ops.flag(evidence.fresh),
            entry=ops.pick(evidence.fresh, evidence.q, board.entry),
            entry_f=ops.pick(evidence.fresh, evidence.f, board.entry_f),
            interrupted=ops.flag(ops.pick(news, paused, board.interrupted | started)),
            scored=ops.flag(scored),
            stages=board.stages + 1,
            descent=ops.pick(news, evidence.descent, board.descent),
            fall=ops.pick(news, evidence.fall, board.fall),
            mismatch=ops.pick(news, evidence.mismatch, board.mismatch),
            predicted=ops.pick(news, evidence.predicted, board.predicted),
            noise_std=noise_std,
            noisy=is_noisy(ops, noise_std, base_f, base_g),
            value_noise=ops.pick(evidence.value_noise >= 0, evidence.value_noise, board.value_noise),
            value_precision=ops.pick(evidence.value_precision >= 0, evidence.value_precision, board.value_precision),
            structure=structure,
            unit=unit,
            readings=readings,
            left=left,
            last=active,
            cause=cause,
        )


def _merged(ops: Any, active: Any, numbered: list[int], values: tuple[Any, ...]) -> Any:
    """What the active tactic says of a field; of what most of them say, nothing need be asked."""
    groups: dict[Any, tuple[Any, list[int]]] = {}
    for i, value in zip(numbered, values, strict=True):
        same = value if isinstance(value, bool | int | float) else id(value)
        groups.setdefault((type(value), same), (value, []))[1].append(i)
    (found, _), *others = sorted(groups.values(), key=lambda group: -len(group[1]))
    for value, tactics in others:
        found = ops.pick(ops.entry(tuple(i in tactics for i in range(max(numbered) + 1)), active), value, found)
    return found
