"""The page about a folder of comparisons: every cell's curves, and who stands where."""

import os
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..bench.digest import natural, place_title, reading_order
from ..bench.profiles import Targets, ecdf, quantile_gap_at
from ..bench.records import Record
from .folder import ReportError, check_folder, numbers, write_page

POINTS = 60  # of a curve
FLOOR = 1e-10  # gaps below are drawn here
SHARES = (0.25, 0.5, 0.75)


def write_bench_report(folder: str | os.PathLike[str], records: Iterable[Record], title: str) -> Path:
    """Write the page about `records`, which come cell by cell, as `load_records` gives them; returns its path.

    One record's curves are held at a time.
    """
    path = check_folder(folder)
    cells: dict[tuple[str, str], dict[str, Any]] = {}
    versions: dict[str, set[str]] = defaultdict(set)
    for record in records:
        cell = cells.setdefault((record.protocol, record.cell["name"]), _cell(record))
        cell["methods"].append(_curve(record))
        for name, version in record.versions.items():
            versions[name].add(version)
    if not cells:
        raise ReportError("`records` must have something to show; got none.")
    ordered = [cells[key] for key in sorted(cells, key=lambda key: (key[0], natural(key[1])))]
    for cell in ordered:
        cell["methods"].sort(key=lambda one: reading_order(one["name"]))
    methods = sorted({one["name"] for cell in ordered for one in cell["methods"]}, key=reading_order)
    words = {
        "cells": ordered,
        "protocols": list(dict.fromkeys(cell["protocol"] for cell in ordered)),
        "standings": _standings(ordered),
        "records": sum(len(cell["methods"]) for cell in ordered),
        "versions": {name: ", ".join(sorted(found)) for name, found in versions.items()},
        "methods": methods,
    }
    return write_page(path, "bench.html", "bench.js", title, words, {"cells": ordered, "methods": methods})


def _cell(record: Record) -> dict[str, Any]:
    cell = record.cell
    return {
        "protocol": record.protocol,
        "name": place_title(cell),
        "budget": cell["budget"],
        "tasks": cell["tasks"],
        "starts": cell["starts"],
        "seed": record.seed,
        "calls": np.unique(np.geomspace(1, cell["budget"], POINTS).round().astype(int)).tolist(),
        "methods": [],
    }


def _curve(record: Record) -> dict[str, Any]:
    """A method's quartiles of the best gap, its share of targets, and its seconds."""
    calls = np.unique(np.geomspace(1, record.cell["budget"], POINTS).round().astype(int))
    gaps = [quantile_gap_at({"": record.curves}, list(calls), share)[""] for share in SHARES]
    low, middle, high = (np.where(np.isfinite(gap), np.maximum(gap, FLOOR), np.nan) for gap in gaps)
    return {
        "name": record.method,
        "low": numbers(low, 3),
        "gap": numbers(middle, 4),
        "high": numbers(high, 3),
        "targets": numbers(ecdf(record.curves, Targets())[calls - 1], 3),
        "end": numbers(float(gaps[1][-1]), 4),
    }


def _standings(cells: Iterable[Mapping[str, Any]]) -> list[tuple[str, str, int, int, str]]:
    """(protocol, method, cells, cells where no method ends lower, mean share of targets), best first in a protocol."""
    found: dict[tuple[str, str], list[tuple[bool, float]]] = defaultdict(list)
    for cell in cells:
        ends = [max(one["end"], FLOOR) for one in cell["methods"] if one["end"] is not None]
        for one in cell["methods"]:
            first = one["end"] is not None and bool(ends) and max(one["end"], FLOOR) <= min(ends)
            found[cell["protocol"], one["name"]].append((first, one["targets"][-1] or 0.0))
    rows = [
        (protocol, method, len(parts), sum(first for first, _ in parts), float(np.mean([share for _, share in parts])))
        for (protocol, method), parts in found.items()
    ]
    rows.sort(key=lambda row: (row[0], -row[4]))
    return [(*row[:4], f"{row[4]:.3f}") for row in rows]
