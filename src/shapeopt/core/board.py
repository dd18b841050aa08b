"""What tactics share: the plant at a reading, the board of facts, and what a tactic answers.

The optimizer alone writes the board; a tactic reads it and reports `Evidence` when its stage ends. All places are in
internal coordinates (a bounded coordinate is [-5, 5]), all forces are gradients in them. Structures are NamedTuples, so
that JAX takes them for pytrees without registration; scalars are Python's on the host and arrays on the device.
"""

import functools
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

UNKNOWN = -1.0  # noise_std before it was measured

# What is known of f as a sum: of functions of one coordinate each, of turned ones, or of pairs of bodies; SWEPT: a sum
# whose sweeps no longer pay.
UNTESTED, COUPLED, SUM, TURNED_SUM, PAIR_SUM, SWEPT = range(6)


# What became of a basin: it is not lower than the best one; it is; it is the best one again.
NEW, LOWER, KNOWN = range(3)


@dataclass(frozen=True)
class Spec:
    """What is known before a run begins, and never changes in it."""

    dimension: int
    dtype: Any = np.float64
    values_only: bool = False  # a reading is one value, and a force is made of dimension + 1 of them
    residuals: bool = False  # a reading brings residuals and their Jacobian, too

    @functools.cached_property
    def eps(self) -> float:
        return float(np.finfo(self.dtype).eps)


class Plant(NamedTuple):
    """The plant at a reading; f is +inf and g is 0 where the reading was not finite."""

    q: Any
    p: Any
    f: Any
    g: Any
    finite: Any
    fit: Any = None  # residuals and their Jacobian, where readings bring them


class Basins(NamedTuple):
    """The archive: the best few distinct basins, in no order; a row of value +inf is empty."""

    points: Any
    values: Any
    visits: Any


class Board(NamedTuple):
    """Facts of a run. Distances are per root coordinate."""

    lower: Any
    upper: Any
    key: Any
    budget: Any  # calls of the run
    unit: Any  # calls of a reading that brings a force, as the first one shows
    readings: Any  # of the whole run, a real number
    left: Any  # of them, not spent yet
    base: Any  # bottom of the best basin so far, its value and force
    base_f: Any
    base_g: Any
    metric: Any  # inverse Hessian of the basin that became the base last; 0: not known; None: nobody tells
    fresh: Any  # whether there is a finite reading at which no basin was opened: the plant's, or that at `entry`
    entry: Any  # that place, and its value
    entry_f: Any
    interrupted: Any  # whether the last basin was left for a while, to be resumed
    scored: Any  # whether the last stage ended with a basin that was scored
    stages: Any  # ended so far: the counter of the random numbers
    escapes: Any  # basins left so far
    left_f: Any  # base_f when a basin was last left
    outcome: Any  # what became of the last basin: NEW, LOWER or KNOWN
    spread: Any  # typical difference of value between basins
    descent: Any  # distance from where the last basin was entered to its bottom
    fall: Any  # by how much f fell on that way
    mismatch: Any  # how far changes of f in the last basin were from the work of the force: 0 without noise
    predicted: Any  # decrease that was still predicted there when its stage ended
    noise_std: Any  # of a force's coordinate; negative while it is not known
    noisy: Any  # whether the force at the base is known to drown in it
    value_noise: Any  # standard deviation of a value; negative while it is not known, in runs of values alone
    value_precision: Any  # unit of the last digit of values; 0 where they look exact, negative while it is not known
    structure: Any  # one of UNTESTED, COUPLED, SUM, TURNED_SUM, PAIR_SUM and SWEPT
    small_basins: Any  # whether a basin was met that is small for the box
    reach: Any  # half-width of the box in which coordinates without bounds are searched
    tank: Any  # energy that a port may still feed in; +inf where nobody watches
    last: Any  # index of the tactic whose stage ended last
    cause: Any  # why it ended
    basins: Basins


class Draws(NamedTuple):
    """The random numbers of a stage: uniform ones in (0, 1), two more than coordinates, and normal ones."""

    uniform: Any
    normal: Any


class Offer(NamedTuple):
    """A tactic's bid for the next stage; -inf: not now. It costs about `cost` readings. A tactic that wants to be asked
    again while an interruptible stage goes on says after how many readings (`wake`; +inf: never)."""

    bid: Any
    cost: Any
    wake: Any


NOT_NOW = Offer(float("-inf"), 1.0, float("inf"))  # of a tactic that is seen at once to have nothing to bid for


class Evidence(NamedTuple):
    """What a stage leaves behind; each field updates the board by one rule (`learn` in optimizer.py)."""

    q: Any  # the lowest place that the stage vouches for
    f: Any
    g: Any
    basin: Any  # whether it is the bottom of a basin, to be scored and archived
    rebase: Any  # whether it becomes the base where it is not higher
    fresh: Any  # whether the plant is where a basin can be opened
    descent: Any
    fall: Any
    mismatch: Any
    predicted: Any
    noise_std: Any  # negative: no news
    structure: Any  # UNTESTED: no news
    value_precision: Any = UNKNOWN  # negative: no news
    value_noise: Any = UNKNOWN  # negative: no news
    metric: Any = None  # inverse Hessian there; None: no news


class Estimate(NamedTuple):
    """The best point by estimated mean, in internal coordinates, and its value as it was read."""

    q: Any
    f: Any
    mean: Any
    error: Any  # standard error of the mean


def searched(ops: Any, board: Board) -> tuple[Any, Any]:
    """The finite box in which moves are made."""
    xp = ops.xp
    return xp.maximum(board.lower, -board.reach), xp.minimum(board.upper, board.reach)


def is_noisy(ops: Any, noise_std: Any, f: Any, g: Any) -> Any:
    """Whether a force g, where the value is f, drowns in noise of this standard deviation."""
    if not ops.traced and not noise_std > 0:
        return False
    size = ops.norm(g) / g.shape[0] ** 0.5
    return ops.flag((f < np.inf) & (noise_std > NOISY * size))


def after_survey(ops: Any, board: Board, plant: Plant) -> Any:
    """Whether a basin is to be opened where a reading was made to learn something of the base: if it is lower, or if
    there is no basin to go back to."""
    away = ops.no(board.interrupted) & ops.no(board.noisy)
    return plant.finite & ((plant.f < board.base_f) | away)


def resolution(eps: float, f: Any) -> Any:
    """A change of f that can't be told from round-off."""
    return ROUND_OFF * eps * abs(f)


NOISY = 0.3  # noise as a share of the force read at the base, noise included, from which on basins are settled in
ROUND_OFF = 10.0  # units in the last place
