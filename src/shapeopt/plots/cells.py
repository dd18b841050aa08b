"""Records as pictures take them: cell by cell, so that only one cell's curves are held at a time."""

import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..bench.curves import Curves
from ..bench.records import Record


@dataclass(frozen=True)
class Drawn:
    """A cell's description, and the curves of the methods that ran on it."""

    cell: Mapping[str, Any]
    curves: Mapping[str, Curves]


def cells_of(records: Iterable[Record]) -> Iterator[Drawn]:
    """Cells in the order of the records, which must come cell by cell, as `load_records` gives them."""
    seen: set[tuple[str, str]] = set()
    for key, group in itertools.groupby(records, lambda record: (record.protocol, record.cell["name"])):
        if key in seen:
            raise ValueError(f"`records` must come cell by cell; got {key[1]} in two places.")
        seen.add(key)
        together = list(group)
        yield Drawn(together[0].cell, {record.method: record.curves for record in together})


def whole(counts: Mapping[str, int], cells: int) -> list[str]:
    """Methods that have every cell: over fewer, and so perhaps easier ones, nobody can be compared."""
    return [method for method, count in counts.items() if count == cells]
