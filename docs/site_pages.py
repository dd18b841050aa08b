"""Pages of the site that are made from the sources: departures from the paper, model cards, the command line.

`docs/conf.py` calls `write` before each build; nothing of it is kept in the repository.
"""

import ast
import inspect
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from shapeopt.cli import NAMES
from shapeopt.paper.find import CHECKOUT, grouped
from shapeopt.paper.weights import load_card

PACKAGE = Path(inspect.getfile(load_card)).parents[1]
MARK = "Departs from the paper:"
NOTHING = ("nothing", "not in it")


def write(folder: Path) -> None:
    """Write all pages into `folder`, leaving those alone that have not changed."""
    pages = {"departures.md": departures(), "commands.md": commands(), "models.md": models()}
    pages |= {f"models/{name}.md": model(name, load_card(stem)) for name, stem in policies().items()}
    for name, text in pages.items():
        path = folder / name
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    for path in folder.rglob("*.md"):
        if path.relative_to(folder).as_posix() not in pages:
            path.unlink()  # the card of a policy that is no longer shipped


def policies() -> dict[str, Path]:
    """The stems of the policies that have a card: those of the folder `weights`."""
    return {card.stem: card.with_suffix("") for card in sorted(CHECKOUT.glob("*.json"))}


def departures() -> str:
    """Every "Departs from the paper:" line that says something, by room and place."""
    rooms: dict[str, list[str]] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        place = path.relative_to(PACKAGE).as_posix()
        said = [f"- `{name}` (`{place}`): {text}" for name, text in departing(path)]
        rooms.setdefault(place.partition("/")[0].removesuffix(".py"), []).extend(said)
    return "\n".join(f"## {room}\n\n" + "\n".join(lines) + "\n" for room, lines in rooms.items() if lines)


def departing(path: Path) -> Iterator[tuple[str, str]]:
    """(name, what it says) of each docstring of a file that departs from the paper in something."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            _, found, said = (ast.get_docstring(node) or "").partition(MARK)
            text = " ".join(said.split("\n\n")[0].split())
            if found and not text.startswith(NOTHING):
                yield getattr(node, "name", path.stem), as_markdown(text)


def as_markdown(text: str) -> str:
    """Plain text as Markdown that shows it."""
    return re.sub(r"([|*_<>\[\]$])", r"\\\1", text)


def commands() -> str:
    """What `--help` of every command says."""
    return "\n".join(f"## shapeopt {name}\n\n```text\n{help_of(name)}\n```\n" for name in NAMES)


def help_of(name: str) -> str:
    words = [sys.executable, "-m", "shapeopt.cli", name, "--help"]
    plain = {**os.environ, "COLUMNS": "80", "NO_COLOR": "1", "TERM": "dumb"}
    return subprocess.run(words, env=plain, capture_output=True, text=True, check=True).stdout.rstrip()


def models() -> str:
    """A table of the cards, one row for policies that differ in their dimension alone, and the toctree of all."""
    rows = []
    for group, dimensions in grouped(policies()).items():
        names = [group.replace("-N", f"-{one}") for one in dimensions] or [group]
        links = ", ".join(
            f"[{one}](generated/models/{name}.md)" for one, name in zip(dimensions or ["any"], names, strict=True)
        )
        rows.append(f"| `{group}` | {links} |")
    listed = "\n".join(f"generated/models/{name}" for name in sorted(policies()))
    table = "| policy | cards, by dimension |\n|---|---|\n" + "\n".join(rows)
    return f"{table}\n\n```{{toctree}}\n:hidden:\n\n{listed}\n```\n"


def model(name: str, card: dict[str, Any]) -> str:
    """The page of one policy."""
    about = card["about"]
    parts = [f"# {name}\n", fitted(about), use(name, about), results(name, about), training(about), settings(card)]
    return "\n".join(parts)


def fitted(about: dict[str, Any]) -> str:
    law, readings = about["protocol"]["law"], about["protocol"]["readings"]
    return (
        f"The paper's policy, trained for the family `{about['family']}` in {about['dimension']} dimensions: starts "
        f"drawn by `{law}`, {readings} readings. It knows that family, those starts and about as many calls, and "
        "nothing else; for an objective of your own use `shapeopt.minimize`.\n"
    )


def use(name: str, about: dict[str, Any]) -> str:
    calls = about["results_of"]["calls"]
    return f'\n```python\nshapeopt.paper.minimize(fun, x0, bounds=(-5, 5), budget={calls}, policy="{name}")\n```\n'


def results(name: str, about: dict[str, Any]) -> str:
    """What the card says was measured, on one cell."""
    of, rows = about["results_of"], []
    for method, found in sorted(about["results"].items(), key=lambda pair: pair[1]["best_gap"]):
        low, high = found["interval"]
        label = f"**{method}**" if method == name else method
        rows.append(f"| {label} | {found['best_gap']:.3g} | {low:.3g} to {high:.3g} | {found['hit_rate']:.1%} |")
    size = f"{of['tasks']} fresh tasks with {of['starts']} starts each, {of['calls']} calls (cell `{of['cell']}`)"
    head = "| method | best gap, mean | 95 % interval | hits |\n|---|---|---|---|\n"
    return f"## Results\n\nOn {size}:\n\n{head}" + "\n".join(rows) + "\n"


def training(about: dict[str, Any]) -> str:
    rows = "\n".join(f"| {update} | {loss:.4f} |" for update, loss in about["validation"])
    return (
        f"## Training\n\n{about['updates']} updates, {about['calls']:,.0f} calls, {about['seconds']:.0f} s on "
        f"{about['devices']} device(s), seed {about['seed']}. `{about['command']}`, with the schedule of the card, "
        f"makes it again.\n\n<details><summary>Validation loss on {about['validation_tasks']} tasks</summary>\n\n"
        f"| update | loss |\n|---|---|\n{rows}\n\n</details>\n"
    )


def settings(card: dict[str, Any]) -> str:
    rows = [f"| {name} | {value} |" for name, value in card["settings"].items()]
    rows += [f"| {name} | {value} |" for name, value in card["about"].get("versions", {}).items()]
    table = "| setting or version | |\n|---|---|\n" + "\n".join(
        [*rows, f"| SHA-256 of the weights | `{card['sha256']}` |"]
    )
    return f"## The file\n\n{table}\n"
