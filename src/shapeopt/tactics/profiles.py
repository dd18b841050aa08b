"""Profiles of a sum: where is each of its functions of one coordinate lowest?

Along a path on which all coordinates move at the same time, the force on a coordinate of a sum depends on that
coordinate alone, and its integral

    F_i(x_i) = int g_i dx_i

is the coordinate's own function up to a constant: N readings show d profiles, whatever d is. The path goes through
the whole box in one round, from the base up to the upper end and on from the lower end back to the base; or, where
`split`, in two ways from the base, since a turned coordinate that jumped would move the others. Between two readings
whose forces point at each other the bottom is that of the parabola through both.
"""

from typing import Any, NamedTuple


class Sweep(NamedTuple):
    """A sweep under way; index 0 of `low` and `place` is the first part of the path, 1 the second."""

    base: Any
    base_g: Any
    lower: Any
    upper: Any
    q: Any  # the last reading of the path
    g: Any
    height: Any  # F since the part began
    wrapped: Any  # whether a coordinate is on the second part
    low: Any  # height of the lowest place on each part
    place: Any
    steps: Any
    length: Any

    @staticmethod
    def blank(ops: Any, d: int, dtype: Any) -> "Sweep":
        zeros = lambda: ops.xp.zeros(d, dtype)  # noqa: E731
        pair, zero = ops.xp.zeros((2, d), dtype), ops.real(0.0, dtype)
        wrapped = ops.xp.zeros(d, bool)
        return Sweep(zeros(), zeros(), zeros(), zeros(), zeros(), zeros(), zeros(), wrapped, pair, pair, zero, zero)

    @staticmethod
    def begin(ops: Any, base: Any, base_g: Any, lower: Any, upper: Any, length: Any) -> "Sweep":
        """A sweep whose reading before the first one is the base."""
        xp = ops.xp
        zeros = xp.zeros_like(base)
        return Sweep(
            base=base,
            base_g=base_g,
            lower=lower,
            upper=upper,
            q=base,
            g=base_g,
            height=zeros,
            wrapped=xp.zeros(base.shape[0], bool),
            low=xp.stack([zeros, xp.full_like(base, xp.inf)]),
            place=xp.stack([base, base]),
            steps=ops.real(0.0, base.dtype),
            length=length,
        )


def sweep_target(ops: Any, sweep: Sweep, split: bool) -> tuple[Any, Any]:
    """Where the next reading is, and for which coordinates it lies on the second part of the path."""
    xp, base, lower, upper = ops.xp, sweep.base, sweep.lower, sweep.upper
    number = sweep.steps + 1.0
    if split:
        half = ops.floor(0.5 * sweep.length + 0.5)
        second = xp.broadcast_to(xp.asarray(number > half), base.shape)
        done = ops.pick(number > half, number - half, number) / half
        return base + done * (ops.where(second, lower, upper) - base), second
    ahead = base + (upper - lower) * (number / (sweep.length + 1.0))
    second = ahead > upper
    return ops.where(second, ahead - (upper - lower), ahead), second


def sweep_reading(ops: Any, sweep: Sweep, q: Any, g: Any, finite: Any, split: bool) -> Sweep:
    """The sweep after a reading of its path; one that is not finite is passed over."""
    return ops.cond(
        finite,
        lambda: _taken(ops, sweep, q, g, split),
        lambda: sweep,
    )._replace(steps=sweep.steps + 1.0)


def _taken(ops: Any, sweep: Sweep, q: Any, g: Any, split: bool) -> Sweep:
    xp = ops.xp
    second = sweep_target(ops, sweep, split)[1]
    anew = second & ~sweep.wrapped  # the second part begins: at this reading, or at the base
    q_last, g_last = (sweep.base, sweep.base_g) if split else (q, g)
    q_0, g_0 = ops.where(anew, q_last, sweep.q), ops.where(anew, g_last, sweep.g)
    h_0 = ops.where(anew, 0.0, sweep.height)
    height = h_0 + 0.5 * (g_0 + g) * (q - q_0)
    low, place = _lowest_between(ops, q_0, g_0, h_0, q, g, height)
    better = xp.array([~second & (low < sweep.low[0]), second & (low < sweep.low[1])])
    return sweep._replace(
        q=q,
        g=g,
        height=height,
        wrapped=second,
        low=ops.where(better, low, sweep.low),
        place=ops.where(better, place, sweep.place),
    )


def lowest_place(ops: Any, sweep: Sweep, split: bool) -> tuple[Any, Any]:
    """Where every coordinate is lowest (the base where nothing is lower), and the decrease of f if f is a sum."""
    low, place = sweep.low[1], sweep.place[1]
    if not split:  # a round ends where it began, which ties its two parts together
        end = sweep.height + 0.5 * (sweep.g + sweep.base_g) * (sweep.base - sweep.q)
        last = _lowest_between(ops, sweep.q, sweep.g, sweep.height, sweep.base, sweep.base_g, end)
        lower = sweep.wrapped & (last[0] < low)
        low, place = ops.where(lower, last[0], low) - end, ops.where(lower, last[1], place)
    better = sweep.wrapped & (low < sweep.low[0])
    return ops.where(better, place, sweep.place[0]), -ops.where(better, low, sweep.low[0]).sum()


def _lowest_between(ops: Any, q_0: Any, g_0: Any, h_0: Any, q: Any, g: Any, height: Any) -> tuple[Any, Any]:
    """(height, place) of the bottom between two readings, if there is one, else of the later one."""
    way = q - q_0
    between = (g_0 * way < 0) & (g * way > 0)
    part = g_0 / ops.where(between, g_0 - g, 1.0) * way
    return ops.where(between, h_0 + 0.5 * g_0 * part, height), ops.where(between, q_0 + part, q)
