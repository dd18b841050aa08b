"""How all pictures look: legible at a column's width, and for people who see few colours."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from matplotlib import rc_context
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator

# Okabe and Ito, Color universal design (2008), without the yellow that is lost on white
FIRST, COLOURS = "#000000", ("#D55E00", "#0072B2", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
DASHES: tuple[Any, ...] = ((0, (4, 1.2)), (0, (1, 1)), (0, (5, 1, 1, 1)), (0, (8, 1.5)), "-")
BANDS = 4  # with more methods, only the first shows its quartiles: many of them would hide the lines
COLUMN, PAGE = 3.5, 7.0  # inches: one column of a page, and both
LEGEND = 1.35  # inches that a legend beside the axes takes
LINE = 0.115  # inches that a line of it takes
DOTS = 300  # a pixel picture's dots per inch
# What is not a picture of the same records must not differ: no dates, and names that follow from the contents.
METADATA: Mapping[str, dict[str, Any]] = MappingProxyType(
    {".png": {"Software": None}, ".pdf": {"CreationDate": None}, ".svg": {"Date": None}}
)
SETTINGS: Mapping[Any, Any] = MappingProxyType(
    {
        "font.size": 7,
        "axes.titlesize": 7,
        "axes.labelsize": 7,
        "xtick.labelsize": 6,
        "ytick.labelsize": 6,
        "legend.fontsize": 6,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.linewidth": 0.6,
        "xtick.major.width": 0.6,
        "ytick.major.width": 0.6,
        "xtick.minor.width": 0.4,
        "ytick.minor.width": 0.4,
        "svg.hashsalt": "shapeopt",
    }
)


class NothingToDraw(ValueError):
    """Records that a picture has nothing of."""


@dataclass(frozen=True)
class Look:
    """How a method is drawn in every panel of a picture."""

    color: str
    linestyle: Any
    linewidth: float
    zorder: float


def looks(methods: Iterable[str]) -> dict[str, Look]:
    """A look for each method, in reading order: the first stands out, then both colour and dashes change each time.

    Colours and dashes are six and five, so that thirty methods differ.
    """
    from ..bench.digest import reading_order

    ordered = sorted(set(methods), key=reading_order)
    others = [Look(COLOURS[i % len(COLOURS)], DASHES[i % len(DASHES)], 1.0, 2.0) for i in range(len(ordered) - 1)]
    return dict(zip(ordered, [Look(FIRST, "-", 1.6, 3.0), *others], strict=False))


def banded(styles: Mapping[str, Look]) -> list[str]:
    """The methods whose quartiles are drawn."""
    return list(styles) if len(styles) <= BANDS else list(styles)[:1]


def band_note(kind: str, styles: Mapping[str, Look]) -> str:
    return f"{kind}: quartiles" if len(styles) <= BANDS else f"{kind}: quartiles of {next(iter(styles))}"


def styled() -> Any:
    """A context in which figures must be made and saved."""
    return rc_context(dict(SETTINGS))


def panels(rows: Sequence[int], height: float, names: int) -> tuple[Figure, list[Any]]:
    """A figure with rows of so many axes, all of one size, and room for a legend of `names` lines and a note.

    A single panel makes it one column wide.
    """
    if not sum(rows):
        raise NothingToDraw("`records` must have something to draw; got none that fit this picture.")
    columns = max(rows)
    width = COLUMN - LEGEND if columns == 1 else (PAGE - LEGEND) / max(columns, 4)
    tall = max(height * len(rows), LINE * (names + 3))
    figure = Figure(figsize=(width * columns + LEGEND, tall), layout="constrained")
    grid = figure.subplots(len(rows), columns, squeeze=False)
    for count, line in zip(rows, grid, strict=True):
        for axes in line[count:]:
            axes.remove()
    return figure, [axes for count, line in zip(rows, grid, strict=True) for axes in line[:count]]


def in_rows(count: int) -> list[int]:
    """Rows of four."""
    return [min(4, count - first) for first in range(0, count, 4)]


def add_legend(figure: Figure, drawn: Mapping[str, Look], order: Sequence[str], notes: Sequence[str] = ()) -> None:
    """A legend on the right, outside the axes, from top to bottom in `order`, with lines of text below."""
    styles = [drawn[method] for method in order]
    handles = [Line2D([], [], color=look.color, ls=look.linestyle, lw=look.linewidth) for look in styles]
    handles += [Line2D([], [], ls="none") for _ in notes]
    figure.legend(
        handles, [*order, *notes], loc="outside right upper", frameon=False, handlelength=2.8, labelspacing=0.4
    )


def tidy(axes: Any) -> None:
    """A light grid; plain numbers on logarithmic axes, and between decades only where there are hardly any."""
    axes.grid(alpha=0.25, lw=0.4)
    for axis, (low, high) in ((axes.xaxis, axes.get_xlim()), (axes.yaxis, axes.get_ylim())):
        if axis.get_scale() != "log":
            continue
        narrow, wide = high < 20 * low, high > 1e5 * low
        axis.set_minor_locator(NullLocator() if wide else LogLocator(subs=(2, 3, 5) if narrow else range(2, 10)))
        axis.set_minor_formatter(FuncFormatter(_plain) if narrow else NullFormatter())
        axis.set_major_locator(LogLocator(numticks=6 if wide else 9))
        if narrow or axis is axes.xaxis:
            axis.set_major_formatter(FuncFormatter(_plain))


def _plain(value: float, position: int) -> str:
    return f"{value:g}"


def save(figure: Figure, path: Path, source: str | None = None) -> Path:
    """Write a picture as PNG, PDF or SVG by the ending of its name; the same records give the same bytes.

    `source` says what it was drawn from, and is kept in the file (PNG and SVG).
    """
    if path.suffix not in METADATA:
        raise ValueError(f"`path` must end in one of {', '.join(METADATA)}; got {path.name!r}.")
    path.parent.mkdir(parents=True, exist_ok=True)
    told = {"Source": source} if source and path.suffix != ".pdf" else {}
    with styled():
        figure.savefig(path, dpi=DOTS, metadata=METADATA[path.suffix] | told)
    return path
