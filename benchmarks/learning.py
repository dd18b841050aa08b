"""Measure what training for a family brings: calls before and after, and what it costs on a wrong family.

    python benchmarks/learning.py                      # all families, some minutes; writes records/learning.json
    python benchmarks/learning.py gp waves             # some of them, whose rows of the record are made again
    python benchmarks/learning.py gp --show            # prints, and writes nothing
    python benchmarks/learning.py --table              # the table of the record

Training and held-out instances have different seeds, and for `gp` and `torsions` different data sets and molecules.
Every policy starts from the same places. `wrong`: a policy on the held-out instances of another family of the same
dimension and kind of reading, against the untrained policy. `corner`: `ripples` with all minima in a corner region. The
policies of real families are kept in `weights/families`, with what was measured in their cards.
"""

import argparse
import json
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

from learning_families import DESCRIBED, FAMILIES, REAL, Ripples

from shapeopt.training import Trained, train_family
from shapeopt.training.instance import HELD_OUT
from shapeopt.training.run import Run, run_instance
from shapeopt.training.table import area, as_plain, compare, floors

RECORD = Path(__file__).parent / "records" / "learning.json"
INSTANCES, HELD = 30, 30
SHIPPED = Path(__file__).parents[1] / "weights" / "families"
SAME = ("ripples", "located", "gp")  # five coordinates and gradients: each is a wrong family for the others
WRONG = tuple((one, other) for one in SAME for other in SAME if one != other)
CORNER = (4.2, -4.2, 4.2, 4.2, -4.2)


def train(family: Any) -> Trained:
    return train_family(family, budget=family.budget, instances=INSTANCES, held_out=0)


def held_runs(family: Any, policy: Any, count: int = HELD) -> list[Run]:
    made = [family.sample(HELD_OUT + i) for i in range(count)]
    return [run_instance(one, policy, family.budget, i) for i, one in enumerate(made)]


def measure(name: str, trained: Trained | None = None) -> tuple[dict[str, Any], Trained]:
    family, held = FAMILIES[name]
    began = time.process_time()
    trained = train(family) if trained is None else trained
    seconds = time.process_time() - began
    before, after = held_runs(held, "universal"), held_runs(held, trained.policy)
    return entry(before, after, family.budget, trained) | {"training_seconds": round(seconds, 1)}, trained


def entry(before: list[Run], after: list[Run], budget: int, trained: Trained) -> dict[str, Any]:
    lowest = floors(before, after)
    policy = trained.policy
    about = {
        "opening": policy.opening,
        "late": list(policy.late),
        "later": policy.later,
        "calm": policy.calm if np.isfinite(policy.calm) else None,
        "metric": policy.shape is not None,
    }
    about |= {"regression": policy.regression is not None, "prior": policy.prior, "budget": budget}
    areas = {"area_before": area(before, lowest, budget), "area_after": area(after, lowest, budget)}
    return {"rows": as_plain(compare(before, after, budget))} | areas | about


def wrong(policies: dict[str, Trained]) -> list[dict[str, Any]]:
    found = []
    for own, other in WRONG:
        if own in policies:
            held = FAMILIES[other][1]
            before, after = held_runs(held, "universal"), held_runs(held, policies[own].policy)
            lowest = floors(before, after)
            was, now = (area(runs, lowest, held.budget) for runs in (before, after))
            found.append({"trained_on": own, "run_on": other, "before": was, "after": now, "ratio": now / was})
    return found


def corner() -> dict[str, Any]:
    """The gain on `ripples` where all minima lie in a corner region."""
    family = Ripples(region=CORNER)
    trained = train(family)
    return entry(held_runs(family, "universal"), held_runs(family, trained.policy), family.budget, trained)


def table(record: dict[str, Any]) -> str:
    lines = [
        "| family | d_tau | real | calls before | after | ratio | 95 % interval | area before | after |",
        "|" + "---|" * 9,
    ]
    for name, one in record["families"].items():
        row = next(row for row in one["rows"] if row["target"] == 1e-3)
        marks = ("yes" if name in DESCRIBED else "", "yes" if name in REAL else "")
        lines.append(
            f"| {name} | {marks[0]} | {marks[1]} | {row['before']:.0f} | {row['after']:.0f} | {row['ratio']:.2f} | "
            f"{row['low']:.2f} to {row['high']:.2f} | {one['area_before']:.3f} | {one['area_after']:.3f} |"
        )
    for one in record.get("wrong", ()):
        places = f"{one['trained_on']} on {one['run_on']}"
        lines.append(f"\n{places}: area {one['before']:.3f} -> {one['after']:.3f}, ratio {one['ratio']:.2f}")
    if "corner" in record:
        lines.append("\n" + table({"families": {"ripples, minima in a corner": record["corner"]}}).splitlines()[-1])
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("families", nargs="*", default=list(FAMILIES))
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--table", action="store_true")
    arguments = parser.parse_args()
    if arguments.table:
        print(table(json.loads(RECORD.read_text())))
        return
    policies: dict[str, Trained] = {}
    for name in arguments.families:
        found, policies[name] = measure(name)
        keep({"families": {name: found}}, arguments.show)
        if name in REAL and not arguments.show:
            ship(name, found, policies[name])
    keep({"wrong": wrong(policies)}, arguments.show)
    if "ripples" in policies:
        keep({"corner": corner()}, arguments.show)


def keep(news: dict[str, Any], show: bool) -> None:
    """Print what was measured, and unless it is only shown let it take the place of the same in the record."""
    print(table({"families": {}} | news), flush=True)
    if show:
        return
    known = json.loads(RECORD.read_text()) if RECORD.exists() else {"families": {}, "wrong": []}
    known |= {"instances": INSTANCES, "held_out": HELD}
    known["families"] |= news.get("families", {})
    pairs = {(one["trained_on"], one["run_on"]): one for one in [*known["wrong"], *news.get("wrong", [])]}
    known["wrong"] = list(pairs.values())
    known |= {name: news[name] for name in news if name not in ("families", "wrong")}
    RECORD.write_text(json.dumps(known, indent=1, default=float) + "\n")


def ship(name: str, found: dict[str, Any], trained: Trained) -> None:
    """Keep the policy of a real family, with a card."""
    SHIPPED.mkdir(parents=True, exist_ok=True)
    family = FAMILIES[name][0]
    about = {"family": f"benchmarks/learning_families.py: {type(family).__name__}", "data": type(family).__doc__}
    card = dict(trained.policy.card) | about | {"held_out": HELD, "measured": found}
    card |= {"command": f"python benchmarks/learning.py {name}"}
    replace(trained.policy, card=card).save(SHIPPED / name)


if __name__ == "__main__":
    np.seterr(all="ignore")
    main()
