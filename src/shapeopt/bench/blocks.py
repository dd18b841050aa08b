"""Tables of methods by metrics, one block of rows a cell, with the paper's figures in columns of their own."""

import dataclasses
import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .digest import Digest, by_cell, cell_title
from .layout import MISSING, Entry, Group, Mark, Table, as_printed, mean_and_deviation, words
from .marks import leaders
from .metrics import METRICS, Better
from .paper_figures import paper_figure
from .published import Published
from .statistics import spread

BESIDE = (
    "Columns that begin with “paper” have the paper's own figures (tab. {source}); beside SHAPE's policies stand those "
    "of its SHAPE."
)
MEASURED = "Mean ± standard deviation over tasks, each task's number being the mean over its starts."


class Statistic(enum.Enum):
    """How many tasks' numbers become one."""

    MEAN = ""
    MEDIAN = ", median"
    LOWEST = ", best run"


@dataclass(frozen=True)
class Column:
    """A metric as a table shows it; `paper` is what the paper calls it, with `published`'s names."""

    metric: str
    paper: str = ""
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
    def paper_head(self) -> str:
        plain = self.paper.removesuffix("_median").removesuffix("_lowest")
        return f"paper: {METRICS[plain].label}{self.statistic.value}"


def full_table(
    name: str,
    title: str,
    found: Sequence[Digest],
    columns: Sequence[Column],
    source: str | None,
    seed: int,
    notes: Sequence[str] = (),
) -> Table:
    """Every method on every cell of `found`; columns of which nothing is known are left out."""
    cells = by_cell(found)
    shown = [column for column in columns if any(entry(one, column).text != MISSING for one in found)]
    beside = {column for column in shown if any(paper_figure(source, one, column.paper) for one in found)}
    heads = [head for column in shown for head in (column.head, *([column.paper_head] if column in beside else []))]
    said = (MEASURED, *((BESIDE.format(source=source),) if beside else ()), *filter(None, notes))
    return Table(
        name=name,
        title=title,
        columns=("Method", *heads),
        groups=tuple(_block(methods, shown, beside, source, seed) for methods in cells.values()),
        notes=said if found else tuple(filter(None, notes)),
    )


def entry(one: Digest, column: Column) -> Entry:
    """What a column says of one method on one cell."""
    short = spread(one.values[column.metric])
    if column.statistic is Statistic.MEAN:
        return mean_and_deviation(short.mean, short.std)
    figure = short.median if column.statistic is Statistic.MEDIAN else one.lowest
    return mean_and_deviation(figure, None)


def paper_entry(source: str | None, one: Digest, metric: str) -> Entry:
    """The paper's figure, or a dash."""
    return printed(paper_figure(source, one, metric))


def printed(figure: Published | None) -> Entry:
    """A figure of the paper with the digits that it has there."""
    if figure is None:
        return Entry(MISSING)
    numbers = tuple(number for number in (figure.mean, figure.std) if number is not None)
    return Entry(" ± ".join(map(as_printed, numbers)), numbers=numbers)


def marks_of(methods: Mapping[str, Digest], column: Column, seed: int) -> dict[str, Mark]:
    """The marks of a column among the methods of one cell."""
    if not column.judged or column.statistic is not Statistic.MEAN:
        return {}
    numbers = {name: one.values[column.metric] for name, one in methods.items()}
    return leaders(numbers, column.metric, seed=seed)


def _block(
    methods: Mapping[str, Digest], shown: Sequence[Column], beside: set[Column], source: str | None, seed: int
) -> Group:
    marks = {column: marks_of(methods, column, seed) for column in shown}
    rows = []
    for name, one in methods.items():
        row = list(words(name))
        for column in shown:
            row.append(dataclasses.replace(entry(one, column), mark=marks[column].get(name, Mark.NONE)))
            row += [paper_entry(source, one, column.paper)] if column in beside else []
        rows.append(tuple(row))
    return Group(cell_title(next(iter(methods.values())).cell), tuple(rows))
