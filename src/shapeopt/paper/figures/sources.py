"""What each figure of the paper is drawn from: cells that are run as any other, or single runs."""

import dataclasses
import functools
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from ...bench.cells import Cell, Protocol
from ...bench.metrics import PAPER_HIT
from ...bench.protocols import SYNTHETIC
from ...tasks import StartLaw, make_family
from ..protocols import PAPER_BASELINES, PAPER_METHODS, PROTOCOLS
from .sheets import Sheet
from .single_runs import field_sheet, routes_sheet, stages_sheet

STARTS = 512  # figure minima:counting
COUNTED_CALLS = 256
ROUTE_CALLS = 150
SEARCH_CALLS = 500
SEARCHERS = ("universal", "paper", "basin_hopping", "cem", "basinhopping")  # figure ackley:with:search:algo
WELL_CALLS = 120
SHOWN_AT = (30, 120, 240, 480)  # figure navigation:display shows a run after 120 and after 480 steps
FIELD_AFTER = 20  # readings: the stage of figure 2d:example:vector:field:display is not named

MakeSheet = Callable[[], Sheet]


def _counted() -> Iterator[Cell]:
    for name in ("ackley", "levy"):
        family = make_family(name, 2, StartLaw.BOX)
        yield Cell(family, COUNTED_CALLS, 1, STARTS, rule=PAPER_HIT, counts_minima=True)


def _searched() -> Iterator[Cell]:
    for name in SYNTHETIC:
        for d in (2, 20):
            yield Cell(make_family(name, d, StartLaw.NEAR), SEARCH_CALLS, 32)


def _single(name: str, dimension: int, budget: int) -> Cell:
    return Cell(make_family(name, dimension, StartLaw.BOX), budget, 1)


def _of_dimension(protocol: Protocol, dimension: int) -> Protocol:
    cells = tuple(cell for cell in protocol.cells if cell.family.dimension == dimension)
    return dataclasses.replace(protocol, cells=cells)


FIGURE_PROTOCOLS: Mapping[str, Protocol] = MappingProxyType(
    {
        "minima": Protocol("figure-minima", "one task, 512 starts", tuple(_counted()), PAPER_METHODS),
        "curves": _of_dimension(PROTOCOLS["paper"], 20),
        "science": PROTOCOLS["paper-science"],
        "search": Protocol("figure-search", "near starts, search methods", tuple(_searched()), SEARCHERS),
    }
)
FIGURE_SHEETS: Mapping[str, Mapping[str, MakeSheet]] = MappingProxyType(
    {
        "trajectories": {
            name: functools.partial(routes_sheet, _single(name, 2, ROUTE_CALLS), PAPER_METHODS) for name in SYNTHETIC
        },
        "multiwell": {
            "multiwell": functools.partial(
                routes_sheet, _single("multiwell", 1, WELL_CALLS), ("universal", "paper", *PAPER_BASELINES[:5])
            )
        },
        "shaped": {"ackley": functools.partial(stages_sheet, _single("ackley", 2, SHOWN_AT[-1] + 10), SHOWN_AT)},
        "field": {"levy": functools.partial(field_sheet, _single("levy", 2, ROUTE_CALLS), FIELD_AFTER)},
    }
)
