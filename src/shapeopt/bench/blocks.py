"""Tables of methods by metrics, one block of rows a cell; figures of a reference can stand in columns of their own."""

import dataclasses
import enum
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from .digest import Digest, by_cell, cell_title
from .layout import MISSING, Entry, Group, Mark, Table, mean_and_deviation, words
from .marks import leaders
from .metrics import METRICS, Better
from .statistics import spread

MEASURED = "Mean ± standard deviation over tasks, each task's number being the mean over its starts."


class Statistic(enum.Enum):
    """How many tasks' numbers become one."""

    MEAN = ""
    MEDIAN = ", median"
    LOWEST = ", best run"


@dataclass(frozen=True)
class Column:
    """A metric as a table shows it; `reference` is what a reference calls it, "" where it has no such figure."""

    metric: str
    reference: str = ""
    statistic: Statistic = Statistic.MEAN
    judged: bool = True  # whether its entries are compared; only means are

    def __post_init__(self) -> None:
        if self.metric not in METRICS:
            raise ValueError(f"`metric` must be one of {', '.join(METRICS)}; got {self.metric!r}.")
        if self.statistic is Statistic.LOWEST and self.metric != "lowest_gap":
            raise ValueError(f"`statistic` of the lowest run is kept for lowest_gap alone; got {self.metric!r}.")

    @property
    def head(self) -> str:
        metric = METRICS[self.metric]
        return f"{metric.label}{self.statistic.value} {'↓' if metric.better is Better.LOWER else '↑'}"

    @property
    def reference_head(self) -> str:
        plain = self.reference.removesuffix("_median").removesuffix("_lowest")
        return f"{METRICS[plain].label}{self.statistic.value}"


@dataclass(frozen=True)
class Reference:
    """Published figures that are laid beside measured ones: the word their columns begin with, what is said of them
    below, and the entry of a method on a cell by the reference's name of a metric (`MISSING` where there is none)."""

    title: str
    note: str
    entry: Callable[[Digest, str], Entry]


def full_table(
    name: str,
    title: str,
    found: Sequence[Digest],
    columns: Sequence[Column],
    seed: int,
    notes: Sequence[str] = (),
    reference: Reference | None = None,
) -> Table:
    """Every method on every cell of `found`; columns of which nothing is known are left out."""
    cells = by_cell(found)
    shown = [column for column in columns if any(entry(one, column).text != MISSING for one in found)]
    beside = {
        column
        for column in shown
        if reference is not None and any(reference.entry(one, column.reference).text != MISSING for one in found)
    }
    heads = [head for column in shown for head in (column.head, *_beside(column, reference, beside))]
    said = (MEASURED, *((reference.note,) if reference is not None and beside else ()), *filter(None, notes))
    return Table(
        name=name,
        title=title,
        columns=("Method", *heads),
        groups=tuple(_block(methods, shown, beside, reference, seed) for methods in cells.values()),
        notes=said if found else tuple(filter(None, notes)),
    )


def entry(one: Digest, column: Column) -> Entry:
    """What a column says of one method on one cell."""
    short = spread(one.values[column.metric])
    if column.statistic is Statistic.MEAN:
        return mean_and_deviation(short.mean, short.std)
    figure = short.median if column.statistic is Statistic.MEDIAN else one.lowest
    return mean_and_deviation(figure, None)


def _beside(column: Column, reference: Reference | None, beside: set[Column]) -> list[str]:
    """The head of the reference's column, where there is one."""
    return [f"{reference.title}: {column.reference_head}"] if reference is not None and column in beside else []


def marks_of(methods: Mapping[str, Digest], column: Column, seed: int) -> dict[str, Mark]:
    """The marks of a column among the methods of one cell."""
    if not column.judged or column.statistic is not Statistic.MEAN:
        return {}
    numbers = {name: one.values[column.metric] for name, one in methods.items()}
    return leaders(numbers, column.metric, seed=seed)


def _block(
    methods: Mapping[str, Digest], shown: Sequence[Column], beside: set[Column], reference: Reference | None, seed: int
) -> Group:
    marks = {column: marks_of(methods, column, seed) for column in shown}
    rows = []
    for name, one in methods.items():
        row = list(words(name))
        for column in shown:
            row.append(dataclasses.replace(entry(one, column), mark=marks[column].get(name, Mark.NONE)))
            row += [reference.entry(one, column.reference)] if reference is not None and column in beside else []
        rows.append(tuple(row))
    return Group(cell_title(next(iter(methods.values())).cell), tuple(rows))
