"""A table as plain data, and how its figures read."""

import enum
import math
from dataclasses import dataclass

MISSING, TIMES = "\N{EN DASH}", "\N{MULTIPLICATION SIGN}"
PLAIN_BELOW = 1e5  # figures of up to five digits before the point are easier to read than powers of ten


class Mark(enum.Enum):
    """What a test said of an entry among those of its column and group."""

    NONE = ""
    BEST = "best"  # better than each of the others
    LEADING = "leading"  # of those that can't be told from the best


@dataclass(frozen=True)
class Entry:
    """What one place of a table says; `numbers` are (figure,) or (mean, deviation), for the form that machines read."""

    text: str
    mark: Mark = Mark.NONE
    numbers: tuple[float, ...] = ()


@dataclass(frozen=True)
class Group:
    """Rows under one heading, among which entries are marked; "" for none."""

    heading: str
    rows: tuple[tuple[Entry, ...], ...]


@dataclass(frozen=True)
class Table:
    """A titled table with as many entries a row as it has columns; `notes` stand below it."""

    name: str
    title: str
    columns: tuple[str, ...]
    groups: tuple[Group, ...]
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if len(set(self.columns)) < len(self.columns):
            raise ValueError(f"`columns` must have distinct names; got {self.columns}.")
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(f"`groups` must have {len(self.columns)} entries a row; got {len(row)} in {row}.")

    @property
    def rows(self) -> list[tuple[Entry, ...]]:
        return [row for group in self.groups for row in group.rows]

    @property
    def headed(self) -> bool:
        return any(group.heading for group in self.groups)

    @property
    def marked(self) -> bool:
        return any(entry.mark is not Mark.NONE for row in self.rows for entry in row)


def words(*texts: str) -> tuple[Entry, ...]:
    """Entries of plain text."""
    return tuple(Entry(text) for text in texts)


def number(value: float, digits: int = 3) -> str:
    """A figure with so many digits: 0.0120, 1234, 1.23e-9; a dash where it is not known, ∞ where it has no bound."""
    if math.isnan(value):
        return MISSING
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    if 100 <= abs(value) < PLAIN_BELOW:
        return f"{value:.0f}"
    mantissa, _, exponent = f"{value:#.{digits}g}".partition("e")
    return f"{mantissa.rstrip('.')}e{int(exponent)}" if exponent else mantissa.rstrip(".")


def as_printed(value: float) -> str:
    """A figure with the digits that it was typed with, but for zeros at the end."""
    mantissa, _, exponent = f"{value:.10g}".partition("e")
    return f"{mantissa}e{int(exponent)}" if exponent else mantissa


def mean_and_deviation(mean: float, deviation: float | None, mark: Mark = Mark.NONE) -> Entry:
    """An entry "mean ± deviation"; the deviation is left out where there is none."""
    if deviation is None or math.isnan(mean):
        return Entry(number(mean), mark, () if math.isnan(mean) else (mean,))
    return Entry(f"{number(mean)} ± {number(deviation, 2)}", mark, (mean, deviation))
