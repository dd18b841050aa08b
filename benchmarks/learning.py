"""Measure what training for a family brings: calls before and after, and what it costs on a wrong family.

    python benchmarks/learning.py                      # all families, some minutes; writes records/learning.json
    python benchmarks/learning.py gp waves             # some of them, whose rows of the record are made again
    python benchmarks/learning.py gp --show            # prints, and writes nothing
    python benchmarks/learning.py --table              # the tables of the record, also into docs/train_family.md

Training and held-out instances have different seeds, and for `gp` and `torsions` different data sets and molecules.
Every policy is trained three times, on other instances each time, and runs on the same held-out ones from the same
starts; intervals are bootstraps over instances and trainings. The held-out instances are none that were looked at while
the training was made. `wrong`: a policy on instances of another family of the same dimension and kind of reading,
against the untrained policy. `corner`: `ripples` with all minima in a corner region. The policies of real families (of
the first training) are kept in `weights/families`, with what was measured in their cards.
"""

import argparse
import json
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

from learning_families import DESCRIBED, FAMILIES, REAL, WRONG, Ripples

from shapeopt.training import Trained, train_family
from shapeopt.training.instance import HELD_OUT
from shapeopt.training.run import Run, run_instance
from shapeopt.training.table import DRAWS, TARGETS, area, calls_to, floors

RECORD = Path(__file__).parent / "records" / "learning.json"
PAGE = Path(__file__).parents[1] / "docs" / "train_family.md"
MARKS = "<!-- learning -->", "<!-- end of learning -->"
INSTANCES, HELD, HELD_WRONG = 30, 30, 100
SEEDS = (0, 1, 2)  # of trainings
FRESH = 77 * HELD_OUT  # seeds of the held-out instances begin here
SHIPPED = Path(__file__).parents[1] / "weights" / "families"
PAIRS = (  # trained on, run on: of as many coordinates, with gradients
    *(("ripples", "located"), ("located", "ripples"), ("ripples", "gp"), ("gp", "ripples"), ("gp", "located")),
    *(("ripples", "field 5"), ("located", "wells 5"), ("gp", "field 5"), ("gp", "wells 5")),
    *(("ripples 3", "wells 3"), ("ripples 4", "field 4"), ("arm", "wells 4"), ("arm", "ripples 4"), ("field 4", "arm")),
)
CORNER = (4.2, -4.2, 4.2, 4.2, -4.2)


def train(family: Any, seed: int = 0) -> Trained:
    return train_family(family, budget=family.budget, instances=INSTANCES, held_out=0, seed=seed)


def held_runs(family: Any, policy: Any, count: int = HELD) -> list[Run]:
    made = [family.sample(FRESH + i) for i in range(count)]
    return [run_instance(one, policy, family.budget, i) for i, one in enumerate(made)]


def measure(family: Any, held: Any) -> tuple[dict[str, Any], list[Trained]]:
    began = time.process_time()
    trained = [train(family, seed) for seed in SEEDS]
    seconds = (time.process_time() - began) / len(SEEDS)
    before, after = held_runs(held, "universal"), [held_runs(held, one.policy) for one in trained]
    return entry(before, after, family.budget, trained[0]) | {"training_seconds": round(seconds, 1)}, trained


def entry(before: list[Run], after: list[list[Run]], budget: int, trained: Trained) -> dict[str, Any]:
    lowest = floors(before, *after)
    policy = trained.policy
    about = {
        "opening": policy.opening,
        "late": list(policy.late),
        "later": policy.later,
        "calm": policy.calm if np.isfinite(policy.calm) else None,
        "metric": policy.shape is not None,
    }
    about |= {"regression": policy.regression is not None, "prior": policy.prior, "budget": budget}
    areas: dict[str, Any] = {"area_before": area(before, lowest, budget)}
    areas |= {"area_after": float(np.mean([area(runs, lowest, budget) for runs in after]))}
    return {"rows": [row(before, after, lowest, share, budget) for share in TARGETS]} | areas | about


def row(before: list[Run], after: list[list[Run]], lowest: np.ndarray, share: float, budget: int) -> dict[str, float]:
    """Median calls to a target before and after, all trainings together, and their ratio with its interval."""
    was = calls_to(before, lowest, share, budget)
    now = np.array([calls_to(runs, lowest, share, budget) for runs in after])
    ratios = [np.median(now[np.ix_(*chosen)]) / np.median(was[chosen[1]]) for chosen in draws(*now.shape)]
    low, high = np.quantile(ratios, [0.025, 0.975])
    found = {"target": share, "before": np.median(was), "after": np.median(now)}
    found |= {"solved_before": np.mean(was <= budget), "solved_after": np.mean(now <= budget)}
    found |= {"ratio": np.median(now) / np.median(was), "low": low, "high": high}
    each = np.median(now, axis=1) / np.median(was)
    return {name: float(value) for name, value in found.items()} | {"by_training": each.tolist()}


def draws(trainings: int, instances: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Which trainings and which instances each bootstrap sample has."""
    rng = np.random.default_rng(0)
    return [(rng.integers(trainings, size=trainings), rng.integers(instances, size=instances)) for _ in range(DRAWS)]


def wrong(policies: dict[str, list[Trained]]) -> Iterator[dict[str, Any]]:
    """Pairs of families whose first is among the policies, or in no table but this one."""
    for own, other in PAIRS:
        if own in WRONG and own not in policies:
            policies[own] = [train(WRONG[own])]
        if own in policies:
            yield {"trained_on": own, "run_on": other} | cost(policies[own][0], other)


def cost(trained: Trained, other: str) -> dict[str, float]:
    """Areas of the untrained policy and of a wrong one, and their ratio with an interval over instances."""
    held = WRONG[other] if other in WRONG else FAMILIES[other][1]
    before, after = (held_runs(held, policy, HELD_WRONG) for policy in ("universal", trained.policy))
    lowest = floors(before, after)
    each = np.array(
        [[area([run], lowest[i : i + 1], held.budget) for i, run in enumerate(runs)] for runs in (before, after)]
    )
    samples = [each[:, chosen].mean(axis=1) for _, chosen in draws(1, HELD_WRONG)]
    low, high = np.quantile([now / was for was, now in samples], [0.025, 0.975])
    was, now = each.mean(axis=1).tolist()
    return {"before": was, "after": now, "ratio": now / was, "low": float(low), "high": float(high)}


def corner() -> dict[str, Any]:
    """The gain on `ripples` where all minima lie in a corner region."""
    family = Ripples(region=CORNER)
    return measure(family, family)[0]


def table(record: dict[str, Any]) -> str:
    """Families, and ratios of areas on wrong ones."""
    lines = [
        "| family | d_tau | real | trainings | calls before | after | ratio | 95 % interval | area before | after |",
        "|" + "---|" * 10,
    ]
    lines += [_line(name, one) for name, one in record["families"].items()]
    if "corner" in record:
        lines.append(_line("ripples, minima in a corner", record["corner"]))
    if record.get("wrong"):
        lines += ["", "| trained on | run on | area untrained | trained | ratio | 95 % interval |", "|" + "---|" * 6]
    for one in record.get("wrong", ()):
        areas = f"{one['before']:.3f} | {one['after']:.3f} | {one['ratio']:.2f}"
        lines.append(f"| {one['trained_on']} | {one['run_on']} | {areas} | {one['low']:.2f} to {one['high']:.2f} |")
    return "\n".join(lines)


def _line(name: str, one: dict[str, Any]) -> str:
    row = next(row for row in one["rows"] if row["target"] == 1e-3)
    marks = ("yes" if name in DESCRIBED else "", "yes" if name in REAL else "", len(row.get("by_training", [0])))
    cells = [name, *marks, f"{row['before']:.0f}", f"{row['after']:.0f}", f"{row['ratio']:.2f}"]
    cells += [f"{row['low']:.2f} to {row['high']:.2f}", f"{one['area_before']:.3f}", f"{one['area_after']:.3f}"]
    return f"| {' | '.join(map(str, cells))} |"


def renew(text: str) -> None:
    """Put the tables between the marks of the page."""
    page = PAGE.read_text(encoding="utf-8")
    head, tail = page.partition(MARKS[0])[0], page.partition(MARKS[1])[2]
    PAGE.write_text(f"{head}{MARKS[0]}\n\n{text}\n\n{MARKS[1]}{tail}", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("families", nargs="*", default=list(FAMILIES))
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--table", action="store_true")
    arguments = parser.parse_args()
    if arguments.table:
        text = table(json.loads(RECORD.read_text()))
        print(text)
        renew(text)
        return
    policies: dict[str, list[Trained]] = {}
    for name in arguments.families:
        found, policies[name] = measure(*FAMILIES[name])
        keep({"families": {name: found}}, arguments.show)
        if name in REAL and not arguments.show:
            ship(name, found, policies[name][0])
    for pair in wrong(policies):
        keep({"wrong": [pair]}, arguments.show)
    if "ripples" in policies:
        keep({"corner": corner()}, arguments.show)


def keep(news: dict[str, Any], show: bool) -> None:
    """Print what was measured, and unless it is only shown let it take the place of the same in the record."""
    print(table({"families": {}} | news), flush=True)
    if show:
        return
    known = json.loads(RECORD.read_text()) if RECORD.exists() else {"families": {}, "wrong": []}
    known |= {"instances": INSTANCES, "held_out": HELD, "trainings": len(SEEDS), "held_out_wrong": HELD_WRONG}
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
