"""Change a few coordinates of the best point, by steps of all sizes, one value each: a search for rugged landscapes.

    q' = base + r z on k coordinates,   log r uniform in [log `shortest`, log `longest`],   z ~ N(0, I)

k is 1 in half of the trials, else log-uniform from 2 to d; q' is clipped to the box. A trial that is lower becomes
the base at once, and the next one starts there: a (1+1) evolution strategy with steps of mixed sizes, as in fast
evolutionary programming (Yao, Liu and Lin 1999). Functions that are nearly sums over their coordinates gain by k = 1,
and plateaus and cliffs do not matter.

It has a share of the calls, by what it gained of late per call beside all other tactics: between `least_share` and
`most_share` of them. Its gains are forgotten with its own trials, those of others with theirs. So a smooth function
with one basin hardly pays for it. Where most steps of a descent failed, it has `opening` trials a dimension at once: a
rugged landscape is better looked at before one of its basins is finished. Its stage ends after `patience` trials in a
row that were no better. Where a basin was finished before, the lowest of these trials is where the next one is entered:
a descent costs many values, and a look one.

Departs from the paper: its subgoal is a network's (eq. dp_subgoal); each trial is a placement.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from ..core.board import Board, Draws, Evidence, Offer, Plant, Spec, searched
from ..core.codes import Cause, Mode
from ..dynamics.move import Move, Stepped
from ..ops.random import to_normal, uniform
from .base import AbstractTactic, Step, bid, ends, found, goes_on

FROM = 3 * 2**29  # counters of trials begin here
INF = float("inf")


class Account(NamedTuple):
    """What readings of late gained, and how many there were: of this tactic, and of all others."""

    own_gain: Any
    own_tried: Any  # its calls, as the gain is forgotten,
    own_calls: Any  # and as time passes
    other_gain: Any
    other_tried: Any
    other_calls: Any


class ScoutMemory(NamedTuple):
    """The best point, the lowest trial beside it, and the account."""

    q: Any
    f: Any
    away: Any  # the lowest trial of the stage that was not better,
    away_f: Any
    improved: Any  # whether q is not the base with which the stage began, or no basin was opened there yet
    finds: Any  # whether the stage is to end where a basin can be entered
    idle: Any  # trials since one was better
    age: Any  # trials of the stage
    read: Any  # trials of the run
    mine: Any  # whether the stage is this tactic's
    rugged: Any  # whether most steps of a descent failed
    lowest: Any  # value of the run
    account: Account


@dataclass(frozen=True)
class Scout(AbstractTactic):
    """Trials around the best point, of few coordinates and all step sizes, in runs whose readings are values."""

    shortest: float = 0.3  # r, where the box is 10 wide
    longest: float = 5.0
    single: float = 0.5  # share of trials that change one coordinate
    patience: float = 1.0  # trials a dimension without a better one that end a stage,
    earned_patience: float = 2.0  # and once it has earned more than its first share
    share: float = 0.25  # of calls, before any was tried
    least_share: float = 0.1
    most_share: float = 0.8
    turn: float = 5.0  # trials a dimension of a stage at most
    aside: float = 0.5  # change of a coordinate that may lead to another basin
    first: float = 2.0  # calls a dimension that others have before its first stage
    memory: float = 5.0  # calls a dimension of others after which their gain is forgotten to 1 / e,
    own_memory: float = 2.0  # and trials a dimension after which its own gain is
    opening: float = 20.0  # trials a dimension that it has at once where most steps of a descent fail,
    failing: float = 0.35  # so many, as the board's mismatch
    least: int = 4  # dimensions: in fewer ones, spread samples find other basins
    most: int = 64

    name: ClassVar[str] = "scout"
    mode: ClassVar[Mode] = Mode.ESCAPE
    watches: ClassVar[bool] = True

    def blank(self, ops: Any, spec: Spec) -> ScoutMemory | None:
        d, dtype, xp = spec.dimension, spec.dtype, ops.xp
        if not spec.values_only or not self.least <= d <= self.most:
            return None
        zero, infinite, no = ops.real(0.0, dtype), ops.real(INF, dtype), ops.flag(False)
        return ScoutMemory(
            q=xp.zeros(d, dtype),
            f=infinite,
            away=xp.zeros(d, dtype),
            away_f=infinite,
            improved=no,
            finds=no,
            idle=ops.whole(0),
            age=ops.whole(0),
            read=ops.whole(0),
            mine=no,
            rugged=no,
            lowest=infinite,
            account=Account(*([zero] * 6)),
        )

    def watch(self, ops: Any, memory: ScoutMemory, board: Board, plant: Plant) -> tuple[ScoutMemory, Any]:
        d = plant.q.shape[0]
        gain = ops.pick(memory.lowest < INF, ops.max(memory.lowest - plant.f, 0.0), 0.0)
        own = ops.pick(memory.mine, 1.0, 0.0)
        a = memory.account
        keep = 1.0 - 1.0 / (self.memory * d)
        mine, others = 1.0 - own / (self.own_memory * d), 1.0 - (1.0 - own) / (self.memory * d)
        account = Account(
            mine * a.own_gain + own * gain,
            mine * a.own_tried + own,
            keep * a.own_calls + own,
            others * a.other_gain + (1.0 - own) * gain,
            others * a.other_tried + (1.0 - own),
            keep * a.other_calls + (1.0 - own),
        )
        return memory._replace(account=account, lowest=ops.min(memory.lowest, plant.f)), ops.flag(False)

    def _earned(self, ops: Any, account: Account) -> Any:
        """The share of the calls that it has earned."""
        own = account.own_gain / ops.max(account.own_tried, 1.0)
        total = own + account.other_gain / ops.max(account.other_tried, 1.0)
        earned = ops.pick(total > 0, own / ops.pick(total > 0, total, 1.0), self.share)
        tried = ops.min(ops.max(earned, self.least_share), self.most_share)
        return ops.pick(account.own_calls > 0, tried, self.share)

    def _rugged(self, ops: Any, memory: ScoutMemory, board: Board) -> Any:
        """Whether most steps of a descent failed, now or before."""
        return memory.rugged | (board.interrupted & (board.mismatch >= self.failing))

    def offer(self, ops: Any, memory: ScoutMemory, board: Board) -> Offer:
        d, account = board.base.shape[0], memory.account
        owed = self._earned(ops, account) * (account.own_calls + account.other_calls) > account.own_calls
        open_ = board.interrupted | board.scored | board.fresh
        begun = (board.base_f < INF) & open_ & (account.other_calls > self.first * d)
        opens = self._rugged(ops, memory, board) & (memory.read < int(self.opening * d))
        return bid(ops, begun & (owed | opens), 6.5, cost=self.patience)

    def open(
        self, ops: Any, memory: ScoutMemory, board: Board, plant: Plant, draws: Callable[[], Draws]
    ) -> ScoutMemory:
        pending = board.fresh & (board.entry_f <= board.base_f)
        return memory._replace(
            q=board.base + 0.0,
            f=board.base_f,
            away=board.base + 0.0,
            away_f=ops.real(INF, plant.q.dtype),
            improved=ops.flag(pending),
            finds=ops.flag(board.scored),
            idle=ops.whole(0),
            age=ops.whole(0),
            mine=ops.flag(True),
            rugged=ops.flag(self._rugged(ops, memory, board)),
        )

    def observe(self, ops: Any, memory: ScoutMemory, board: Board, plant: Plant) -> tuple[ScoutMemory, Any]:
        better = plant.f < memory.f
        far = abs(plant.q - memory.q).max() > self.aside
        nearest = ops.no(better) & far & (plant.f < memory.away_f)
        idle = ops.pick(better, ops.whole(0), memory.idle + 1)
        d = plant.q.shape[0]
        age = memory.age + 1
        earns = self._earned(ops, memory.account) > self.share
        patience = ops.pick(earns, self.earned_patience, self.patience)
        dtype = plant.q.dtype
        over = (ops.real(idle, dtype) >= patience * d) | (ops.real(age, dtype) >= self.turn * d)
        memory = memory._replace(
            q=ops.pick(better, plant.q, memory.q),
            f=ops.pick(better, plant.f, memory.f),
            away=ops.pick(nearest, plant.q, memory.away),
            away_f=ops.pick(nearest, plant.f, memory.away_f),
            improved=ops.flag(memory.improved | better),
            idle=ops.whole(idle),
            age=age,
            read=memory.read + 1,
            mine=ops.no(over),
        )
        return memory, ends(ops, over, Cause.DONE)

    def propose(
        self, ops: Any, memory: ScoutMemory, board: Board, plant: Plant, step: Step
    ) -> tuple[ScoutMemory, Stepped, Any]:
        xp, d, dtype = ops.xp, plant.q.shape[0], plant.q.dtype
        lower, upper = searched(ops, board)
        u = uniform(ops, board.key, FROM + memory.read, 3 * d + 3, dtype)
        r = self.shortest * xp.exp(math.log(self.longest / self.shortest) * u[0])
        several = xp.floor(2.0 * xp.exp(u[1] * math.log(max(d, 2) / 2.0 + 0.5)))
        count = ops.pick(u[2] < self.single, 1.0, ops.min(several, float(d)))
        order = u[3 : 3 + d]
        rank = (order[:, None] > order[None, :]).sum(axis=1)
        z = ops.where(rank < count, to_normal(ops, u[3 + d :]), 0.0)
        return memory, step(Move(ops.xp.minimum(ops.xp.maximum(memory.q + r * z, lower), upper))), goes_on(ops)

    def evidence(self, ops: Any, memory: ScoutMemory, board: Board, plant: Plant) -> Evidence:
        elsewhere = memory.finds & ops.no(memory.improved) & (memory.away_f < INF)
        q = ops.pick(elsewhere, memory.away, memory.q)
        f = ops.pick(elsewhere, memory.away_f, memory.f)
        told = found(ops, plant, fresh=ops.flag(memory.improved | elsewhere), rebase=ops.flag(True))
        return told._replace(q=q, f=f, g=ops.xp.zeros_like(plant.q))

    def wants_force(self, ops: Any, memory: ScoutMemory) -> Any:
        return ops.flag(False)
