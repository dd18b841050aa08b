"""A run as `shapeopt minimize --json` wrote it, read back."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from ..core.result import Result
from .folder import ReportError

NEEDED = ("about", "fun", "nfev", "njev", "message", "minima", "events", "trace")


def load_run(path: Path) -> tuple[dict[str, Any], Result]:
    """(the run's settings, its result); refuses a file that is no saved run."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise ReportError(f"{path} is no saved run: {error}") from error
    missing = [name for name in NEEDED if not isinstance(content, dict) or name not in content]
    if missing:
        raise ReportError(f"{path} is no saved run of `shapeopt minimize --json`: it lacks {', '.join(missing)}.")
    if "x" not in content["trace"] or "lower" not in content["about"]:
        raise ReportError(f"{path} was written by a version that kept too little; run it again.")
    about = content.pop("about")
    content["trace"] = {name: _column(name, rows) for name, rows in content["trace"].items()}
    content["energy"] = {name: _column(name, rows) for name, rows in content.get("energy", {}).items()}
    for event in content["events"]:
        event.update({name: _number(event[name]) for name in ("before", "value", "best") if name in event})
    return about, Result(content)


def _column(name: str, rows: Any) -> np.ndarray:
    """A column of the record; null is what JSON makes of a number that is not finite."""
    return np.array(rows, str if name in ("mode", "tactic") else int if name == "calls" else float)


def _number(value: float | None) -> float:
    return float("nan") if value is None else value
