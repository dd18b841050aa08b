"""Score a finished basin: what became of it, the spread between basins, whether it is small, and the archive."""

from typing import Any

from ..core.board import KNOWN, LOWER, NEW, Board, Evidence, Spec, resolution
from ..core.codes import Cause
from .basins import SAME_BASIN, write_basin

INF = float("inf")
SAME_VALUE = 1e-6  # difference of two bottoms, as a share of the spread, that says nothing of the spread
SMALL_DESCENT = 0.5  # descent into a basin that is not the base's, where the box is 10 wide, below which it is small;
SMALL_DESCENT_SHORT, SHORT_RUN = 1.5, 2.0  # the same in runs of less readings a dimension than these
CONVERGED, REVISIT = int(Cause.CONVERGED), int(Cause.REVISIT)


def score_basin(ops: Any, spec: Spec, board: Board, evidence: Evidence, cause: Any, swept: Any) -> Board:
    """The board with the basin that a stage has finished.

    Args:
        ops: NumPy's or JAX's operations.
        spec: what is known before a run begins.
        board: the facts before.
        evidence: what the stage leaves behind.
        cause: why it ended.
        swept: whether the basin was entered from the end of a sweep: the descent is short then, whatever the basin.
    """
    d, f = board.base.shape[0], evidence.f
    unseen = resolution(spec.eps, f)
    later, noisy = board.escapes > 0, board.noisy
    fall = board.left_f - ops.min(f, board.base_f)
    better = fall > unseen
    there = later & ops.no(noisy) & (ops.norm(evidence.q - board.base) < SAME_BASIN * d**0.5)
    elsewhere = ops.no(there) & (cause != REVISIT) & (f < INF)
    gain = ops.pick(better, fall, ops.pick(later, abs(f - board.base_f), INF))
    bottom = ops.flag(True) if spec.values_only else (cause == CONVERGED) | noisy  # whether it was reached
    told = bottom & (gain < INF) & (gain > unseen + SAME_VALUE * board.spread)
    spread = ops.pick(told, ops.pick(board.spread > 0, board.spread**0.8 * abs(gain) ** 0.2, gain), board.spread)
    limit = ops.pick(board.readings < SHORT_RUN * d, SMALL_DESCENT_SHORT, SMALL_DESCENT)
    small = bottom & elsewhere & (evidence.descent < limit) & ops.no(swept)
    outcome = ops.pick(elsewhere, ops.pick(better, ops.whole(LOWER), ops.whole(NEW)), ops.whole(KNOWN))
    basins = ops.when(
        f < INF,
        lambda old: write_basin(ops, old, evidence.q, f),
        board.basins,
    )
    base_f = ops.min(f, board.base_f)
    reach = ops.cond(f <= board.base_f, lambda: 1.5 * ops.largest(abs(evidence.q)), lambda: 0.0)
    return board._replace(
        escapes=board.escapes + 1,
        outcome=outcome,
        spread=spread,
        small_basins=ops.flag(board.small_basins | small),
        left_f=base_f,
        reach=ops.max(board.reach, reach),
        basins=basins,
    )
