"""The untrained planner: the highest bid has the stage, and the first that wants to be asked again sets its horizon."""

from dataclasses import dataclass
from typing import Any, NamedTuple

from ..core.board import NOT_NOW, Board, Offer

FOREVER = float("inf")


class Choice(NamedTuple):
    """The tactic of the next stage, and after how many readings it may be interrupted."""

    tactic: Any
    horizon: Any


@dataclass(frozen=True)
class FixedOrder:
    """The highest bid wins; of equal bids the first of the policy's tuple.

    Departs from the paper: its slow planner is a network (eq. dp_subgoal); here bids are fixed numbers.
    """

    def choose(self, ops: Any, offers: tuple[Offer | None, ...], board: Board) -> Choice:
        best, chosen, wake = None, ops.whole(0), FOREVER
        for i, offer in enumerate(offers):
            if offer is None or offer is NOT_NOW:
                continue
            if best is None:
                best, chosen, wake = offer.bid, ops.whole(i), offer.wake
                continue
            higher = offer.bid > best
            best, chosen = ops.pick(higher, offer.bid, best), ops.pick(higher, ops.whole(i), chosen)
            wake = ops.min(wake, offer.wake)
        return Choice(chosen, wake)
