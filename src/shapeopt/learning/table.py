"""The record of learning as Markdown."""

from typing import Any

import numpy as np

from ..training.table import DRAWS
from .families import DESCRIBED, REAL
from .measure import CORNERED

SHOWN = 1e-3  # target of the table
HEADS = ("family", "d_tau", "real", "trainings", "calls before", "after", "ratio", "95 % interval")
WRONG_HEADS = ("trained on", "run on", "area untrained", "trained", "ratio", "95 % interval")


def table(record: dict[str, Any]) -> str:
    """Families, and ratios of areas on wrong ones."""
    lines = _head((*HEADS, "area before", "after"))
    lines += [_line(name, one) for name, one in record["families"].items()]
    if "corner" in record:
        lines.append(_line(CORNERED, record["corner"]))
    if record.get("wrong"):
        lines += ["", *_head(WRONG_HEADS)]
    for one in record.get("wrong", ()):
        areas = f"{one['before']:.3f} | {one['after']:.3f} | {one['ratio']:.2f}"
        lines.append(f"| {one['trained_on']} | {one['run_on']} | {areas} | {one['low']:.2f} to {one['high']:.2f} |")
    if record.get("wrong"):
        lines.append(_all(np.log([one["ratio"] for one in record["wrong"]])))
    return "\n".join(lines)


def _all(logs: np.ndarray) -> str:
    """The geometric mean over pairs, with a bootstrap over them."""
    drawn = logs[np.random.default_rng(0).integers(len(logs), size=(DRAWS, len(logs)))].mean(axis=1)
    low, high = np.exp(np.quantile(drawn, [0.025, 0.975]))
    return f"| all {len(logs)} pairs, geometric mean | | | | {np.exp(logs.mean()):.2f} | {low:.2f} to {high:.2f} |"


def _head(names: tuple[str, ...]) -> list[str]:
    return [f"| {' | '.join(names)} |", "|" + "---|" * len(names)]


def _line(name: str, one: dict[str, Any]) -> str:
    row = next(row for row in one["rows"] if row["target"] == SHOWN)
    marks = ("yes" if name in DESCRIBED else "", "yes" if name in REAL else "", len(row["by_training"]))
    cells = [name, *marks, f"{row['before']:.0f}", f"{row['after']:.0f}", f"{row['ratio']:.2f}"]
    cells += [f"{row['low']:.2f} to {row['high']:.2f}", f"{one['area_before']:.3f}", f"{one['area_after']:.3f}"]
    return f"| {' | '.join(map(str, cells))} |"
