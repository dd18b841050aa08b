"""The one table of pictures, which the command line and the page of results read."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from matplotlib.figure import Figure

from ..bench.records import Record
from .budget import draw_budget
from .ecdf import draw_ecdf
from .profile import draw_data_profile, draw_performance_profile
from .progress import draw_progress


@dataclass(frozen=True)
class Picture:
    """What a picture shows, and how it is drawn from records that come cell by cell."""

    about: str
    draw: Callable[[Iterable[Record]], Figure]


PICTURES: Mapping[str, Picture] = MappingProxyType(
    {
        "ecdf": Picture("share of targets reached against calls, one panel a budget", draw_ecdf),
        "data-profile": Picture("share of runs solved within so many calls a dimension", draw_data_profile),
        "performance-profile": Picture(
            "share of runs solved, by the quickest method's calls", draw_performance_profile
        ),
        "progress": Picture("median best gap against calls, one panel a cell", draw_progress),
        "budget": Picture("median best gap at the end against the budget", draw_budget),
    }
)
