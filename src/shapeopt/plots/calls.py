"""Calls before and after training: the share of held-out problems that are solved, and problem by problem."""

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from .style import COLOURS, FIRST, Look, NothingToDraw, add_legend, panels, styled, tidy


def draw_calls(before: Any, after: Any, budget: int, share: float = 1e-3) -> Figure:
    """On the left the share of problems solved by a number of calls; on the right each problem's calls, below the line
    where training has saved some.

    Arguments:
        before, after: calls of the untrained and of the trained policy on the same problems; unsolved: above the
            budget.
        budget: calls of a run.
        share: of the start's gap, at which a problem counts as solved.
    """
    if not len(before) or len(before) != len(after):
        raise NothingToDraw("`before` and `after` must be calls on the same problems; got none, or different numbers.")
    looks = {"untrained": Look(FIRST, "-", 1.2, 2.0), "trained": Look(COLOURS[0], "-", 1.6, 3.0)}
    with styled():
        figure, (left, right) = panels([2], height=1.9, names=len(looks))
        for look, calls in zip(looks.values(), (before, after), strict=True):
            _solved(left, np.asarray(calls), budget, look)
        left.set(xscale="log", xlim=(1, budget), ylim=(0, 1.02), xlabel="calls", ylabel="share of problems solved")
        ends = (1.0, 1.3 * budget)
        right.plot(ends, ends, color="#BBBBBB", lw=0.6)
        right.plot(ends, [0.5 * end for end in ends], color="#BBBBBB", lw=0.6, ls=(0, (3, 2)))
        right.plot(before, after, "o", ms=2.5, color=COLOURS[0], alpha=0.7, mew=0)
        right.set(xscale="log", yscale="log", xlim=ends, ylim=ends, xlabel="calls, untrained", ylabel="calls, trained")
        right.set_title(f"gap {share:g}; dashed: half", fontsize=6)
        for axes in (left, right):
            tidy(axes)
        add_legend(figure, looks, list(looks), [])
        return figure


def _solved(axes: Any, calls: np.ndarray, budget: int, look: Look) -> None:
    done = np.sort(calls[calls <= budget])
    steps = np.arange(1, len(done) + 1) / len(calls)
    axes.step(
        np.concatenate([[1], done, [budget]]),
        np.concatenate([[0], steps, steps[-1:] if len(done) else [0]]),
        where="post",
        **vars(look),
    )
