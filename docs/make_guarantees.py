"""Fills the recorded figures of docs/guarantees.md from benchmarks/records.

python docs/make_guarantees.py
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
RECORDS = ROOT / "benchmarks" / "records"
PAGE = ROOT / "docs" / "guarantees.md"
PARTS = {
    "doors": "ways to hand an objective over",
    "boxes": "of those ways, in boxes drawn by hypothesis",
    "loops": "optimizers of this library, compiled, all seeds in one batch",
    "bench": "methods through the cells of a comparison",
    "peers": "settings of other libraries' optimizers, under the same counter",
}


def read(name: str) -> Any:
    return json.loads((RECORDS / f"{name}.json").read_text())


def counted(part: str) -> tuple[str, str, str]:
    """A row about one part of guarantees.py."""
    record = read(f"guarantees_{part}")
    rows = [dict(zip(record["columns"], row, strict=True)) for row in record["rows"]]
    methods, oracles, budgets = ({row[name] for row in rows} for name in ("method", "oracle", "budget"))
    what = f"{len(methods)} {PARTS[part]}"
    what += f", {len(oracles)} oracles" if len(oracles) > 1 else ""
    what += f", budgets {', '.join(map(str, sorted(budgets)))}" if part != "boxes" else ""
    most, *fewer = sorted({row["runs"] for row in rows}, reverse=True)
    seeds = f"{most} seeds" + (f" ({' or '.join(map(str, fewer))} where runs are long or slow)" if fewer else "")
    what += "" if part == "boxes" else f", {seeds}"
    total = record["total"]
    past, outside = max(0, *(row["overshoot"] for row in rows)), sum(row["outside"] for row in rows)
    drawn = total.get("of", total["cells"])
    what += f", {total['cells']} of {drawn} cells drawn" if drawn > total["cells"] else ""
    outcome = f"{past} past a budget, {outside} outside, {total['broken']} of {total['cells']} cells broken"
    return (
        f"guarantees.py --parts {part}",
        f"{what}: {total['runs']:,} runs, {total['evaluations']:,} evaluations",
        outcome,
    )


def crash() -> tuple[str, str, str]:
    record = read("crash")
    total, again = record["total"], sum(run["calls_again"] for run in record["runs"])
    what = f"{total['kills']} kill -9 on {total['runs']} runs of {record['config']['calls']} calls"
    return "crash.py", what, f"{total['wrong']} runs differ by a byte; {again} calls made again"


def hostile() -> tuple[str, str, str]:
    record = read("hostile_files")
    mutants = record["config"]["mutants"]
    what = f"{mutants:,} mutated weights files, {mutants:,} mutated journals"
    what += ", as many of overlapping calls, and of each" if "overlapping" in record else ", and"
    what += " as many with checksums made right"
    weights, journals = record["weights"]["mutants"], record["journals"]["mutants"]
    went_on = journals.get("went on to the same bytes", 0)
    outcome = (
        f"weights: {weights['refused']:,} refused; journals: {journals['refused']:,} refused, {went_on:,} that had "
    )
    outcome += "lost their end went on to the same bytes; "
    if "overlapping" in record:
        others = record["overlapping"]["mutants"]
        went_on = sum(others.values()) - others["refused"]
        outcome += f"of overlapping calls {others['refused']:,} refused, {went_on:,} went on to the same calls; "
    return (
        "hostile_files.py",
        what,
        outcome + f"{len(record['foreign'])} foreign deeds, {record['wrong']} wrong outcomes",
    )


def fuzz() -> tuple[str, str, str]:
    record = read("guarantees_fuzz")
    parsers = [record[name] for name in ("weights", "journals")]
    inputs, wrong = (sum(one[name] for one in parsers) for name in ("inputs", "wrong"))
    reached = ", ".join(f"{record[name]['edges']} edges of {name}" for name in ("weights", "journals"))
    what = f"libFuzzer, {record['config']['minutes']:g} minutes: {inputs:,} inputs; {reached} reached"
    return "fuzz.py", what, f"{wrong} wrong outcomes, exit codes {', '.join(str(one['exit_code']) for one in parsers)}"


def time_limit() -> tuple[str, str, str]:
    record = read("guarantees_time_limit")
    kinds = record["kinds"].values()
    calls, left = (sum(one[name] for one in kinds) for name in ("calls", "left"))
    most = max(one["most"] for one in kinds)
    what = f"{calls} calls that never answer ({len(record['kinds'])} kinds), limit {record['config']['limit']:g} s"
    return "time_limit.py", what, f"ended at most {most:.3f} s after it; {left} processes left"


def soak() -> tuple[str, str, str]:
    record = read("soak")
    config = record["config"]
    what = f"{config['minutes']:g} minutes: {record['single_runs']:,} runs one after another, "
    what += f"{record['runs_in_threads']:,} in {config['threads']} threads, {record['batched_runs']:,} batched ones; "
    what += f"{config['processes']} processes; d up to {max(config['dimensions']):,}"
    outcome = f"memory {100 * record['growth']:+.1f} %, {record['compiled_after_it']} compilations after the warm-up, "
    return "soak.py", what, outcome + f"{record['differing']} runs with other bytes"


def recorded() -> str:
    """What the records say."""
    rows = [*(counted(part) for part in PARTS), crash(), hostile(), fuzz(), time_limit(), soak()]
    lines = ["| script | what was run | outcome |", "|---|---|---|"]
    return "\n".join([*lines, *(f"| `{script}` | {what} | {outcome} |" for script, what, outcome in rows)])


def peers() -> str:
    """SciPy's optimizers under the same tests."""
    heads = ("method (its word for the budget)", "calls past 100: mean, most", "outside the bounds")
    lines = [f"| {' | '.join(heads)} | best lost among NaN | best lost by an exception |", "|---|---|---|---|---|"]
    for name, row in read("peer_behaviour")["rows"].items():
        past, outside = f"{row['calls_past_the_budget']:g}, {row['most']}", f"{row['outside']} of {row['calls']}"
        nan = f"{row['best_lost_among_nan']} of {row['runs']}"
        thrown = f"{row['best_lost_by_an_exception']} of {row['exceptions']}"
        lines.append(f"| {name} | {past} | {outside} | {nan} | {thrown} |")
    return "\n".join(lines)


SECTIONS: dict[str, Callable[[], str]] = {"recorded": recorded, "peers": peers}


def filled(text: str) -> str:
    """The page's text with its figures."""
    for name, make in SECTIONS.items():
        begin, end = f"<!-- {name} -->\n", f"\n<!-- end of {name} -->"
        before, rest = text.split(begin)
        text = before + begin + make() + end + rest.split(end)[1]
    return text


if __name__ == "__main__":
    PAGE.write_text(filled(PAGE.read_text()))
