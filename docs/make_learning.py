"""Writes docs/what_learning_does.md from records of the protocols `paper-learning` and `paper-learning-box` and of
multi-wells.

python docs/make_learning.py [FOLDER OF DOCS]

What the tables need of the records is kept in benchmarks/records/paper_learning.safetensors; records in the folder of
that name, where there is one, take the place of those that were kept of the same cell and method. Baselines come from
the records of docs/make_results.py, the rows on memory from benchmarks/records/multiwell_memory.json, what training
took from the cards of `weights`, and the paper's statements from benchmarks/records/theory.json.
"""

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))  # for make_results

from make_results import folded, load_digests, read

from shapeopt.bench.digest import Digest
from shapeopt.bench.formats import to_markdown
from shapeopt.bench.layout import MISSING, number
from shapeopt.paper.find import CHECKOUT
from shapeopt.paper.protocols import PROTOCOLS
from shapeopt.paper.tables.table import PER_PROTOCOL, TABLES
from shapeopt.paper.weights import load_card

DOCS = Path(__file__).parent
Card = Mapping[str, Any]
RECORDS = DOCS.parent / "benchmarks" / "records"
PAGE = "what_learning_does.md"
INTRODUCTION = """# What the paper's learning does

Every table here is made by `python docs/make_learning.py` from records; how to [train](train.md) and what each policy's
[card](model_cards.md) says is on other pages. `paper` is trained as the paper has it; `tuned` otherwise.

```
python benchmarks/train_paper.py runs && python benchmarks/ship.py runs/*
shapeopt bench run paper-learning --out benchmarks/records/paper_learning         # paper-learning-box: likewise
python docs/make_learning.py
```

## The paper's cells
"""
PARTS = """## With parts taken away

Each trained cell with the policy as trained, other training seeds, the initialisation, both networks zero, no place,
no controller, nothing written to memory, with paired differences and intervals.
"""
MEMORY = """## Memory on multi-wells

The paper's policy reaches .602 of the multi-wells with its memory and .300 without. It leaves open when a stage
counts as stalled, which decides what is written, and what U_mem and V_bar look like, which decide what a write does.
`benchmarks/multiwell_memory.py` takes the parts apart, on {tasks} tasks of {cell} that were used for nothing else;
all rows but those of named policies are untrained.
"""
FINDINGS = """What it takes:

- **A stall that noise does not hide.** With thresholds on single readings hardly anything is written: at the bottom
  of a well the noise of a gradient, .1, is mostly above a twentieth of a typical force. Since only stalls and escapes
  write, and the teacher calls for an escape only after a stall or where the memory makes other ground novel, nothing
  ever starts. Judged over a whole stage (forces, moves and values cancel to less than half of their sum) stalls are
  seen.
- **A U_mem that fills.** On the archive of basins a known basin is as high after a hundred visits as after a few, and
  lower than the barrier around it: nothing changes, whatever is written. On the cells of m_s, which rise with every
  write as in metadynamics, a well in which stages keep stalling is filled until the plant flows out of it.

Both together, and neither alone, make the memory worth what the paper says. Training as written, on double wells, then
takes some of it back: `paper-multiwell-1` is better with its memory than with nothing written to it, and worse than
untrained. It is phases I and II that do this: over these {early} updates its validation loss went from {first:.3f} to
{then:.3f}, that of a policy that never leaves its basin, and it ended at {last:.3f}. With the best value weighing four
times as much as the last one in phase III, and runs of 256 readings (`tuned-multiwell-1` of
`benchmarks/train_paper.py`), validation rose likewise in phases I and II: its best weights are the untrained ones,
which are not shipped. That it is the teacher's plans and forces that keep the plant in its basin is a guess from when
the loss comes (phases I and II); no experiment tells.
"""


LIMITS = """## Why gradients teach little, and what `tuned` does instead

- **The derivative of an outcome is zero where runs settle.** The networks have authority: masses within e^-3 and e^3 of
  the stiffness that readings show, damping, a push, the anchor. But a run that has come to the bottom of a basin ends
  at the same value under any small change of the weights. Trained by backpropagation on the best value alone, in runs
  of the protocol's length, without the teacher and with bounded adjoints, the gradients in two dimensions are zero to
  three digits and no update changes the validation loss. What moves as-written networks is the teacher.
- **Where they do not settle they are chaotic.** Then derivatives grow at every reading, and updates are skipped; the
  cards count them.
- **Runs compared with runs teach.** `tuned` changes what the networks say to all coordinates alike by an evolution
  strategy, whose perturbations are large enough to end in other basins. The gains keep their first values: “networks
  zero” is the untrained policy, and all that is learned is in the networks.
- **A few gains can say it, too.** On Ackley in two dimensions the same strategy over networks and gains together
  learned at least as much, and nothing of it was lost when the networks were set to zero afterwards. The paper has no
  such gains; with them, its networks are not needed for what is learned there.
- **Precision can be learned, too.** `tuned-ackley-2` never refines, since in 48 calls long steps pay more. In
  `tuned-ackley-2-box` the last value counts as much as the best and a run should come to rest in its last quarter: it
  learns to return to the best place and to refine there in the second half of a run. Over the heads instead of the
  gains, with the last value weighing a quarter, it learned to rest, but in the basin where the plant happened to be;
  which of the two changes made the difference was not tested. Its gains hold all of it: with its networks zero it is as
  good.
- **It is bought with precision, and it is for these starts.** Long steps find the lowest basin and do not settle in
  it: on Lévy in two dimensions fewer runs hit the target, though their mean gap is a small part of what it was, and
  on S6 far more trajectories of `tuned-ackley-2` hit than the paper's, and none comes within 1e-8. With optima and
  starts anywhere in the box Lévy in 20 and 100 dimensions is worse than untrained; see the tables.
- **What the heads say carries over, in part.** Moved to the nearest other dimension, they beat the heads trained there
  in some cells (those that were trained on few tasks an update) and are worse in most, above all in two dimensions and
  on Lennard-Jones 18; a line below the tables with parts taken away says which.
- **Rastrigin is not learned.** Validation of `tuned` runs does not change in the third digit in 2, 20 and 100
  dimensions, and no such policy is shipped. A guess: the slope towards better basins is a thirtieth of that of the
  ripples, and some fifty readings do not average it out. Trained as written, validation in 20 dimensions went from
  {first:.4f} to {last:.4f}.
"""


COST = """## What training took

By the cards of the policies: clock seconds on one core, most of the time shared with other work, so that the same
updates differ by a factor of several. {missing}
"""
THEORY = """## The paper's statements on these policies

`shapeopt theory FOLDER --policies NAME ... --json` checks each statement of the paper about stages and runs on real
runs of a policy, and breaks some where one of their assumptions is taken away. The constant C_1 of the discrete step
is estimated on half of the starts; where the other half exceeds it the statement counts as broken, which says that the
estimate was too low. {runs} runs of each of {policies}.
"""


MORE = """## What the paper names without figures

Phase retrieval read by mini-batches of half of the measurements, and the plants beside the double integrator (protocol
`paper-more`); there with policies that were trained on the double integrator, none having been trained on them.
"""


ELSEWHERE = """## Settings S1 to S6 and oracles

`paper-ackley-2` and `tuned-ackley-2`, trained for 48 calls from the paper's starts with exact gradients, on the paper's
settings and oracles: Ackley, starts anywhere in the box, 256 to 2,048 calls. `tuned_box` is `tuned-ackley-2-box`,
trained for 256 calls with starts anywhere in the box.
"""


def main(docs: Path = DOCS) -> None:
    read(RECORDS / "paper_learning")  # keeps what is new
    (docs / PAGE).write_text(page(kept(), memory_record(), cards_of(), theory_record()), encoding="utf-8")
    print(f"wrote {docs / PAGE}")


def kept() -> list[Digest]:
    """The digests of the repository: baselines and what was recorded of trained policies."""
    return [one for name in ("bench", "paper_learning") for one in load_digests(RECORDS / f"{name}.safetensors")]


def memory_record() -> dict[str, Any]:
    return json.loads((RECORDS / "multiwell_memory.json").read_text())


def cards_of(folder: Path = CHECKOUT) -> dict[str, Card]:
    """The cards of all policies of the repository, by name."""
    return {path.stem: load_card(path.with_suffix("")) for path in sorted(folder.glob("*.json"))}


def theory_record() -> dict[str, Any]:
    return json.loads((RECORDS / "theory.json").read_text())


def page(
    found: Sequence[Digest], memory: dict[str, Any], cards: Mapping[str, Card], statements: Mapping[str, Any]
) -> str:
    tables = {
        name: folded(to_markdown(TABLES[name].build(found, 0)))
        for name in ("training", "paper-learning", "paper-learning-box")
    }
    return "\n".join(
        [
            INTRODUCTION,
            tables["training"],
            cost(cards),
            LIMITS.format(**validation(cards["paper-rastrigin-20"])),
            MEMORY.format(**memory["about"]),
            memory_table(memory["rows"]),
            FINDINGS.format(**validation(cards["paper-multiwell-1"])),
            PARTS,
            tables["paper-learning"],
            tables["paper-learning-box"],
            *elsewhere(found),
            *more(found),
            theory(statements),
        ]
    )


def validation(card: Card) -> dict[str, Any]:
    """Validation loss at first, after phases I and II, and at last; how many updates these phases have."""
    about = card["about"]
    early = about["schedule"]["controller_pretrain"] + about["schedule"]["planner_pretrain"]
    curve = about["validation"]
    then = next(loss for update, loss in curve if update >= early)
    return {"early": early, "first": curve[0][1], "then": then, "last": curve[-1][1]}


def cost(cards: Mapping[str, Card]) -> str:
    """What the cards say that training took, a row a kind and dimension, and which cells nobody trained as written."""
    groups: dict[tuple[str, int], list[dict[str, Any]]] = {}
    for name, card in cards.items():
        groups.setdefault((name.partition("-")[0], card["settings"]["d"]), []).append(card["about"])
    heads = ("kind", "d", "policies", "updates", "readings", "seconds", "updates skipped, not finite")
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for (kind, d), abouts in sorted(groups.items()):
        shown = (spans(about[name] for about in abouts) for name in ("updates", "calls", "seconds"))
        skipped = spans(100 * about["skipped_updates"] / about["updates"] for about in abouts)
        lines.append(f"| {kind} | {d} | {len(abouts)} | {' | '.join(shown)} | {skipped} % |")
    wanted = [f"{cell.family.name}-{cell.family.dimension}" for cell in PROTOCOLS["paper-learning"].cells]
    absent = [one for one in wanted if f"paper-{one}" not in cards]
    missing = f"Not trained as written: {', '.join(absent)}." if absent else ""
    return f"{COST.format(missing=missing)}\n{chr(10).join(lines)}\n"


def spans(values: Iterable[float]) -> str:
    """The lowest and the highest of some figures."""
    ordered = sorted(values)
    low, high = (f"{end:,.0f}" if end < 1e6 else f"{end:.1e}" for end in (ordered[0], ordered[-1]))
    return low if low == high else f"{low} to {high}"


def theory(record: Mapping[str, Any]) -> str:
    """A row a statement: on how many policies it held, and the case that breaks it."""
    statements = record["statements"]
    policies = list(dict.fromkeys(one["policy"] for one in statements))
    lines = ["| statement | held on | broken on | a case that breaks it, on the first policy |", "|---|---|---|---|"]
    for title in dict.fromkeys(one["title"] for one in statements):
        mine = [one for one in statements if one["title"] == title]
        held = sum(one["holds"] for one in mine)
        broken = ", ".join(one["policy"] for one in mine if not one["holds"]) or "none"
        case = next((line for one in mine for line in one["found"] if line.startswith("broken")), MISSING)
        lines.append(f"| {title} | {held} of {len(mine)} | {broken} | {case.replace('|', chr(92) + '|')} |")
    names = ", ".join(f"`{name}`" for name in policies)
    return f"{THEORY.format(runs=record['runs'], policies=names)}\n{chr(10).join(lines)}\n"


def elsewhere(found: Sequence[Digest]) -> list[str]:
    """The trained policies' rows of S1 to S6 and of the oracles, if there are records of them."""
    mine = [
        one
        for one in found
        if one.protocol in ("settings", "oracles") and one.method in ("paper", "tuned", "tuned_box")
    ]
    names = [name for name in ("settings", "oracles") if any(one.protocol == name for one in mine)]
    return [ELSEWHERE, *(folded(to_markdown(TABLES[name].build(mine, 0))) for name in names)] if names else []


def more(found: Sequence[Digest]) -> list[str]:
    """The table of `paper-more`, if there are records of it."""
    mine = [one for one in found if one.protocol == "paper-more"]
    return [MORE, folded(to_markdown(PER_PROTOCOL["protocol"](mine, 0)))] if mine else []


def memory_table(rows: Sequence[dict[str, Any]]) -> str:
    heads = (
        "policy",
        "success",
        "95 % interval",
        "mean gap",
        "median gap",
        "stages a run that end in a write",
        "success less no memory",
    )
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for row in rows:
        mean, low, high = row["less_no_memory"]
        inside = " to ".join(number(end) for end in row["success_interval"])
        parts = (row["policy"], number(row["success"]), inside, number(row["lowest_gap"]), number(row["median_gap"]))
        lines.append(f"| {' | '.join(parts)} | {row['writes']:.1f} | {mean:+.3f} ({low:.3f} to {high:.3f}) |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:2]))
