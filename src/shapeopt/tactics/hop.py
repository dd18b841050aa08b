"""Leave a basin by one reading elsewhere: around the best basin, or anywhere in the box (eq. dp_subgoal).

    around the best   q_bar = base + r s,  s ~ N(0, A) of mean length sqrt(d),  log r uniform within `spread` of the
                      logarithm of the radius, reflected into the box
    anywhere          places of an additive sequence that fills the box evenly, its middle first (places.py)

A is the inverse Hessian of the best basin as its descent has learned it, or the identity: a kick of momenta p ~ N(0, M)
moves a body of mass M = A^-1 by A p, so that a hop is long where the basin is soft, and turns bonds rather than
stretching them. The radius grows when a hop falls back into the basin that it left, and shrinks when it leads to a
worse one, as the step of SciPy's basinhopping does. Which law is drawn follows from what either has found in this run
(probability matching between the two rates of lower basins; older hops count less):

    share anywhere = w_2 / (w_1 + w_2),   w_i = (lower basins + a_i) / (hops + 4),   a_1 = 1,  a_2 = min(1, 5 / d)

Departs from the paper: its subgoal is a network's.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..core.board import KNOWN, LOWER, NEW, Board, Draws, Offer, Plant, Spec, searched
from ..core.codes import Cause, Mode
from ..dynamics.move import Move, Stepped
from .base import AbstractTactic, Step, bid, ends, goes_on
from .places import spread_place

INF = float("inf")


class HopMemory(NamedTuple):
    """Where the hop leads, by which law, what came of the hops so far, and the logarithm of the radius' factor."""

    target: Any
    anywhere: Any
    hopped: Any  # whether there was a hop yet
    hops: Any  # around the best and anywhere, older ones counting less,
    lower: Any  # and those of them that led to a lower basin
    places: Any  # hops anywhere, and one more where the middle of the box is read by another tactic
    log_factor: Any


@dataclass(frozen=True)
class Hop(AbstractTactic):
    """One placement; always offered, so that a run never has nowhere to go."""

    radius: float = 0.7  # by coordinate, where the box is 10 wide
    spread: float = 1.6  # of its logarithm, to either side
    wider: float = 0.3  # change of its logarithm after a hop that fell back,
    narrower: float = 0.1  # and after one that led to a worse basin
    widest: float = 3.0  # largest change in all
    forgetting: float = 0.95  # of what a hop has told, by hop
    prior_lower: float = 1.0  # lower basins that either law is credited with at first,
    prior_hops: float = 4.0  # of so many hops;
    few: float = 5.0  # dimensions above which hops anywhere have less credit, and the middle of the box no priority

    name: ClassVar[str] = "hop"
    mode: ClassVar[Mode] = Mode.ESCAPE
    uses_force: ClassVar[bool] = False
    phases: ClassVar[tuple[str, ...]] = ("around the best", "anywhere")

    def blank(self, ops: Any, spec: Spec) -> HopMemory:
        no, zero, both = ops.flag(False), ops.real(0.0, spec.dtype), ops.xp.zeros(2, spec.dtype)
        read = ops.whole(spec.values_only)
        return HopMemory(ops.xp.zeros(spec.dimension, spec.dtype), no, no, both, both + 0.0, read, zero)

    def offer(self, ops: Any, memory: HopMemory, board: Board) -> Offer:
        return bid(ops, ops.flag(True), 1.0)

    def open(self, ops: Any, memory: HopMemory, board: Board, plant: Plant, draws: Callable[[], Draws]) -> HopMemory:
        xp, (u, z) = ops.xp, draws()
        box = searched(ops, board)
        memory = self._learned(ops, memory, board)
        least = math.log(self.radius) - self.spread
        radius = xp.exp(memory.log_factor + (2.0 * self.spread * u[0] + least))
        d = z.shape[0]
        prior = self.prior_lower * np.array((1.0, min(1.0, self.few / d)), z.dtype)
        near, far = (memory.lower + prior) / (memory.hops + self.prior_hops)
        anywhere, number = u[1] * (near + far) < far, memory.places + 1
        if d <= self.few and (ops.traced or memory.places == 0):
            middle = (memory.places == 0) & ((board.lower > -INF) & (board.upper < INF)).all()
            anywhere, number = anywhere | middle, ops.pick(middle, ops.whole(0), number)
        target = ops.cond(
            anywhere,
            lambda: spread_place(ops, board.key, 1, number, *box),
            lambda: reflect(ops, board.base + radius * soft(ops, board.metric, z), *box),
        )
        places = memory.places + ops.pick(anywhere, ops.whole(1), ops.whole(0))
        return memory._replace(target=target, anywhere=ops.flag(anywhere), hopped=ops.flag(True), places=places)

    def _learned(self, ops: Any, memory: HopMemory, board: Board) -> HopMemory:
        """With the outcome of the last hop, if a basin was scored since."""
        known = memory.hopped & board.scored
        near = ops.no(memory.anywhere)
        change = ops.pick(board.outcome == KNOWN, self.wider, ops.pick(board.outcome == NEW, -self.narrower, 0.0))
        factor = memory.log_factor + ops.pick(known & near, change, 0.0)
        dtype = memory.hops.dtype
        none, law = (
            np.zeros(2, dtype),
            ops.pick(memory.anywhere, np.array((0.0, 1.0), dtype), np.array((1.0, 0.0), dtype)),
        )
        kept, told = ops.pick(known, self.forgetting, 1.0), ops.pick(known, law, none)
        return memory._replace(
            log_factor=ops.min(ops.max(factor, -self.widest), self.widest),
            hops=kept * memory.hops + told,
            lower=kept * memory.lower + ops.pick(board.outcome == LOWER, told, none),
        )

    def observe(self, ops: Any, memory: HopMemory, board: Board, plant: Plant) -> tuple[HopMemory, Any]:
        return memory, ends(ops, ops.flag(True), Cause.DONE)

    def propose(
        self, ops: Any, memory: HopMemory, board: Board, plant: Plant, step: Step
    ) -> tuple[HopMemory, Stepped, Any]:
        return memory, step(Move(memory.target)), goes_on(ops)

    def phase(self, ops: Any, memory: HopMemory) -> Any:
        return ops.whole(memory.anywhere)


def soft(ops: Any, metric: Any, z: Any) -> Any:
    """A normal z in the metric A, L z with L L^T = A, as long as z; or z, where A is not known."""
    if metric is None:
        return z
    scale = metric[0, 0]  # taken out first, so that units of f change nothing
    s = ops.times(ops.root(metric / ops.pick(scale > 0, scale, 1.0)), z)
    length = ops.norm(s)
    known = (scale > 0) & (length > 0) & (length < INF)
    return ops.cond(known, lambda: (ops.norm(z) / ops.pick(known, length, 1.0)) * s, lambda: z)


def reflect(ops: Any, q: Any, lower: Any, upper: Any) -> Any:
    """q mirrored at the sides of a finite box, once; then clipped."""
    q = ops.where(q > upper, 2.0 * upper - q, ops.where(q < lower, 2.0 * lower - q, q))
    return ops.xp.minimum(ops.xp.maximum(q, lower), upper)
