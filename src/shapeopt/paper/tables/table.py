"""Every table of the paper, or about it, that can be made from records, by name."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from ...bench.digest import QUICK, Digest
from ...bench.layout import Table
from ...bench.tables import PER_PROTOCOL as GENERAL
from ...bench.tables import protocols_of
from .ablation_tables import oracle_compact_table, settings_compact_table
from .ablations import controller_table, horizon_table, memory_table
from .goals import goals_table
from .learning import learning_box_table, learning_table
from .main_summary import main_summary
from .mechanism_table import mechanisms_table
from .protocol_tables import (
    multiwell_table,
    oracle_table,
    protocol_table,
    science_table,
    settings_table,
    synthetic_table,
)
from .reproduction import outside_table, reproduction_table
from .sources import SOURCES
from .training import training_table
from .unmatched import unmatched_table


@dataclass(frozen=True)
class Named:
    """A table of the paper, or about it: what it shows, the protocols that it is made from, and how."""

    about: str
    protocols: tuple[str, ...]
    build: Callable[[Sequence[Digest], int], Table]


TABLES: Mapping[str, Named] = MappingProxyType(
    {
        "goals": Named("what is met and what is missed", ("multiwell", "paper", "paper-science"), goals_table),
        "main": Named("each family's dimensions averaged", ("multiwell", "paper", "paper-science"), main_summary),
        "multiwell": Named("one-dimensional multi-wells", ("multiwell",), multiwell_table),
        "synthetic": Named("Ackley, Lévy, Rastrigin by dimension", ("paper",), synthetic_table),
        "science": Named("clusters, phase retrieval, control", ("paper-science",), science_table),
        "settings": Named("S1 to S6, every method", ("settings",), settings_table),
        "settings-compact": Named("S1 to S6 in short", ("settings",), settings_compact_table),
        "oracles": Named("three oracles, every method", ("oracles",), oracle_table),
        "oracles-compact": Named("three oracles in short", ("oracles",), oracle_compact_table),
        "training": Named(
            "what training reached, a row a cell",
            ("paper-learning", "multiwell", "paper", "paper-science"),
            training_table,
        ),
        "paper-learning": Named(
            "what learning does, cell by cell",
            ("paper-learning", "multiwell", "paper", "paper-science"),
            learning_table,
        ),
        "paper-learning-box": Named(
            "the same under another distribution of starts", ("paper-learning-box",), learning_box_table
        ),
        "controller": Named("without the controller", ("ablation-controller",), controller_table),
        "memory": Named("without memory", ("ablation-memory",), memory_table),
        "horizon": Named("with a shorter event horizon", ("ablation-horizon",), horizon_table),
        "reproduction": Named("how many of the paper's entries come back", ("paper",), reproduction_table),
        "outside": Named("the entries that do not", ("paper",), outside_table),
        "unmatched": Named("what of all the paper's tables comes back", tuple(SOURCES), unmatched_table),
        "mechanisms": Named("what each optimizer has", (), mechanisms_table),
    }
)

# Tables of whatever protocol the records are of; the paper's have its figures beside them.
PER_PROTOCOL: Mapping[str, Callable[[Sequence[Digest], int], Table]] = MappingProxyType(
    {**GENERAL, "protocol": protocol_table}
)


def table_names(found: Iterable[Digest]) -> list[str]:
    """Named tables that some of these records belong to, and those that need none."""
    there = {name.removesuffix(QUICK) for name in protocols_of(found)}
    return [name for name, named in TABLES.items() if not named.protocols or there & set(named.protocols)]
