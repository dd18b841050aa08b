"""The part of the results that is about suites: the scoreboard, and one page a suite; `docs/make_results.py` uses it.

python docs/make_results.py        makes all pages of results

Records of runs are too large for the repository. What tables and pictures need of them is kept in one file beside the
folder (FOLDER.safetensors); a suite's half in the folder takes the place of what was kept of it. Where the folder has
no peer's runs, those of the others are scored beside the peers that were kept, against the targets of that time.
"""

from collections.abc import Sequence
from pathlib import Path

from shapeopt.bench.formats import to_markdown
from shapeopt.bench.scoreboard import Board, losses, overview_table, read_boards
from shapeopt.bench.suite_details import detailed_tables
from shapeopt.bench.suite_records import load_suite, suites_in
from shapeopt.bench.suite_store import load_boards, merged, renewed, save_boards
from shapeopt.bench.suites import SUITES
from shapeopt.peers import PEERS
from shapeopt.plots.style import save
from shapeopt.plots.suites import draw_suite_data_profile, draw_suite_ecdf

HALVES = {
    "dev": "looked at and tuned on while the policy is designed",
    "test": "run to record a release, never read problem by problem",
}
NO_RUNS = "There are no records of suites yet: `shapeopt bench run nist --out benchmarks/records/suites`.\n"
HOW = """Every suite has two halves, split by data set, molecule or function: `dev` is looked at and tuned on, and
`test` is run only to record a release. A call is a value with its gradient, or a value where the suite has no
gradients. The objective counts its calls itself, and no run has passed its budget or left the bounds unless a note
says so.
"""


def read_suites(folder: Path) -> list[Board]:
    """The boards that were kept beside a folder of records, and those of the folder, which are then kept too."""
    kept = folder.with_suffix(".safetensors")
    found = load_boards(kept) if kept.is_file() else []
    new = [one for half in HALVES for one in _read_half(folder, half, found)] if folder.is_dir() else []
    if new:
        found = merged(found, new)
        save_boards(kept, found)
    return found


def _read_half(folder: Path, half: str, kept: Sequence[Board]) -> list[Board]:
    alone, boards = [], []
    for name in suites_in(folder, half):
        runs = load_suite(folder, name, half)
        mine = [one for one in kept if (one.scores.suite, one.scores.half) == (name, half)]
        if mine and not set(runs) & set(PEERS):
            boards += renewed(mine, runs)
            alone.append(name)
    others = [name for name in suites_in(folder, half) if name not in alone]
    return boards + (read_boards(folder, half, suites=others) if others else [])


def scoreboard(boards: Sequence[Board]) -> str:
    """The opening of the page of results."""
    if not boards:
        return NO_RUNS
    tables = [
        to_markdown(overview_table([one for one in boards if one.scores.half == half])) for half in halves(boards)
    ]
    return "\n".join([HOW, *tables])


def suite_pages(boards: Sequence[Board], docs: Path) -> list[str]:
    """Write a page for every suite, with pictures; their names."""
    names = list(dict.fromkeys(one.scores.suite for one in boards))
    for name in names:
        mine = [one for one in boards if one.scores.suite == name]
        text = "\n".join([f"# Suite `{name}`\n", about(name), *(half_section(one, docs) for one in mine)])
        (docs / "results").mkdir(parents=True, exist_ok=True)
        (docs / "results" / f"suite-{name}.md").write_text(text, encoding="utf-8")
    return [f"suite-{name}" for name in names]


def about(name: str) -> str:
    suite = SUITES.get(name.partition("-")[0])
    if suite is None:
        return ""
    commands = f"`shapeopt bench run {name} --out runs` makes the records, `shapeopt bench scoreboard runs` the tables."
    return f"{suite.about[0].upper()}{suite.about[1:]}. {commands}\n"


def half_section(one: Board, docs: Path) -> str:
    """One half: every method, both pictures, and for dev the problems that are lost by most."""
    name, half = one.scores.suite, one.scores.half
    links = []
    tables = detailed_tables(one)
    if one.scores.part:
        return "\n".join(to_markdown(table) for table in tables)
    for kind, draw in (("ecdf", draw_suite_ecdf), ("data-profile", draw_suite_data_profile)):
        path = docs / "images" / "results" / f"suite-{name}-{half}-{kind}.png"
        save(draw([one]), path)
        links.append(f"![{name}, {half}: {kind}](../images/results/{path.name})\n")
    lost = losses([one], 10) if half == "dev" else []
    rows = [f"| {loss.problem} | {loss.area - loss.peers_area:+.3f} | `{loss.command}` |" for loss in lost]
    lines = ["| Lost by most | Difference of areas | Its event log |", "|---|---|---|", *rows, ""] if rows else []
    audit = [f"{one.audit}.\n"] if one.audit else []
    head = f"## {half.capitalize()} half\n\nThis half is {HALVES[half]}.\n"
    return "\n".join([head, *(to_markdown(table) for table in tables), *audit, *links, *lines])


def halves(boards: Sequence[Board]) -> list[str]:
    return [half for half in HALVES if any(one.scores.half == half for one in boards)]
