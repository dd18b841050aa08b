"""Where f is a sum over pairs of bodies in space, hop in a model of it at no calls and read where that leads.

The model is fitted to the readings of all stages (pair_fit.py); hops in it propose low places (pair_hops.py), each the
anchor of one placement.

Departs from the paper: not in it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from ..core.board import PAIR_SUM, Board, Draws, Evidence, Offer, Plant, Spec, searched
from ..core.codes import Cause, Mode
from ..dynamics.move import Move, Stepped
from .base import AbstractTactic, Step, bid, ends, found
from .pair_fit import AXES, PairFit, body_shape, fit_reading
from .pair_hops import INF, Chain, field_around, hopped


class PairModelMemory(NamedTuple):
    """The fit, the chain of hops in it, and the place that they propose."""

    fit: PairFit
    chain: Chain
    target: Any
    found: Any  # whether the hops found a place
    due: Any  # whether the model is trusted anew, and nothing was proposed since
    eps: Any


@dataclass(frozen=True)
class PairModel(AbstractTactic):
    """One placement at a low place of the fitted model."""

    name: ClassVar[str] = "pair model"
    mode: ClassVar[Mode] = Mode.ESCAPE
    uneven: ClassVar[bool] = True
    watches: ClassVar[bool] = True

    def blank(self, ops: Any, spec: Spec) -> PairModelMemory | None:
        d, dtype = spec.dimension, spec.dtype
        if spec.values_only or body_shape(d) is None:
            return None
        return PairModelMemory(
            PairFit.blank(ops, dtype),
            Chain.blank(ops, d, dtype),
            ops.xp.zeros(d, dtype),
            ops.flag(False),
            ops.flag(True),
            ops.real(spec.eps, dtype),
        )

    def watch(self, ops: Any, memory: PairModelMemory, board: Board, plant: Plant) -> tuple[PairModelMemory, Any]:
        fit = fit_reading(ops, memory.fit, plant.q, plant.g, plant.finite, memory.eps)
        due = memory.due | ops.no(fit.trusted)
        return memory._replace(fit=fit, due=ops.flag(due)), fit.trusted & due

    def offer(self, ops: Any, memory: PairModelMemory, board: Board) -> Offer:
        usable = memory.fit.trusted & ops.no(memory.chain.spent) & ops.no(board.noisy)
        return bid(ops, usable & board.scored & (board.base_f < INF), 11.0)

    def open(
        self, ops: Any, memory: PairModelMemory, board: Board, plant: Plant, draws: Callable[[], Draws]
    ) -> PairModelMemory:
        """Hop in the model from the base."""
        shape = (plant.q.shape[0] // AXES, AXES)
        lower, upper = (side.reshape(shape) for side in searched(ops, board))
        base = board.base.reshape(shape)
        field = field_around(ops, memory.fit.weights, base, lower, upper)
        chain = hopped(ops, memory.chain, field, base, board.key)
        lowest = chain.lowest
        sound = (abs(lowest.energy) < INF) & (abs(lowest.x) < INF).all()
        return memory._replace(
            chain=chain,
            target=ops.pick(sound, lowest.x.reshape(-1), board.base),
            found=ops.flag(sound),
            due=ops.flag(False),
        )

    def observe(self, ops: Any, memory: PairModelMemory, board: Board, plant: Plant) -> tuple[PairModelMemory, Any]:
        return memory, ends(ops, ops.flag(True), Cause.DONE)

    def propose(
        self, ops: Any, memory: PairModelMemory, board: Board, plant: Plant, step: Step
    ) -> tuple[PairModelMemory, Stepped, Any]:
        return memory, step(Move(memory.target)), ends(ops, ops.no(memory.found), Cause.REJECTED)

    def evidence(self, ops: Any, memory: PairModelMemory, board: Board, plant: Plant) -> Evidence:
        return found(ops, plant, fresh=plant.finite & memory.found, structure=ops.whole(PAIR_SUM))
