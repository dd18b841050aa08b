"""Look around by values: the box's centre as a run begins, and later spread places, to descend from the best.

    centre   the middle of the box: nearer to a random minimum than another random place, the more so the larger d is
    spread   2 d places of the additive sequence q_k = lower + width frac(u + k a), a_i = phi_d^-i (Roberts)

A sample is worth a descent if no lower one and no known basin is near it, near being a distance that shrinks as samples
grow dense (Rinnooy Kan and Timmer's multi-level single linkage):

    r = (reach / 2) width (log n / n)^(1/d)

Departs from the paper: its subgoal is a network's (eq. dp_subgoal).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from ..core.board import Board, Draws, Evidence, Offer, Plant, Spec, searched
from ..core.codes import Cause, Mode
from ..dynamics.move import Move, Stepped
from .base import AbstractTactic, Step, bid, ends, found, goes_on
from .places import spread_place

CENTRE, SPREAD = range(2)
INF = float("inf")


class ExploreMemory(NamedTuple):
    """The samples so far, the last `samples.shape[0]` of them."""

    phase: Any
    samples: Any
    values: Any
    used: Any  # whether it was descended from, or is empty
    read: Any  # samples in all
    until: Any  # samples in all when the stage ends
    stages: Any
    chosen: Any  # row of the sample to descend from
    found: Any  # whether there is one


@dataclass(frozen=True)
class Explore(AbstractTactic):
    """Opens a run of values alone with the box's centre; in few dimensions it looks for other basins, too."""

    per_dimension: int = 2  # samples of a stage
    share: float = 0.4  # of its stages in escapes from basins
    kept: int = 64  # samples
    most: int = 6  # dimensions in which it looks for other basins
    near_basin: float = 0.7  # of r, within which a sample belongs to a known basin

    name: ClassVar[str] = "explore"
    mode: ClassVar[Mode] = Mode.ESCAPE
    phases: ClassVar[tuple[str, ...]] = ("centre", "spread")

    def blank(self, ops: Any, spec: Spec) -> ExploreMemory | None:
        if not spec.values_only:
            return None
        xp, dtype = ops.xp, spec.dtype
        return ExploreMemory(
            phase=ops.whole(CENTRE),
            samples=xp.zeros((self.kept, spec.dimension), dtype),
            values=xp.full(self.kept, xp.inf, dtype),
            used=xp.ones(self.kept, bool),
            read=ops.whole(0),
            until=ops.whole(0),
            stages=ops.whole(0),
            chosen=ops.whole(0),
            found=ops.flag(False),
        )

    def offer(self, ops: Any, memory: ExploreMemory, board: Board) -> Offer:
        d = board.base.shape[0]
        bounded = ((board.lower > -INF) & (board.upper < INF)).all()
        away = abs(board.base).max() > 0
        opens = (memory.stages == 0) & (board.escapes == 0) & bounded & away
        looks = board.scored & (ops.real(memory.stages) < self.share * ops.real(board.escapes)) & (d <= self.most)
        cost = ops.pick(opens, 1.0, float(self.per_dimension * d)) / (d + 1.0)
        looks = looks & (board.left > 4.0 * self.per_dimension)
        return bid(ops, opens | looks, ops.pick(opens, 9.0, 2.0), cost=cost)

    def open(
        self, ops: Any, memory: ExploreMemory, board: Board, plant: Plant, draws: Callable[[], Draws]
    ) -> ExploreMemory:
        opens = board.escapes == 0
        count = ops.pick(opens, ops.whole(1), ops.whole(self.per_dimension * plant.q.shape[0]))
        return memory._replace(
            phase=ops.whole(ops.pick(opens, CENTRE, SPREAD)),
            until=memory.read + count,
            stages=memory.stages + 1,
            found=ops.flag(False),
        )

    def observe(self, ops: Any, memory: ExploreMemory, board: Board, plant: Plant) -> tuple[ExploreMemory, Any]:
        row = ops.remainder(memory.read, self.kept)
        memory = memory._replace(
            samples=ops.put(memory.samples, row, plant.q),
            values=ops.put(memory.values, row, plant.f),
            used=ops.put(memory.used, row, memory.phase == CENTRE),
            read=memory.read + 1,
        )
        over = memory.read >= memory.until
        chooses = over & (memory.phase == SPREAD)
        memory = ops.when(chooses, lambda m: self._choose(ops, m, board), memory)
        return memory, ends(ops, over, Cause.DONE)

    def _choose(self, ops: Any, memory: ExploreMemory, board: Board) -> ExploreMemory:
        """The lowest sample that no lower one and no basin explains."""
        xp, (_, d) = ops.xp, memory.samples.shape
        lower, upper = searched(ops, board)
        n = ops.min(ops.real(memory.read, memory.samples.dtype), float(self.kept))
        width = (upper - lower).max()
        r = 0.5 * width * (xp.log(n + 1.0) / n) ** (1.0 / d)
        gaps = lambda points: ((memory.samples[:, None, :] - points[None, :, :]) ** 2).sum(axis=-1)  # noqa: E731
        explained = ((gaps(memory.samples) < r**2) & (memory.values[None, :] < memory.values[:, None])).any(axis=1)
        filled = board.basins.values < INF
        known = ((gaps(board.basins.points) < (self.near_basin * r) ** 2) & filled[None, :]).any(axis=1)
        values = ops.where(memory.used | explained | known, xp.inf, memory.values)
        chosen = ops.whole(values.argmin())
        fits = values[chosen] < INF
        used = ops.put(memory.used, chosen, memory.used[chosen] | fits)
        return memory._replace(chosen=chosen, found=ops.flag(fits), used=used)

    def propose(
        self, ops: Any, memory: ExploreMemory, board: Board, plant: Plant, step: Step
    ) -> tuple[ExploreMemory, Stepped, Any]:
        centre = memory.phase == CENTRE
        number = ops.pick(centre, ops.whole(0), memory.read + 1)
        target = spread_place(ops, board.key, 0, number, *searched(ops, board))
        return memory, step(Move(target)), goes_on(ops)

    def evidence(self, ops: Any, memory: ExploreMemory, board: Board, plant: Plant) -> Evidence:
        centre = memory.phase == CENTRE
        q = ops.pick(centre, plant.q, memory.samples[memory.chosen] + 0.0)
        f = ops.pick(centre, plant.f, memory.values[memory.chosen] + 0.0)
        fresh = ops.pick(centre, plant.finite & (plant.f < board.base_f), memory.found)
        return found(ops, plant, fresh=ops.flag(fresh))._replace(q=q, f=f)

    def phase(self, ops: Any, memory: ExploreMemory) -> Any:
        return memory.phase

    def wants_force(self, ops: Any, memory: ExploreMemory) -> Any:
        return ops.flag(False)
