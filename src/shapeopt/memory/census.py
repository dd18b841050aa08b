"""How often known basins were met again, and what it says of a better one that was not seen.

A meeting is a basin that was left: at its bottom, since it was known, or since it could not beat the best one. Basins
are told apart by the value at their bottom, so that copies of one by a symmetry are one. After a meeting,

    k  meetings with the best basin since it was found
    m  meetings with any basin since then: none of them was better
    r  how often a basin was found that was better than all before it

A better basin that is met with the share p of the chance of the best one stays unseen for k meetings of the best with
the chance (1 + p)^-k, and for m meetings in all with about (1 - p)^m. Averaged over shares that are spread evenly on a
logarithmic scale, both fall as powers of k and m; a landscape on which r grew has more to come. The posterior odds that
no better basin is unseen are therefore

    odds = ODDS (1 + k)^BEST (1 + m)^ANY (1 + r)^-FOUND

in place of the posterior of Boender and Rinnooy Kan (1987), whose meetings are independent and uniform starts, which
hops around the best basin are not, and which counts all unseen basins, not the better ones. The four numbers are fitted
to runs on the `dev` halves of the suites (benchmarks/confidence.py).

Departs from the paper: it says nothing of basins that were not seen.
"""

import math
from dataclasses import dataclass

from ..core.codes import Cause

ODDS, BEST, ANY, FOUND = 1.0, 0.8, 0.4, 0.8
SAME_VALUE = 1e-6  # difference of two bottoms, as a share of the size of values and of their range, that is none
REVISIT = int(Cause.REVISIT)
MEETINGS = (int(Cause.CONVERGED), REVISIT, int(Cause.HOPELESS))


@dataclass
class Census:
    """The meetings of a run so far."""

    best: float = math.inf  # value at the bottom of the best basin
    highest: float = -math.inf  # of all basins that were left
    again: int = 0  # k
    since: int = 0  # m
    found: int = 0  # r

    def add(self, cause: int, value: float) -> None:
        """A basin was left at `value`, the lowest one that was read in it."""
        if cause not in MEETINGS or not math.isfinite(value):
            return
        self.highest = max(self.highest, value)
        if value < self.best - self._same(value):
            self.found, self.again, self.since = self.found + 1, 0, 0
        else:
            known = cause == REVISIT or value <= self.best + self._same(value)
            self.again, self.since = self.again + known, self.since + 1
        self.best = min(self.best, value)

    @property
    def confidence(self) -> float:
        """The probability that no better basin is unseen; 0 before the first meeting."""
        if not self.found:
            return 0.0
        odds = ODDS * (1 + self.again) ** BEST * (1 + self.since) ** ANY * (1 + self.found) ** -FOUND
        return odds / (1.0 + odds)

    def _same(self, value: float) -> float:
        if not math.isfinite(self.best):
            return 0.0
        return SAME_VALUE * max(min(abs(value), abs(self.best)), self.highest - self.best)
