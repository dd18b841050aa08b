"""The paper's ablations on Ackley in short: SHAPE beside the strongest baseline, and with or without its controller."""

from collections.abc import Mapping, Sequence

from .blocks import BESIDE, Column, entry, full_table, marks_of, paper_entry
from .digest import Digest, by_cell, lacking, of_protocol
from .layout import Entry, Group, Mark, Table
from .paper_figures import CONTROLLER, ORACLES, SETTINGS, SHAPES
from .protocol_tables import ABLATION, lacking_of, notes_of
from .protocols import PROTOCOLS
from .statistics import spread

FINAL, LOWEST, TRAJECTORY, MINIMA = ABLATION[1], ABLATION[2], ABLATION[4], ABLATION[5]
CONTROLLERS, CONTROLLER_DIMENSIONS = ("paper", "paper_without_controller"), (2, 20, 100)


def settings_compact_table(found: Sequence[Digest], seed: int = 0) -> Table:
    """S1 to S6, SHAPE and the strongest baseline (tab. ablation_ackley_compact_transposed)."""
    return _compact("settings-compact", "Ackley, S1 to S6 in short", "settings", SETTINGS, found, seed)


def oracle_compact_table(found: Sequence[Digest], seed: int = 0) -> Table:
    """Three oracles, SHAPE and the strongest baseline (tab. ackley_oracle_ablation_compact_transposed)."""
    return _compact("oracles-compact", "Ackley, three oracles in short", "oracles", ORACLES, found, seed)


def controller_table(found: Sequence[Digest], seed: int = 0) -> Table:
    """The paper's policy with and without its controller (tab. ackley_memory_controller_ablation_main)."""
    cells = [cell for cell in PROTOCOLS["paper"].cells if cell.family.name == "ackley"]
    places = [cell.name for cell in cells if cell.family.dimension in CONTROLLER_DIMENSIONS]
    mine = [one for one in of_protocol(found, "paper") if one.method in CONTROLLERS and one.place in places]
    columns = (Column("lowest_gap", "best_gap"), Column("final_gap", "final_gap"))
    notes = (lacking(mine, places, CONTROLLERS),)
    return full_table("controller", "Ackley, with and without the controller", mine, columns, CONTROLLER, seed, notes)


def _compact(name: str, title: str, protocol: str, source: str, found: Sequence[Digest], seed: int) -> Table:
    """One row a cell: SHAPE's figures, and the baseline that ends lowest."""
    columns = (FINAL, LOWEST, TRAJECTORY, MINIMA)
    mine = of_protocol(found, protocol)
    heads = [head for column in columns for head in (f"SHAPE: {column.head}", column.paper_head)]
    rows = [_compact_row(methods, columns, source, seed) for methods in by_cell(mine).values()]
    return Table(
        name=name,
        title=title,
        columns=("Cell", *heads, "Strongest baseline", "its final gap ↓", "paper: its final gap"),
        groups=(Group("", tuple(row for row in rows if row)),),
        notes=(BESIDE.format(source=source), *notes_of(mine, ABLATION), *filter(None, [lacking_of(protocol, mine)])),
    )


def _compact_row(
    methods: Mapping[str, Digest], columns: Sequence[Column], source: str, seed: int
) -> tuple[Entry, ...] | None:
    ours = next((one for name, one in methods.items() if name in SHAPES), None)
    rivals = [one for name, one in methods.items() if name not in SHAPES]
    if ours is None or not rivals:
        return None
    strongest = min(rivals, key=lambda one: spread(one.values[FINAL.metric]).mean)
    row = [Entry(ours.place)]
    for column in columns:
        mark = marks_of(methods, column, seed).get(ours.method, Mark.NONE)
        row += [Entry(entry(ours, column).text, mark, entry(ours, column).numbers)]
        row += [paper_entry(source, ours, column.paper)]
    return (*row, Entry(strongest.method), entry(strongest, FINAL), paper_entry(source, strongest, FINAL.paper))
