"""The paper's tables that show every method on every cell of one of its protocols, with its figures beside them."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from ...baselines import BASELINES
from ...bench import protocol_tables
from ...bench.blocks import Column, Reference, Statistic, full_table
from ...bench.digest import QUICK, Digest
from ...bench.layout import Table
from ...bench.protocol_tables import quick_note
from ..protocols import PROTOCOLS
from .choice import lacking, of_protocol
from .published import published
from .sources import SOURCES, paper_entry, source_of

BESIDE = (
    "Columns that begin with “paper” have the paper's own figures (tab. {source}); beside SHAPE's policies stand those "
    "of its SHAPE."
)
MEDIAN, LOWEST = Statistic.MEDIAN, Statistic.LOWEST
SUMMARY = (
    Column("final_distance", "final_distance"),
    Column("final_gap", "final_gap"),
    Column("lowest_gap", "best_gap"),
    Column("hit_final", "hit_final"),
    Column("auc_distance", "auc_distance"),
    Column("auc_gap", "auc_gap"),
    Column("auc_lowest_gap", "auc_best_gap"),
)
ABLATION = (
    Column("final_distance", "final_distance"),
    Column("final_gap", "final_gap"),
    Column("lowest_gap", "best_gap_lowest", LOWEST),
    Column("hit_final", "hit_final"),
    Column("hit_trajectory", "hit_trajectory"),
    Column("distinct_minima", "distinct_minima"),
    Column("minima_hits", "minima_hits"),
)
WELLS = (
    Column("hit_best", "hit_best"),
    Column("final_gap", "final_gap"),
    Column("lowest_gap", "best_gap"),
    Column("lowest_gap", "best_gap_median", MEDIAN),
    Column("calls", "calls", judged=False),
)
COLUMNS: Mapping[str, tuple[Column, ...]] = MappingProxyType(
    {"paper": SUMMARY, "paper-science": SUMMARY, "settings": ABLATION, "oracles": ABLATION, "multiwell": WELLS}
)
MINIMA = "Minima are counted within each task and averaged over tasks; the paper does not say over what its counts are."


def protocol_table(found: Sequence[Digest], seed: int = 0) -> Table:
    """Every method on every cell of one protocol; with the paper's columns where it is one of the paper's."""
    name = next(iter(sorted({one.protocol for one in found})), "").removesuffix(QUICK)
    columns = COLUMNS.get(name)
    if columns is None:
        return protocol_tables.protocol_table(found, seed, PROTOCOLS)
    return protocol_tables.protocol_table(found, seed, PROTOCOLS, columns, notes_of((), columns), reference_of(name))


def reference_of(protocol: str) -> Reference | None:
    """The paper's figures of a protocol."""
    source = source_of(protocol)
    if source is None:
        return None
    return Reference("paper", BESIDE.format(source=source), lambda one, metric: paper_entry(source, one, metric))


def synthetic_table(found: Sequence[Digest], seed: int = 0) -> Table:
    """Ackley, Lévy and Rastrigin by dimension (tab. summary:synthetic:benchmarks)."""
    return _whole_protocol("synthetic", "Synthetic families by dimension", "paper", found, seed)


def science_table(found: Sequence[Digest], seed: int = 0) -> Table:
    """Clusters, phase retrieval and control by dimension (tab. real:world:example:summary)."""
    return _whole_protocol("science", "Scientific tasks by dimension", "paper-science", found, seed)


def multiwell_table(found: Sequence[Digest], seed: int = 0) -> Table:
    """Multi-wells under one budget for all (tab. multiwell_fair_budget)."""
    return _whole_protocol("multiwell", "Multi-wells", "multiwell", found, seed)


def settings_table(found: Sequence[Digest], seed: int = 0) -> Table:
    """S1 to S6: tasks, starts and calls traded (tab. ackley_budget_particle_ablation_full)."""
    return _whole_protocol("settings", "Ackley, settings S1 to S6", "settings", found, seed)


def oracle_table(found: Sequence[Digest], seed: int = 0) -> Table:
    """Exact, noisy and value-only readings (tab. ackley_oracle_ablation_full)."""
    return _whole_protocol("oracles", "Ackley, three oracles", "oracles", found, seed)


def _whole_protocol(name: str, title: str, protocol: str, found: Sequence[Digest], seed: int) -> Table:
    mine = of_protocol(found, protocol)
    notes = (*notes_of(mine, COLUMNS[protocol]), lacking_of(protocol, mine))
    return full_table(name, title, mine, COLUMNS[protocol], seed, notes, reference_of(protocol))


def notes_of(found: Sequence[Digest], columns: Sequence[Column]) -> tuple[str, ...]:
    """What must be said below a table of these records with these columns."""
    return (*quick_note(found), *((MINIMA,) if columns is ABLATION else ()))


def lacking_of(protocol: str, found: Sequence[Digest]) -> str:
    """A note that names the records of a built-in protocol that are not there."""
    whole = PROTOCOLS[protocol]
    whole = whole.quick() if found and found[0].protocol.endswith(QUICK) else whole
    paper = {row.method for row in published(SOURCES[protocol])} & BASELINES.keys()
    methods = [*whole.methods, *(name for name in BASELINES if name in paper and name not in whole.methods)]
    return lacking(found, [cell.name for cell in whole.cells], methods)
