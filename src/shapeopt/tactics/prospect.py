"""How far descents still fall: a logistic law of log R, learned over the descents of a run.

R is the decrease that was still to come when a descent was a few readings old, as a multiple of what it could expect
then (the larger of its last decrease and the next predicted one). Mean and scale begin with a prior and move with every
descent that has converged; a logistic scale is the mean deviation over 2 log 2.
"""

from typing import Any, NamedTuple

INF = float("inf")
LEAST_R = 1e-3
MEAN_DEVIATION = 1.386  # of a logistic distribution, in its scale: 2 log 2


class Prospect(NamedTuple):
    """The mean and the scale of log R, over how many descents, and what was noted of the descent under way."""

    mean: Any
    scale: Any
    count: Any
    f: Any  # of the descent under way, when it was noted: its value,
    next: Any  # and what R is a multiple of

    def exceeded(self, ops: Any, odds: Any) -> Any:
        """The multiple R that is exceeded with odds of one to `odds`."""
        return ops.exp(self.mean + self.scale * ops.log(odds))

    def noted(self, ops: Any, f: Any, next_: Any, young: Any, now: Any) -> "Prospect":
        """With a descent at value f that expects `next_`: noted where `now`, and still to be noted where `young`."""
        return self._replace(f=ops.pick(now, f, ops.pick(young, INF, self.f)), next=ops.pick(now, next_, self.next))

    def learned(self, ops: Any, f: Any, converged: Any) -> "Prospect":
        """With the descent that was noted, if it has converged, at value f."""
        R = ops.log(ops.over(ops.max(self.f - f, 0.0), self.next) + LEAST_R)
        count = self.count + 1.0
        told = converged & (self.f < INF)
        mean = self.mean + (R - self.mean) / count
        scale = self.scale + (abs(R - self.mean) / MEAN_DEVIATION - self.scale) / count
        mean, scale, count = ops.pick(told, (mean, scale, count), (self.mean, self.scale, self.count))
        return Prospect(mean, scale, count, self.f, self.next)
