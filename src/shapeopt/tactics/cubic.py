"""The minimum of a cubic along a step, from values and slopes at both ends (Nocedal and Wright, section 3.5)."""

from typing import Any

INF = float("inf")


def cubic_minimum(ops: Any, slope: Any, rise: Any, slope_end: Any) -> Any:
    """Minimum in t of the cubic with value 0 and `slope` at t = 0, `rise` and `slope_end` at t = 1; else 1/4."""
    z = slope + slope_end - 3.0 * rise
    square = z * z - slope * slope_end
    root = ops.sqrt(square)
    bottom = slope_end - slope + 2.0 * root
    sound = (square >= 0) & (bottom != 0)
    t = 1.0 - (slope_end + root - z) / ops.pick(sound, bottom, 1.0)
    return ops.pick(sound & (abs(t) < INF), t, 0.25)
