"""Put what `shapeopt bench run learning` has measured into the record, the page and the shipped policies.

    shapeopt bench run learning --out runs       # a quarter of an hour on a core; goes on where it stopped
    python benchmarks/learning.py runs           # records/learning.json, docs/train_family.md and weights/families
    python benchmarks/learning.py                # the page again from the record

The policies of real families (of the first training) are kept with what was measured in their cards. Training and
held-out instances, trainings and intervals: `src/shapeopt/learning`.
"""

import argparse
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from shapeopt.learning import FAMILIES, Size, run_learning, table
from shapeopt.learning.families import REAL
from shapeopt.learning.measure import policy_of

RECORD = Path(__file__).parent / "records" / "learning.json"
PAGE = Path(__file__).parents[1] / "docs" / "train_family.md"
SHIPPED = Path(__file__).parents[1] / "weights" / "families"
SCHEDULE = "untrained runs of effort x budget; descents from neighbours' places; settings on four folds left out"
MARKS = "<!-- learning -->", "<!-- end of learning -->"


def renew(text: str) -> None:
    """Put the tables between the marks of the page."""
    page = PAGE.read_text(encoding="utf-8")
    head, tail = page.partition(MARKS[0])[0], page.partition(MARKS[1])[2]
    PAGE.write_text(f"{head}{MARKS[0]}\n\n{text}\n\n{MARKS[1]}{tail}", encoding="utf-8")


def calls_of(folder: Path, card: dict[str, Any], d: int) -> int:
    """Calls of all runs of a training at the most, beside single readings of places and Hessians."""
    total = 0
    for line in (folder / "runs.jsonl").read_text(encoding="utf-8").splitlines():
        key = json.loads(line)["key"].split("/", 4)[4]  # after seed, budget, effort and instances
        short = min(40 + 4 * d, card["budget"])
        first = card["effort"] * card["budget"]
        total += first if key.startswith("untrained") else card["budget"] if key.startswith("choose") else short
    return total


def losses(name: str, record: dict[str, Any]) -> list[str]:
    """Where a policy loses: targets that it reaches later than the untrained one, and wrong families."""
    rows = [row for row in record["families"][name]["rows"] if row["high"] >= 1.0]
    found = [
        f"gap {row['target']:.0e}: ratio {row['ratio']:.2f} ({row['low']:.2f} to {row['high']:.2f})" for row in rows
    ]
    pairs = [one for one in record["wrong"] if one["trained_on"] == name and one["ratio"] < 1.0]
    return found + [
        f"area on {one['run_on']}: {one['ratio']:.2f} ({one['low']:.2f} to {one['high']:.2f})" for one in pairs
    ]


def ship(name: str, record: dict[str, Any], folder: Path) -> None:
    """Keep the policy of a real family, with a card."""
    found = record["families"][name]
    SHIPPED.mkdir(parents=True, exist_ok=True)
    family, policy = FAMILIES[name][0], policy_of(name, folder, Size())
    about = {"family": f"shapeopt.learning.families: {type(family).__name__}", "data": type(family).__doc__}
    card = dict(policy.card) | about | {"held_out": Size().held_out, "measured": found}
    card |= {"seeds_of_trainings": Size().seeds, "loses": losses(name, record)}
    card |= {"schedule": SCHEDULE, "calls": calls_of(folder / name / str(Size().seeds[0]), card, len(policy.width))}
    card |= {"command": f"shapeopt bench run learning --cells {name}"}
    replace(policy, card=card).save(SHIPPED / name)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="?", type=Path, help="folder of `shapeopt bench run learning`")
    arguments = parser.parse_args()
    if arguments.runs is not None:
        folder = arguments.runs / "learning"
        record = run_learning(folder, list(FAMILIES), Size(), print)
        RECORD.write_text(json.dumps(record, indent=1, default=float) + "\n", encoding="utf-8")
        for name in REAL:
            ship(name, record, folder)
    text = table(json.loads(RECORD.read_text(encoding="utf-8")))
    print(text)
    renew(text)


if __name__ == "__main__":
    main()
