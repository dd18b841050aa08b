"""Fills the results section of README.md from benchmarks/records.

python docs/make_tables.py
"""

import json
import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
ABLATION = (
    "In that table an area is the mean over 500 calls of the share of the way to 1e-8 of the first gap that the best "
    "gap has made, on a logarithmic scale; a hit is a gap below 1e-2; what is lost is paired over tasks, with "
    "bootstrap intervals (BCa), bold where they leave 0 out."
)
BEGIN, END = "<!-- results -->", "<!-- end of results -->"


def rows(name: str) -> list[dict]:
    return json.loads((ROOT / "benchmarks" / "records" / f"{name}.json").read_text())["rows"]


def startup() -> str:
    """Fresh processes beside SciPy's."""
    lines = ["| processor seconds of a fresh process | ours | SciPy's basinhopping | target |", "|---|---|---|---|"]
    for row in rows("startup"):
        theirs = "" if row["scipy"] is None else f"{row['scipy']:.2f}"
        verdict = f"{row['target']}, {'met' if row['passes'] else 'missed'}" if row["target"] else ""
        lines.append(f"| {row['what']} | {row['ours']:.2f} | {theirs} | {verdict} |")
    return "\n".join(lines)


def throughput() -> str:
    """Speed beside SciPy in one run."""
    lines = ["| speed, side by side | ours | SciPy | ratio | target |", "|---|---|---|---|---|"]
    for row in rows("throughput"):
        verdict = ""
        if row["target"] is not None:
            met = row["figure"] >= row["target"] if row["at_least"] else row["figure"] <= row["target"]
            verdict = f"{'≥' if row['at_least'] else '≤'} {row['target']:g}, {'met' if met else 'missed'}"
        lines.append(f"| {row['what']} | {row['ours']} | {row['scipy']} | {row['figure']:.2f} | {verdict} |")
    return "\n".join(lines)


def ablation() -> str:
    """What each tactic earns."""
    lines = ["| without | tasks | area with | area lost | hits lost |", "|---|---|---|---|---|"]
    for row in rows("universal_ablation"):
        tasks = f"{row['tasks']} in {row['cells']} {row['group']} cells"
        lost = (_lost(row[f"{figure}_difference"], row[f"{figure}_interval"]) for figure in ("area", "hits"))
        lines.append(f"| {row['part']} | {tasks} | {row['area']:.3f} | {' | '.join(lost)} |")
    return "\n".join(lines)


def _lost(difference: float, interval: list[float]) -> str:
    """How much is lost, bold where the interval leaves 0 out."""
    low, high = sorted(-end for end in interval)
    text = f"{-difference:+.3f} ({low:+.3f} to {high:+.3f})"
    return f"**{text}**" if low > 0 or high < 0 else text


def ablations() -> list[str]:
    """The table and what it means, once `benchmarks/universal_ablation.py` has made its record."""
    if not (ROOT / "benchmarks" / "records" / "universal_ablation.json").is_file():
        return []
    return [folded("What each tactic earns: one off at a time, on the same tasks", ablation()), ABLATION]


def folded(title: str, table: str) -> str:
    return f"<details><summary>{title}</summary>\n\n{table}\n\n</details>"


def main() -> None:
    readme = ROOT / "README.md"
    text = "\n\n".join(
        (
            BEGIN,
            folded("Seconds to the first answer, beside SciPy", startup()),
            folded("Speed beside SciPy on two cores, target by target", throughput()),
            *ablations(),
            "Made by `python docs/make_tables.py` from the records that `benchmarks/` wrote.",
            END,
        )
    )
    pattern = re.compile(f"{re.escape(BEGIN)}.*{re.escape(END)}", re.S)
    readme.write_text(pattern.sub(lambda _: text, readme.read_text()))


if __name__ == "__main__":
    main()
