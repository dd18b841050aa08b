"""The one table of the paper's figures; each is drawn from records by one function."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from matplotlib.figure import Figure

from ...plots.progress import draw_progress
from .counted import draw_minima, draw_science
from .mechanism import draw_field, draw_shaped
from .trajectories import draw_multiwell, draw_trajectories


@dataclass(frozen=True)
class PaperFigure:
    """What a figure shows, its label in the paper, and how it is drawn from the records or sheets that it stands on."""

    about: str
    label: str
    draw: Callable[[Any], Figure]


FIGURES: Mapping[str, PaperFigure] = MappingProxyType(
    {
        "minima": PaperFigure("minima that 512 starts find", "minima:counting", draw_minima),
        "trajectories": PaperFigure("all optimizers' paths in two dimensions", "2d", draw_trajectories),
        "curves": PaperFigure("best gap against calls in 20 dimensions", "20d", draw_progress),
        "shaped": PaperFigure("true and shaped landscape at stages of a run", "navigation:display", draw_shaped),
        "field": PaperFigure("forces of one stage", "2d:example:vector:field:display", draw_field),
        "multiwell": PaperFigure("probing a line of wells", "multiwell:viz:panel", draw_multiwell),
        "science": PaperFigure("distance and hits on scientific tasks", "real:world:display", draw_science),
        "search": PaperFigure("beside basin hopping and CEM", "ackley:with:search:algo", draw_progress),
    }
)
