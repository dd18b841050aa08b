"""Writes docs/results.md and the pages of docs/results, with pictures in docs/images/results, from records.

python docs/make_results.py [FOLDER OF PROTOCOLS' RECORDS [FOLDER OF DOCS [FOLDER OF SUITES' RECORDS]]]

The page of results opens with the scoreboard of suites and links to one page a suite, one for the paper's tables and
one a protocol.

Whole records are too large for the repository. What tables need of them is kept in one file beside the folder
(FOLDER.safetensors). Records in the folder take the place of those that were kept of the same cell and method. Pictures
need the records of all methods of a protocol; where some are absent they stay as they are, and the page says so.
"""

import hashlib
import json
import os
import struct
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save as tensors

sys.path.insert(0, str(Path(__file__).parent))  # for make_suites

from make_suites import read_suites, scoreboard, suite_pages

from shapeopt.bench.digest import QUICK, Digest, by_cell, digests, methods_of
from shapeopt.bench.formats import to_markdown
from shapeopt.bench.records import MAX_BYTES, RecordError, load_records
from shapeopt.bench.tables import protocols_of
from shapeopt.cli.bench import all_protocols
from shapeopt.paper.figures.table import FIGURES
from shapeopt.paper.protocols import PROTOCOLS
from shapeopt.paper.tables.sources import SOURCES, source_of
from shapeopt.paper.tables.table import PER_PROTOCOL, TABLES, table_names
from shapeopt.plots import PICTURES
from shapeopt.plots.style import NothingToDraw, save

DOCS = Path(__file__).parent
RECORDS = DOCS.parent / "benchmarks" / "records" / "bench"
SUITES = DOCS.parent / "benchmarks" / "records" / "suites"
INTRODUCTION = """# Results

Every number and picture here is made by `python docs/make_results.py` from records of `shapeopt bench run`; nothing is
typed. First come problems from other people's packages, each method under the same counter with the same calls.
`shapeopt bench scoreboard` and `shapeopt bench show SUITE PROBLEM` show the same for records of your own.
"""
OF_PROTOCOLS = """## Protocols

All methods of a cell had the same tasks, starts, noise and counted budget. A number is bold only where a test says that
it is better than every other (below each table), and the figures of the paper stand beside those measured here.
`shapeopt bench table`, `compare` and `plot` show the same for records of your own.

`universal` is the policy of this version. `universal_before` is the one before its tactics and engines were rebuilt,
kept as what was reached then: `unseen`, `near` and `box-rotated` are recorded anew, the others not.
"""
UNMATCHED = """What of the paper does not come back, and why as far as that is known; the table counts it:

- its Lennard-Jones rows: at d = 6 its clusters behave like a softened pair in a trap, at d = 18 like nothing
  that was tried; here they are the true energies;
- its multi-well rows: neither noise nor budget is given, and 1,251 calls is the mean that it reports;
- its double integrator at d = 8: gradient descent and NAG diverge in the paper as well as here, momentum here alone;
  the paper gives no parameters of the plant;
- NAG on control at d = 32: it diverges there, and the paper has no figure;
- S1 to S6 and the oracles: plain methods, which have nothing to tune here, come out by about a deviation farther from
  the minimum in some settings and not in others, and over what minima are counted is not said.

Its AUCs include the start, which its equation leaves out.
"""
DRAWN = """The paper's figures, drawn by `shapeopt figures NAME docs/images/results/figure-NAME.png`; `curves` and
`science` are the pictures of progress on the pages of the protocols.
"""
EMPTY = "There are no records yet. `shapeopt bench run paper --out benchmarks/records/bench` makes the first of them.\n"
GOALS, MATCHED = "goals", "unmatched"
ELSEWHERE = ("training", "paper-learning", "paper-learning-box")  # tables of docs/make_learning.py
LEARNED, LEARNING = "paper_learning.safetensors", "paper-learning"
HOMES = ("paper", "paper-science", "multiwell")  # protocols whose cells are those of `paper-learning`
SHOWN_LEARNED = ("paper", "tuned", "tuned_box")
FORMAT = "shapeopt-digests-2"
ABOUT = (
    "protocol",
    "cell",
    "method",
    "seed",
    "lowest",
    "area",
    "area_over_calls",
    "versions",
)
LONG = 24  # rows from which a table is folded
TALL = 0.8  # height to width from which a picture is folded: it would fill more than half of a screen


def main(folder: Path = RECORDS, docs: Path = DOCS, suites: Path = SUITES) -> None:
    found, boards = read(folder), read_suites(suites)
    docs.mkdir(parents=True, exist_ok=True)
    pages = {"Suites": suite_pages(boards, docs), "Protocols": protocol_pages(folder, docs, found)}
    parts = [INTRODUCTION, scoreboard(boards), OF_PROTOCOLS, _made_with(found) if found else EMPTY, *contents(pages)]
    (docs / "results.md").write_text("\n".join(parts), encoding="utf-8")
    print(f"wrote {docs / 'results.md'} from {len(found)} records of protocols and {len(boards)} boards of suites")


def protocol_pages(folder: Path, docs: Path, found: Sequence[Digest]) -> list[str]:
    """Write a page for the paper's tables and one a protocol; their names."""
    if not found:
        return []
    whole = with_learned(folder, found)
    texts = {"paper-tables": "\n".join(["# The paper's tables\n", *goals(whole), paper_tables(whole), figures(docs)])}
    texts |= {f"protocol-{name}": section(folder, docs, name, found) for name in protocols_of(found)}
    (docs / "results").mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (docs / "results" / f"{name}.md").write_text(text, encoding="utf-8")
    return list(texts)


def contents(pages: Mapping[str, Sequence[str]]) -> list[str]:
    """Links for readers of the file, and the table of contents for the site."""
    parts = []
    for caption, names in pages.items():
        if names:
            links = ", ".join(f"[{name.partition('-')[2]}](results/{name}.md)" for name in names)
            tree = "\n".join(["```{toctree}", ":hidden:", f":caption: {caption}", "", *(f"results/{n}" for n in names)])
            parts.append(f"{caption}: {links}.\n\n{tree}\n```\n")
    return parts


def read(folder: Path) -> list[Digest]:
    """The digests that were kept beside a folder of records, and those of the folder, which are then kept too."""
    kept = folder.with_suffix(".safetensors")
    found = {_key(one): one for one in load_digests(kept)} if kept.is_file() else {}
    if folder.is_dir() and (new := digests(load_records(folder))):
        found |= {_key(one): one for one in new}
        save_digests(kept, list(found.values()))
    return list(found.values())


def save_digests(path: Path, found: Sequence[Digest]) -> None:
    """Write digests at once or not at all, in single precision."""
    heads = [{name: getattr(one, name) for name in ABOUT} | {"metrics": list(one.values)} for one in found]
    with np.errstate(over="ignore"):
        arrays = {
            str(i): np.stack([one.values[m] for m in one.values]).astype(np.float32) for i, one in enumerate(found)
        }
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_name(f".{path.name}.{os.getpid()}.part")
    scratch.write_bytes(tensors(arrays, metadata={"format": FORMAT, "digests": json.dumps(heads)}))
    os.replace(scratch, path)


def load_digests(path: Path) -> list[Digest]:
    """What `save_digests` wrote; `RecordError` if the file is not that, or is damaged."""
    if path.stat().st_size > MAX_BYTES:
        raise RecordError(f"{path} is larger than {MAX_BYTES} bytes.")
    try:
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            if metadata.get("format") != FORMAT:
                raise RecordError(f"{path} holds no digests of this version: format {metadata.get('format')!r}.")
            heads = json.loads(metadata["digests"])
            arrays = [file.get_tensor(str(i)).astype(float) for i in range(len(heads))]
        return [_digest(head, rows) for head, rows in zip(heads, arrays, strict=True)]
    except RecordError:
        raise
    except (SafetensorError, KeyError, TypeError, ValueError) as error:
        raise RecordError(f"{path} is damaged: {error}") from error


def _digest(head: dict, rows: np.ndarray) -> Digest:
    values = dict(zip(head["metrics"], rows, strict=True))
    return Digest(**{name: head[name] for name in ABOUT}, values=values)


def _key(one: Digest) -> tuple[str, str, str, int]:
    return one.protocol, one.place, one.method, one.seed


def section(folder: Path, docs: Path, protocol: str, found: Sequence[Digest]) -> str:
    """A protocol: what it is, its pictures, a row a method, and everything."""
    mine = [one for one in found if one.protocol == protocol]
    known = all_protocols().get(protocol.removesuffix(QUICK))
    about = f"{known.about[0].upper()}{known.about[1:]}. " if known else ""
    size = (
        f"{len(by_cell(mine))} cells, {len(methods_of(mine))} methods, seed {_listed(str(one.seed) for one in mine)}."
    )
    shown = ["overview"] if source_of(protocol) else list(PER_PROTOCOL)  # those beside the paper's are above
    tables = [folded(to_markdown(PER_PROTOCOL[name](mine, 0))) for name in shown]
    return "\n".join(
        [f"# Protocol `{protocol}`\n", f"{about}{size}\n", *pictures(folder, docs, protocol, mine), *tables]
    )


def with_learned(folder: Path, found: Sequence[Digest]) -> list[Digest]:
    """With what was recorded of policies of the paper's kind, whose cells are those of the paper's own protocols."""
    kept = folder.parent / LEARNED
    home = {cell.name: name for name in HOMES for cell in PROTOCOLS[name].cells}
    added = [one for one in load_digests(kept) if one.method in SHOWN_LEARNED] if kept.is_file() else []
    moved = [replace(one, protocol=home[one.place]) for one in added if one.protocol == LEARNING]
    return [*found, *(one for one in added if one.protocol in SOURCES), *moved]


def goals(found: Sequence[Digest]) -> list[str]:
    """What is met and what is missed, if there are records of that."""
    return [f"## {GOALS.capitalize()}\n\n{to_markdown(TABLES[GOALS].build(found, 0))}"] * (GOALS in table_names(found))


def paper_tables(found: Sequence[Digest]) -> str:
    """The paper's tables for which there are records."""
    names = [name for name in table_names(found) if name not in (GOALS, MATCHED, *ELSEWHERE)]
    tables = [folded(to_markdown(TABLES[name].build(found, 0))) for name in names]
    matched = [to_markdown(TABLES[MATCHED].build(found, 0))] * (MATCHED in table_names(found))
    return "\n".join(["## What can't be matched\n", UNMATCHED, *matched, "## Tables\n", *tables])


def figures(docs: Path) -> str:
    """The paper's figures, as far as `shapeopt figures` has drawn them here, each behind a line to click on."""
    drawn = {name: f"images/results/figure-{name}.png" for name in FIGURES}
    parts = [
        f"<details><summary>{FIGURES[name].about.capitalize()} (fig. {FIGURES[name].label})</summary>\n\n"
        f"![{FIGURES[name].about}](../{path})\n\n</details>\n"
        for name, path in drawn.items()
        if (docs / path).is_file()
    ]
    return "\n".join(["## Figures\n", DRAWN, *parts]) if parts else ""


def pictures(folder: Path, docs: Path, protocol: str, found: Sequence[Digest]) -> list[str]:
    """Links to the pictures that the records of a protocol have something for."""
    links, older = [], False
    there = {_key(one) for one in digests(load_records(folder, protocol))} if folder.is_dir() else set()
    whole = there >= {_key(one) for one in found}
    stamp = _stamp(found)
    for kind, picture in PICTURES.items():
        name = f"images/results/{protocol}-{kind}.png"
        if whole:
            try:
                save(picture.draw(load_records(folder, protocol)), docs / name, stamp)
            except NothingToDraw:  # such as a picture against budgets where all cells have the same
                continue
        elif not (docs / name).is_file():
            continue
        links.append(shown(docs / name, f"![{protocol}: {picture.about}](../{name})\n", picture.about))
        older |= f"Source\0{stamp}".encode() not in (docs / name).read_bytes()  # uncompressed in a PNG
    if older:
        links.append("Some of these pictures were drawn before the last records, which the tables have.\n")
    return links


def _stamp(found: Sequence[Digest]) -> str:
    """Which records these are: what a picture keeps of what it was drawn from."""
    told = sorted((_key(one), one.area, one.lowest) for one in found)
    return hashlib.sha256(repr(told).encode()).hexdigest()[:16]


def shown(picture: Path, link: str, about: str) -> str:
    """The link to a picture; a tall one, of many panels, is behind a line to click on."""
    width, height = struct.unpack(">II", picture.read_bytes()[16:24])  # a PNG's header
    return (
        link if height < TALL * width else f"<details><summary>{about.capitalize()}</summary>\n\n{link}\n</details>\n"
    )


def folded(text: str) -> str:
    """A long table behind a line to click on."""
    title, _, rest = text.partition("\n")
    if text.count("\n|") < LONG:
        return text
    return f"<details><summary>{title.strip('*')}</summary>\n{rest}\n</details>\n"


def _made_with(found: Sequence[Digest]) -> str:
    versions = {
        name: _listed(one.versions[name] for one in found if name in one.versions) for name in found[0].versions
    }
    return f"{len(found)} records, made with {', '.join(f'{name} {value}' for name, value in versions.items())}.\n"


def _listed(values: Iterable[str]) -> str:
    return " and ".join(sorted(set(values)))


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:4]))
