"""The page about one run: what it read, why it moved, where its energy went, what it found."""

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.fingerprint import versions
from ..core.tree import flatten
from .folder import check_folder, numbers, write_page
from .scenes import make_scene
from .view import Frame, View, extent, make_view, surface, surface_of_readings
from .words import CAUSES, MODES, TERMS

if TYPE_CHECKING:
    from ..tasks import AbstractTask

MINIMA_SHOWN = 60
READINGS_SHOWN = 5000  # of a longer run, every n-th is drawn
COORDINATES_SHOWN = 200  # of a minimum
DIGITS = 17  # with which a double comes back as it was


@dataclass(frozen=True)
class Subject:
    """What a run was about: how its page is headed, its settings, where it started and stayed.

    `task` is the objective if it may be evaluated freely, as a built-in family's may; a user's function may not.
    """

    title: str
    settings: Mapping[str, Any]
    x0: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    task: "AbstractTask | None" = None
    seed: int = 0
    budget: int = 0
    particles: int = 1
    versions: Mapping[str, str] = field(default_factory=versions)


def write_run_report(
    folder: str | os.PathLike[str], result: Mapping[str, Any], subject: Subject, rivals: bool = True
) -> Path:
    """Write the page about `result`, as `minimize` returns it; returns the page's path.

    `rivals` lets SciPy's methods try the same task, where it may be evaluated freely.
    """
    path = check_folder(folder)
    data = run_data(result, subject, rivals)
    words = {
        "modes": {mode: MODES[mode] for mode in MODES if mode in set(result["trace"]["mode"])},
        "causes": _causes(result["events"]),
        "terms": {term.replace("_", " "): TERMS[term] for term in TERMS if term in data["energy"]},
        "facts": _facts(result, subject),
        "settings": _settings(result, subject),
        "versions": subject.versions,
        "minima": data["minima"],
        "best": _copied(result["x"]),
        "hidden": max(len(result["minima"]) - MINIMA_SHOWN, 0),
        "message": result["message"],
        "about_view": data["view"]["about"],
        "scene": _scene_words(data["scene"]),
        "stages": len(data["stages"]),
        "rivals": bool(data["rivals"]),
        "may_evaluate": subject.task is not None,
    }
    return write_page(path, "run.html", "run.js", subject.title, words, data)


def run_data(result: Mapping[str, Any], subject: Subject, rivals: bool = True) -> dict[str, Any]:
    """All that the page's script draws."""
    trace = result["trace"]
    rows = len(trace["value"])
    kept = np.arange(0, rows, max(-(-rows // READINGS_SHOWN), subject.particles))
    kept = np.arange(rows) if rows <= READINGS_SHOWN else kept
    minima = result["minima"][:MINIMA_SHOWN]
    places = np.array([_flat(one["x"]) for one in minima]).reshape(len(minima), subject.x0.size)
    frame = Frame.of(subject.lower, subject.upper, subject.x0, by_values=not result.get("njev", True))
    view = make_view(frame, _points(trace, subject)[kept], places)
    known = float("nan") if subject.task is None else float(subject.task.minimum)
    shown = _view(view, trace, kept, places, subject)
    stages = result.get("stages", ()) if shown["grid"] is not None else ()  # there is nothing to draw them on
    return {
        "title": subject.title,
        "calls": np.asarray(trace["calls"])[kept].tolist(),
        "value": numbers(np.asarray(trace["value"])[kept]),
        "best": numbers(np.asarray(trace["best"])[kept]),
        "mode": [str(mode) for mode in np.asarray(trace["mode"])[kept]],
        "minimum": numbers(known),
        "particles": subject.particles,
        "rivals": _rivals(subject) if rivals else [],
        "view": shown,
        "segments": _segments(result["events"], np.asarray(trace["calls"]), kept, subject.particles),
        "stages": [_stage(view, stage) for stage in stages],
        "energy": _energy(result.get("energy", {}), kept, rows),
        "minima": _minima(minima, places, view),
        "scene": make_scene(subject.task, places) if len(places) else None,
    }


def _flat(x: Any) -> np.ndarray:
    """A point as one vector, whatever structure the user gave it."""
    return np.concatenate([np.asarray(leaf, float).ravel() for leaf in flatten(x)[0]])


def _points(trace: Mapping[str, Any], subject: Subject) -> np.ndarray:
    """Where each reading was made; nan where a run was too large for its points to be kept."""
    if "x" in trace:
        return np.asarray(trace["x"], float)
    return np.full((len(trace["value"]), subject.x0.size), np.nan)


def _rivals(subject: Subject) -> list[dict[str, Any]]:
    from .rivals import rival_curves

    if subject.task is None:
        return []
    curves = rival_curves(subject.task, subject.x0, subject.budget, subject.seed)
    return [{"name": one["name"], "calls": one["calls"].tolist(), "best": numbers(one["best"])} for one in curves]


def _view(
    view: View, trace: Mapping[str, Any], kept: np.ndarray, places: np.ndarray, subject: Subject
) -> dict[str, Any]:
    """Readings, their distance from the plane, and the landscape, in the coordinates that are shown."""
    points, values = _points(trace, subject)[kept], np.asarray(trace["value"], float)[kept]
    there = np.isfinite(points).all(axis=1)
    shown, away = view.project(points)
    marks = view.project(places)[0] if len(places) else np.zeros((0, shown.shape[1]))
    area = extent(view, shown[there], marks if len(marks) or there.any() else np.zeros((1, shown.shape[1])))
    grid: Mapping[str, np.ndarray] | None = None
    source = "" if subject.task is None else "the task itself"
    if subject.task is not None:
        grid = surface(subject.task, view, area)
    elif len(view.labels) == 2 and view.frame.centre.size == 2:
        grid = surface_of_readings(shown[there], values[there], area)
        source = "" if grid is None else "the readings alone"
    return {
        "labels": list(view.labels),
        "about": view.about,
        "source": source,
        "points": numbers(shown, 5),
        "away": numbers(np.sqrt(away), 3),
        "stretch": numbers(view.stretch),
        "area": numbers(area.T, 5),
        "grid": None if grid is None else {name: numbers(part, 4) for name, part in grid.items()},
    }


def _segments(
    events: Sequence[Mapping[str, Any]], calls: np.ndarray, kept: np.ndarray, particles: int
) -> list[dict[str, Any]]:
    """One entry a stage: its readings (indices into what is drawn), and the event that ended it."""
    begun, segments = dict.fromkeys(range(particles), 0), []
    for event in events:
        row = int(np.searchsorted(calls, event["call"]))
        particle = row % particles
        if row < begun[particle] and event["cause"] == "budget":
            continue  # the last stage ended on the last call
        first, last = (int(np.searchsorted(kept, place)) for place in (max(begun[particle], particle), row))
        segments.append(
            {
                "first": min(first, len(kept) - 1),
                "last": min(last, len(kept) - 1),
                "after": int(calls[begun[particle] - particles]) if begun[particle] >= particles else 0,
                "call": int(event["call"]),
                "mode": event["mode"],
                "tactic": event.get("tactic", event["mode"]),
                "phase": event.get("phase", ""),
                "cause": event["cause"],
                "value": numbers(event["value"]),
                "best": numbers(event["best"]),
            }
        )
        begun[particle] = row + particles
    return segments


def _stage(view: View, stage: Mapping[str, Any]) -> dict[str, Any]:
    """A stage's potential as it is on the plane: every centre is a place on it and a squared distance from it."""

    def centres(rows: Sequence[Any]) -> list[Any]:
        return [[*_placed(view, point), *numbers([height, width])] for point, height, width in rows]

    return {
        "call": stage["call"],
        "mode": stage["mode"],
        "kappa": numbers(stage["kappa"]),
        "anchor": _placed(view, stage["q_bar"]),
        "memory": centres(stage["memory"]),
        "barrier": centres(stage["barrier"]),
    }


def _placed(view: View, point: Any) -> list[float]:
    shown, away = view.project(np.asarray(point, float)[None])
    return [*numbers(shown[0]), numbers(away[0])]


def _energy(energy: Mapping[str, Any], kept: np.ndarray, rows: int) -> dict[str, Any]:
    """The ledger's terms, summed between the readings that are drawn."""
    names = [name for name in (*TERMS, "delta_H") if name in energy and len(energy[name]) == rows]
    finite = {name: np.nan_to_num(np.asarray(energy[name], float), nan=0.0, posinf=0.0, neginf=0.0) for name in names}
    return {name: numbers(np.add.reduceat(terms, kept)) for name, terms in finite.items()} if rows else {}


def _minima(minima: Sequence[Mapping[str, Any]], places: np.ndarray, view: View) -> list[dict[str, Any]]:
    if not len(places):
        return []
    shown, _ = view.project(places)
    apart = np.linalg.norm(places - places[0], axis=1)
    return [
        {
            "fun": numbers(float(one["fun"]), DIGITS),
            "visits": int(one["visits"]),
            "distance": numbers(float(apart[i]), 4),
            "x": numbers(places[i][:COORDINATES_SHOWN], DIGITS),
            "size": places.shape[1],
            "at": numbers(shown[i], 5),
        }
        for i, one in enumerate(minima)
    ]


def _left(events: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The events that left a basin, as the summary in a terminal counts them."""
    return [event for event in events if event["mode"] != "escape" and event["cause"] != "budget"]


def _causes(events: Sequence[Mapping[str, Any]]) -> list[tuple[str, int, str]]:
    """(cause, times, what it means) of the events that left a basin, the most frequent first."""
    counts = Counter(event["cause"] for event in _left(events))
    return [(cause, times, CAUSES.get(cause, "")) for cause, times in counts.most_common()]


def _copied(x: Any) -> str:
    """A point as Python reads it back, to the last digit."""
    leaves = [np.asarray(leaf, float) for leaf in flatten(x)[0]]
    return repr(leaves[0].tolist() if len(leaves) == 1 else [leaf.tolist() for leaf in leaves])


def _facts(result: Mapping[str, Any], subject: Subject) -> list[tuple[str, str, str]]:
    """(label, figure, remark) of the cards at the top."""
    known = float("nan") if subject.task is None else float(subject.task.minimum)
    gap = f"{result['fun'] - known:.3g} above the known minimum" if np.isfinite(known) else "the lowest value read"
    left = _left(result["events"])
    best = np.asarray(result["trace"]["best"], float)
    improved = np.flatnonzero(best < np.concatenate([[np.inf], best[:-1]]))
    last = int(np.asarray(result["trace"]["calls"])[improved[-1]]) if len(improved) else 0
    facts = [
        ("best value", f"{result['fun']:.10g}", gap),
        ("calls", f"{result['nfev']:,}", f"the last improvement at call {last:,}"),
        ("distinct minima", f"{len(result['minima'])}", "basins whose bottoms are known"),
        ("basins left", f"{len(left)}", _most(left)),
    ]
    if result.get("confidence"):
        facts.insert(2, ("confidence", f"{result['confidence']:.0%}", "that no better basin is unseen"))
    return facts


def _most(left: Sequence[Mapping[str, Any]]) -> str:
    if not left:
        return "the run stayed where it began"
    cause, times = Counter(event["cause"] for event in left).most_common(1)[0]
    return f"{times} of them: {cause}"


def _settings(result: Mapping[str, Any], subject: Subject) -> list[tuple[str, str]]:
    rows = {**subject.settings, "dimension": subject.x0.size, "readings with a gradient": result["njev"]}
    return [(name, _said(value)) for name, value in rows.items() if value is not None]


def _said(value: Any) -> str:
    if isinstance(value, np.ndarray | list | tuple):
        flat = np.ravel(np.asarray(value, float))
        if flat.size and np.all(flat == flat[0]) and flat.size > 1:
            return f"{flat[0]:g} in every coordinate"
        words = [f"{number:.6g}" for number in flat[:8]]
        return ", ".join(words) + (f", ... ({flat.size} numbers)" if flat.size > 8 else "")
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _scene_words(scene: Mapping[str, Any] | None) -> tuple[str, str] | None:
    return None if scene is None else SCENES[scene["kind"]]


SCENES = {
    "cluster": ("The cluster", "Atoms at the chosen minimum; sticks join neighbours. Drag to turn, scroll to zoom."),
    "path": ("The trajectory", "The path of the chosen minimum from its start to the goal, among the obstacles."),
    "motion": ("The motion", "States that the chosen minimum's controls lead through, and the controls themselves."),
    "signal": ("The signal", "The chosen minimum beside the signal that was measured, up to the sign."),
}
