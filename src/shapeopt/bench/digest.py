"""A record in short: what tables and comparisons are made of, small enough that those of a whole folder fit."""

import functools
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .layout import TIMES
from .methods import list_methods
from .metrics import lowest_gap, summarise
from .profiles import Targets, area, ecdf
from .records import Record, RecordError

QUICK = "-quick"  # how `Protocol.quick` ends the name of a protocol


@dataclass(frozen=True, eq=False)
class Digest:
    """One method on one cell: every metric, one number a task; the lowest gap of all runs; the areas under the ECDF
    over the logarithm of calls and over calls."""

    protocol: str
    cell: Mapping[str, Any]  # `Cell.describe()`
    method: str
    seed: int
    values: Mapping[str, np.ndarray]
    lowest: float
    area: float
    area_over_calls: float
    versions: Mapping[str, str]

    @property
    def place(self) -> str:
        return self.cell["name"]


def digest(record: Record) -> Digest:
    """A record without its curves."""
    lowest, profile = lowest_gap(record.curves), ecdf(record.curves, Targets())
    return Digest(
        protocol=record.protocol,
        cell=record.cell,
        method=record.method,
        seed=record.seed,
        values=summarise(record.curves, record.rule),
        lowest=float("nan") if np.isnan(lowest).all() else float(np.nanmin(lowest)),
        area=area(profile),
        area_over_calls=area(profile, log_calls=False),
        versions=record.versions,
    )


def digests(records: Iterable[Record]) -> list[Digest]:
    """All of them; of the records, only one at a time is held."""
    return [digest(record) for record in records]


def by_cell(found: Iterable[Digest]) -> dict[str, dict[str, Digest]]:
    """Cell -> method -> digest, in the order that people read; refuses methods that ran on different things."""
    cells: dict[str, dict[str, Digest]] = {}
    for one in sorted(found, key=lambda one: (natural(one.place), reading_order(one.method))):
        methods = cells.setdefault(one.place, {})
        _require_same_runs(one, methods)
        methods[one.method] = one
    return cells


def methods_of(found: Iterable[Digest]) -> list[str]:
    return sorted({one.method for one in found}, key=reading_order)


def natural(name: str) -> tuple[Any, ...]:
    """A key that sorts ackley-2 before ackley-20 before ackley-100."""
    return tuple((0, int(part), "") if part.isdigit() else (1, 0, part) for part in re.split(r"(\d+)", name))


def reading_order(method: str) -> tuple[int, str]:
    """A key that sorts shipped policies first, then methods brought, then baselines and peers by their tables."""
    known = _known_methods()
    if method in known:
        return (0 if known[method] == "policy" else 2 + list(known).index(method), method)
    return (1, method)


def cell_title(cell: Mapping[str, Any]) -> str:
    """A cell's name for people: "ackley 20, box, noise0.2, 500 calls, 64 tasks"."""
    starts = f" {TIMES} {cell['starts']} starts" if cell["starts"] > 1 else ""
    return f"{place_title(cell)}, {cell['budget']} calls, {cell['tasks']} tasks{starts}"


def place_title(cell: Mapping[str, Any]) -> str:
    """The same without calls and tasks."""
    family, d = cell["family"], cell["dimension"]
    options = cell["name"].removeprefix(f"{family}-{d}").removesuffix(f"-{cell['budget']}")
    return ", ".join(filter(None, [f"{family} {d}", *options.split("-")]))


@functools.cache
def _known_methods() -> Mapping[str, str]:
    return list_methods()


def _require_same_runs(one: Digest, methods: Mapping[str, Digest]) -> None:
    if one.method in methods:
        raise RecordError(f"`records` must have each method once a cell; got {one.method} twice on {one.place}.")
    for other in methods.values():
        if (one.cell, one.seed) != (other.cell, other.seed):
            raise RecordError(
                f"`records` of {one.place} must come from the same tasks and settings; {one.method} (seed {one.seed}) "
                f"and {other.method} (seed {other.seed}) do not."
            )
