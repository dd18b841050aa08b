"""The planner of a trained policy: tactics that did not pay in a family wait at first, while its memory is believed."""

from dataclasses import dataclass, field
from typing import Any

from ..core.board import Board, Offer
from .order import FOREVER, Choice, FixedOrder

NEVER = float("-inf")


@dataclass(frozen=True)
class FamilyOrder:
    """The highest bid wins among those that need not wait.

    Arguments:
        memory: number of the tactic `recall` in the policy's tuple; it bids as long as it is believed.
        late: numbers of the tactics that wait for as long, and neither bid nor interrupt.
        until: calls after which they wait no longer.
        order: the planner among the others.

    Departs from the paper: its slow planner is a network (eq. dp_subgoal); here bids are fixed numbers, and training
    says who waits.
    """

    memory: int = 0
    late: tuple[int, ...] = ()
    until: float = FOREVER
    order: FixedOrder = field(default_factory=FixedOrder)

    def choose(self, ops: Any, offers: tuple[Offer | None, ...], board: Board) -> Choice:
        believed = offers[self.memory + 1]  # the first offer is that of `start`
        if believed is None or not self.late:
            return self.order.choose(ops, offers, board)
        waits = (believed.bid > NEVER) & (board.budget - board.left * board.unit < self.until)
        later = {i + 1 for i in self.late}
        held = tuple(_held(ops, offer, waits) if i in later else offer for i, offer in enumerate(offers))
        return self.order.choose(ops, held, board)


def _held(ops: Any, offer: Offer | None, waits: Any) -> Offer | None:
    if offer is None:
        return None
    return Offer(ops.pick(waits, NEVER, offer.bid), offer.cost, ops.pick(waits, FOREVER, offer.wake))
