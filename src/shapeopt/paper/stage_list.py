"""What shaped the stages of a run, for people: `result.stages`."""

from typing import Any

import numpy as np

from ..core.result import MODE_NAMES, Result, RunRecord

# The leaves of a `ShapedPotential`: its anchor, and the centres of memory and barrier.
SHAPING_COLUMNS = (
    "q_bar",
    "kappa",
    "memory_points",
    "memory_heights",
    "memory_widths",
    "barrier_points",
    "barrier_heights",
    "barrier_widths",
)


def list_stages(record: RunRecord, box: Any, particles: int) -> list[Result] | None:
    """What shaped each stage: U_shp as it was when the stage began; None where it was not kept.

    A distance is |(x - x_bar) / scale|, so that `kappa`, heights and widths are those of `ShapedPotential`; points are
    flat and in the user's coordinates. Only centres that act are listed: (point, height, width).
    """
    if "q_bar" not in record:
        return None
    codes, calls = record.column("mode").astype(int), record.column("calls").astype(int)
    begun = np.flatnonzero(record.column("cause").astype(int))
    begun = begun[begun + particles < len(codes)]
    anchors, memory, barrier = (_outward(record, name, begun, box) for name in ("q_bar", "memory", "barrier"))
    modes, kappas = codes[begun + particles].tolist(), record.column("kappa")[begun].tolist()
    rows = zip(calls[begun].tolist(), modes, anchors, kappas, memory, barrier, strict=True)
    return [
        Result(
            call=call, mode=MODE_NAMES[mode], q_bar=anchor, kappa=kappa, memory=near, barrier=barred, scale=box.scale
        )
        for call, mode, anchor, kappa, near, barred in rows
    ]


def _outward(record: RunRecord, name: str, rows: np.ndarray, box: Any) -> list[Any]:
    """Anchors, or the centres of a term that act, of the readings `rows`, in the user's coordinates."""
    if name == "q_bar":
        return list(box.centre + box.scale * record.column(name)[rows])
    heights, widths = (record.column(f"{name}_{part}")[rows] for part in ("heights", "widths"))
    if not heights.size:
        return [[] for _ in rows]
    points = box.centre + box.scale * record.column(f"{name}_points")[rows]
    acting = [np.flatnonzero(row) for row in heights]
    return [[(points[i, j], float(heights[i, j]), float(widths[i, j])) for j in row] for i, row in enumerate(acting)]
