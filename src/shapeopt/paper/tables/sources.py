"""Where the paper's figure for one of our records stands, if it has one."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from ...bench.digest import QUICK, Digest
from ...bench.layout import MISSING, Entry, as_printed
from ..protocols import MULTIWELL_CALLS
from .published import Published, find

SYNTHETIC, SCIENCE = "summary:synthetic:benchmarks", "real:world:example:summary"
SETTINGS, ORACLES = "ackley_budget_particle_ablation_full", "ackley_oracle_ablation_full"
MULTIWELL, CONTROLLER = "multiwell_fair_budget", "ackley_memory_controller_ablation_main"
MAIN = "main:result_placeholder"

# The published table with the figures of a protocol; the others have none.
SOURCES: Mapping[str, str] = MappingProxyType(
    {
        "paper": SYNTHETIC,
        "paper-science": SCIENCE,
        "settings": SETTINGS,
        "oracles": ORACLES,
        "multiwell": MULTIWELL,
    }
)
SHAPES: Mapping[str, str] = MappingProxyType(
    {
        "universal": "shape",
        "paper": "shape",
        "paper_without_controller": "shape",
        "paper_without_memory": "shape_without_memory",
        "paper_horizon_4": "shape_horizon_4",  # of which the paper has no figures
    }
)  # our policies, and the paper's method beside which they stand
FAMILIES: Mapping[str, str] = MappingProxyType({"double_integrator": "control"})
ORACLE_NAMES: Mapping[str, str] = MappingProxyType(
    {"Exact": "first_order", "Noisy": "stochastic", "ValueOnly": "zeroth_order"}
)


def source_of(protocol: str) -> str | None:
    """The published table that a protocol, quick or not, is to be laid beside."""
    return SOURCES.get(protocol.removesuffix(QUICK))


def paper_figure(source: str | None, one: Digest, metric: str) -> Published | None:
    """The paper's figure of `metric` (its own name for it) in the table `source`."""
    cell = one.cell
    if source is None or not metric or (source == MULTIWELL and cell["budget"] != MULTIWELL_CALLS):
        return None
    family, method = FAMILIES.get(cell["family"], cell["family"]), SHAPES.get(one.method, one.method)
    return find(source, family, cell["dimension"], _setting(source, one.method, cell), method, metric)


def _setting(source: str, method: str, cell: Mapping[str, Any]) -> str:
    if source == SETTINGS:
        return cell["setting"]
    if source == ORACLES:
        return ORACLE_NAMES.get(cell["sensing"]["kind"], "")
    if source == CONTROLLER:
        return "without_controller" if method == "paper_without_controller" else "with_controller"
    return ""


def paper_entry(source: str | None, one: Digest, metric: str) -> Entry:
    """The paper's figure, or a dash."""
    return printed(paper_figure(source, one, metric))


def printed(figure: Published | None) -> Entry:
    """A figure of the paper with the digits that it has there."""
    if figure is None:
        return Entry(MISSING)
    numbers = tuple(number for number in (figure.mean, figure.std) if number is not None)
    return Entry(" ± ".join(map(as_printed, numbers)), numbers=numbers)
