"""The theory report: a page of text, its pictures, and whether everything held."""

from collections.abc import Sequence
from pathlib import Path

from ...plots.style import save
from .figures import draw_defects, draw_progress_bound, draw_rates
from .study import Study

HEAD = """# Theory report

Each statement of the paper about stages and runs, checked on real runs of policies as they are. "Held" means with the
constants that stand here; how a constant that is not known was estimated stands beside it.
"""
CAPTIONS = {
    "rates": "V of frozen stages without the port, each in its own unit of time, and the bound that all share.",
    "defects": "One-step defects against h, and where V ends against the port's bound, against how far a bound of the "
    "box cuts the equilibrium off, and against h tr(W Xi); each line is a stage, each bound is its own.",
    "progress": "Runs that have not improved by delta after S proposals, and the bounds from the other half of them.",
}


def write_report(folder: Path, studies: Sequence[Study], suffix: str = ".svg") -> Path:
    """Write `report.md` and its pictures into `folder`; returns the page."""
    folder.mkdir(parents=True, exist_ok=True)
    save(draw_rates(studies), folder / f"rates{suffix}")
    if any(one.defects is not None for one in studies):
        save(draw_defects(studies), folder / f"defects{suffix}")
    save(draw_progress_bound(studies), folder / f"progress{suffix}")
    page = folder / "report.md"
    page.write_text("\n".join([HEAD, *_summary(studies), *map(_section, studies), *_pictures(folder, suffix)]))
    return page


def _summary(studies: Sequence[Study]) -> list[str]:
    titles = list(dict.fromkeys(statement.title for one in studies for statement in one.statements))
    rows = [f"| statement | {' | '.join(one.cell.name for one in studies)} |", f"|---|{'---|' * len(studies)}"]
    for title in titles:
        held = [{s.title: "held" if s.holds else "**broken**" for s in one.statements} for one in studies]
        rows.append(f"| {title} | {' | '.join(words.get(title, 'not checked') for words in held)} |")
    return [*rows, ""]


def _section(one: Study) -> str:
    runs, family = one.runs, one.cell.family
    lines = [
        f"## {one.cell.name}",
        "",
        f"{len(runs.f)} runs of {one.cell.budget} calls, {family.name} {family.dimension}.",
        "",
    ]
    for statement in one.statements:
        lines += [f"### {statement.title}: {'held' if statement.holds else 'broken'}", ""]
        lines += [
            f"{statement.label}",
            "",
            f"    {statement.claim}",
            "",
            *(f"- {line}" for line in statement.found),
            "",
        ]
    return "\n".join(lines)


def _pictures(folder: Path, suffix: str) -> list[str]:
    there = [name for name in CAPTIONS if (folder / f"{name}{suffix}").exists()]
    return ["## Pictures", "", *(f"![{name}]({name}{suffix})\n\n{CAPTIONS[name]}\n" for name in there)]
