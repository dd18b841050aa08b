"""Fills the results of README.md and of some pages of docs from benchmarks/records.

python docs/make_tables.py
"""

import json
import math
import re
from collections.abc import Sequence
from pathlib import Path

from shapeopt.bench.scoreboard import Board
from shapeopt.bench.suite_store import load_boards

ROOT = Path(__file__).parent.parent
RECORDS = ROOT / "benchmarks" / "records"
BEGIN, END = "<!-- results -->", "<!-- end of results -->"
MADE = "Made by `python docs/make_tables.py` from the records that `benchmarks/` wrote."
TOLERANCE = 1e-5
SHOWN = {"all": 3, "near": 1}  # peers a half, of the kinds
NOISY_VALUES = """## By noisy values alone

Seven kinds of objective with several minima in 1 to 10 dimensions, 16 instances of each, kept apart from those of
tuning: 100 to 1,000 calls, noise of .1 to 10 % of the range from the minimum to the median over the box. Regret: how
far the true value at the point that a run gives back is above the minimum, as a share of that range; best basin: an
exact descent from there ends at the minimum. Beside it stand shapeopt with one candidate, with four starts, and begun
at the lowest of uniform samples, a third of the calls (random). `python benchmarks/noisy_values.py` makes it again."""
OWN_KINDS = """## Objectives as users have them

Fits of models to data, designs, layouts, hyperparameters and decisions, written for this comparison
(`benchmarks/kinds/`): active bounds, bounds that are decades apart, rounded values, kinks, plateaus, cliffs and holes
among them, two instances a kind with two seeds each. One rule was made with them, that by values coordinates between
bounds decades apart are searched by their logarithm where the start speaks for it; all other methods see these as they
are. Solved: to 0.1 % of the gap at x0; budgets are 100 to 600 values or 60 to 300 gradients. Ratio: of the default
policy's area to the method's.
`python benchmarks/compare_kinds.py` makes the record.
"""
ABOUT = {  # a suite in the words of a person who has such problems
    "bbob": "BBOB functions",
    "classic": "classic test functions",
    "clusters": "atom clusters",
    "cutest": "CUTEst",
    "fits": "fits of models and ODEs",
    "gp": "Gaussian-process likelihoods",
    "molecules": "molecules and torsions",
    "nist": "NIST nonlinear regression",
    "trajectories": "trajectories",
}


def record_of(name: str) -> dict:
    return json.loads((RECORDS / f"{name}.json").read_text())


def rows(name: str) -> list[dict]:
    return record_of(name)["rows"]


def release(boards: Sequence[Board]) -> list[Board]:
    """One board a suite: its test half, or its dev half where no other was recorded; parts of suites are left out."""
    chosen: dict[str, Board] = {}
    for one in boards:
        newer = one.scores.half == "test" or one.scores.suite not in chosen
        if newer and not one.scores.part and one.ratio is not None:
            chosen[one.scores.suite] = one
    return [chosen[name] for name in sorted(chosen)]


def solved(one: Board, method: str) -> str:
    """The share of problems that a method solved within the budget."""
    return f"{one.scores.solved(TOLERANCE)[one.scores.row(method)].mean():.0%}"


def suites(boards: Sequence[Board]) -> str:
    """A row a suite: the ratio of areas, the share solved, and that of the best single peer."""
    columns = ("problems", "ratio of areas (95&nbsp;%)", "solved", "by the best single peer")
    lines = [f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]
    for one in release(boards):
        scores, interval = one.scores, one.ratio
        assert interval is not None and one.rival is not None
        name = f"[{ABOUT.get(scores.suite, scores.suite)}](docs/results/suite-{scores.suite}.md)"
        ratio = f"{interval.value:.2f} ({interval.low:.2f} to {interval.high:.2f})"
        ratio = f"**{ratio}**" if interval.low > 1 else ratio
        lines.append(
            f"| {name}, {len(scores.problems)} | {ratio} | {solved(one, one.method)} | "
            f"{solved(one, one.rival)} ({one.rival}) |"
        )
    return "\n".join(lines)


def tools(boards: Sequence[Board]) -> str:
    """A row a method, a column a suite: the share solved, best in bold."""
    chosen = release(boards)
    names = dict.fromkeys(name for one in chosen for name in (one.method, *sorted(one.scores.whole())))
    heads = (f"[{one.scores.suite}](results/suite-{one.scores.suite}.md), {one.scores.half}" for one in chosen)
    lines = [f"| solved | {' | '.join(heads)} |", "|---" * (len(chosen) + 1) + "|"]
    lines += [f"| {name} | {' | '.join(_share(one, name) for one in chosen)} |" for name in names]
    return "\n".join(lines)


def _share(one: Board, method: str) -> str:
    """The share of a suite's problems that a method has solved; "-" where it was not run on all of them."""
    whole = one.scores.whole()
    if method not in whole:
        return "-"
    shares = one.scores.solved(TOLERANCE).mean(axis=1)
    share = float(shares[one.scores.row(method)])
    best = max(float(shares[one.scores.row(name)]) for name in whole)
    return f"**{share:.0%}**" if share == best else f"{share:.0%}"


def startup() -> str:
    """Fresh processes beside SciPy's."""
    lines = ["| processor seconds of a fresh process | shapeopt | SciPy's basinhopping | target |", "|---|---|---|---|"]
    for row in rows("startup"):
        theirs = "" if row["scipy"] is None else f"{row['scipy']:.2f}"
        verdict = f"{row['target']}, {'met' if row['passes'] else 'missed'}" if row["target"] else ""
        lines.append(f"| {row['what']} | {row['ours']:.2f} | {theirs} | {verdict} |")
    return "\n".join(lines)


def throughput() -> str:
    """Speed beside SciPy in one run."""
    lines = ["| speed, side by side | shapeopt | SciPy | ratio | target |", "|---|---|---|---|---|"]
    for row in rows("throughput"):
        verdict = ""
        if row["target"] is not None:
            met = row["figure"] >= row["target"] if row["at_least"] else row["figure"] <= row["target"]
            verdict = f"{'≥' if row['at_least'] else '≤'} {row['target']:g}, {'met' if met else 'missed'}"
        lines.append(f"| {row['what']} | {row['ours']} | {row['scipy']} | {row['figure']:.2f} | {verdict} |")
    return "\n".join(lines)


def ablation() -> str:
    """What each tactic earns, a column a kind of problems."""
    found = rows("ablation")
    parts = list(dict.fromkeys(row["part"] for row in found))
    of = {(row["tactic"], row["part"]): row for row in found}
    counts = {row["part"]: f"{row['part']} ({row['problems']})" for row in found}
    lines = ["| without | " + " | ".join(counts[part] for part in parts) + " |", "|---" * (len(parts) + 1) + "|"]
    for tactic in dict.fromkeys(row["tactic"] for row in found):
        cells = (_lost(of.get((tactic, part))) for part in parts)
        lines.append(f"| {tactic} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _lost(row: dict | None) -> str:
    """The area that is lost without a tactic, bold where the interval leaves 0 out."""
    if row is None:
        return "not run"
    if not row["changed"]:
        return "no change"
    low, high = row["interval"]
    text = f"{row['lost']:+.3f} ({low:+.3f} to {high:+.3f})"
    return f"**{text}**" if low > 0 or high < 0 else text


def noise() -> str:
    """Areas in gradient noise beside the best single peer; bold where the ratio's interval is above 1."""
    laws = {
        "relative": "{} of the gradient's size there; values exact",
        "fixed": "{} of its median size; values exact",
        "values": "{} of its median size; values noisy, too",
        "minibatch": "minibatches of {} rows",
    }
    record = json.loads((RECORDS / "noise.json").read_text())
    lines = ["| noise | problems | area | best single peer | its area | ratio (95 %) |", "|---|---|---|---|---|---|"]
    for one in record["summaries"]:
        (peer, theirs), (value, low, high) = next(iter(one["peers"].items())), one["ratio"]
        ratio = f"{value:.2f} ({low:.2f} to {high:.2f})"
        cells = (laws[one["law"]].format(f"{one['level']:g}"), one["problems"], f"{one['area']:.3f}", peer)
        lines.append(f"| {' | '.join(map(str, cells))} | {theirs:.3f} | {f'**{ratio}**' if low > 1 else ratio} |")
    seeds = "one seed" if record["seeds"] == 1 else f"{record['seeds']} seeds"
    return "\n".join(lines) + f"\n\nEach problem was run with {seeds}."


def noisy_values() -> str:
    """Regrets by noisy values alone, a row a method; bold where the interval of the mean logarithm is beyond 0."""
    lines = [
        "| method | mean regret | geometric mean | best basin | log10 of regret, above shapeopt (95 %) |",
        "|---|---|---|---|---|",
    ]
    mine = [one for one in record_of("noisy_values")["summaries"] if one["set"] == "confirm"]
    for one in sorted(mine, key=lambda one: one["geometric"]):
        low, high = one["log_interval"]
        above = f"{one['log_below']:+.2f} ({low:+.2f} to {high:+.2f})" if low < high else ""
        above = f"**{above}**" if low > 0 or high < 0 else above
        cells = (one["method"], f"{one['mean']:.3f}", f"{one['geometric']:.4f}", f"{one['basin']:.0%}", above)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def kinds() -> str:
    """Objectives as users have them: the default policy and the best peers, a row a method."""
    lines = ["| a call is | kinds | method | area | solved | ratio of areas (95 %) |", "|---|---|---|---|---|---|"]
    calls = {"gradients": "a value with its gradient", "values": "a value"}
    parts = {"all": "", "near": ", no bounds decades apart"}
    cases = [(reading, part, half) for reading in calls for part in parts for half in ("dev", "test")]
    for reading, part, half in cases:
        chosen = {"reading": reading, "part": part, "half": half}
        mine = [one for one in record_of("kinds")["summaries"] if chosen.items() <= one.items()]
        for one in mine[: 1 + SHOWN[part]]:
            value, low, high = one["ratio"]
            ratio = f"{value:.2f} ({low:.2f} to {high:.2f})" if one is not mine[0] else ""
            ratio = f"**{ratio}**" if ratio and low > 1 else ratio
            where = f"{one['kinds']}, {half}{parts[part]}"
            cells = (calls[reading], where, one["method"], f"{one['area']:.3f}", f"{one['solved']:.0%}", ratio)
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def planners() -> str:
    """Rivals of the fixed order on generated families."""
    record = record_of("planner_rivals")
    lines = [
        "| rival | change of area | 95 %, over families | over kinds | cells that differ |",
        "|---|---|---|---|---|",
    ]
    for row in record["rows"]:
        interval = f"{row['low']:+.3f} to {row['high']:+.3f}"
        kinds = "{:+.3f} to {:+.3f}".format(*row["kinds"])
        lines.append(f"| {row['rival']} | {row['lead']:+.3f} | {interval} | {kinds} | {row['changed']} |")
    about = (
        f"{record['families']} families, {record['cells']} cells, {record['instances']} instances of each; the fixed "
        f"order has an area of {record['area']:.3f}. `python benchmarks/planner_rivals.py` makes it again."
    )
    return "\n".join([*lines, "", about])


def controllers() -> str:
    """A learned controller of `refine`, and its constants, against the hand-made rule."""
    record = record_of("controller")
    lines = ["| instead of the rule | on | calls to the floor | 95 % interval | floors reached | change of area |"]
    lines.append("|---" * 6 + "|")
    for where, on in (("landscapes", "sampled landscapes"), ("cutest", "cutest, dev"), ("nist", "nist, dev")):
        for name, one in record[where].items():
            reached = f"{one['reached']}, the rule {one['rule_reached']}, of {one['problems']}"
            change = f"{one['area']:+.3f} ({one['area_low']:+.3f} to {one['area_high']:+.3f})" if "area" in one else ""
            lines.append(f"| {name} | {on} | {_ratio(one)} | {reached} | {change} |")
    return "\n".join(lines)


def _ratio(one: dict) -> str:
    return f"{one['ratio']:.3f} | {one['low']:.3f} to {one['high']:.3f}"


def minibatches() -> str:
    """SHAPE through Optax against Adam, tuned, on minibatches."""
    record = record_of("minibatches")
    lines = ["| optimizer | mean loss over all rows at the end |", "|---|---|"]
    shown = sorted(record["rows"], key=lambda row: row["loss"])[:3]
    shown += [row for row in record["rows"] if row["optimizer"].startswith("shape") and row not in shown]
    lines += [f"| {row['optimizer']} | {row['loss']:.4f} |" for row in shown]
    about = (
        f"Ratio to {record['best']}: {_ratio(record).replace(' | ', ' [')}], not above it in {record['reached']} of "
        f"{record['runs']} runs of {record['config']['calls']} calls. `python benchmarks/minibatches.py` makes it."
    )
    return "\n".join([*lines, "", about])


def not_learned() -> list[str]:
    """What the page on families has of attempts to learn something for every problem."""
    return [
        "### A planner over tactics",
        planners(),
        "### The descent's decisions",
        controllers(),
        "### Minibatches",
        minibatches(),
    ]


def speed() -> list[str]:
    """What the page on speed has: first answers and throughput."""
    return ["## Seconds to the first answer", startup(), "## Calls a second", throughput()]


def fill(path: Path, *parts: str) -> None:
    """Put `parts` between the marks of a page."""
    text = "\n\n".join((BEGIN, *parts, END))
    pattern = re.compile(f"{re.escape(BEGIN)}.*{re.escape(END)}", re.S)
    path.write_text(pattern.sub(lambda _: text, path.read_text()))


def main() -> None:
    boards = load_boards(RECORDS / "suites.safetensors")
    halves, power = sorted({one.scores.half for one in release(boards)}), round(math.log10(TOLERANCE))
    note = (
        f"On the {' and '.join(halves)} halves. Solved: the gap to the lowest value known fell to 1e{power} of the gap "
        "at x0, with the same number of calls for all, counted in the objective. Ratio: of the areas under the share "
        "of targets reached over log(calls), to the best single peer of the suite; bold where its interval is above 1. "
        "[All methods, both halves](docs/results.md)."
    )
    fill(ROOT / "README.md", suites(boards), note)
    fill(ROOT / "docs" / "which_tool.md", tools(boards), OWN_KINDS, kinds())
    fill(ROOT / "docs" / "speed.md", *speed(), MADE)
    fill(ROOT / "docs" / "what_tactics_earn.md", ablation())
    fill(ROOT / "docs" / "noisy_gradients.md", noise(), NOISY_VALUES, noisy_values())
    fill(ROOT / "docs" / "train_family.md", *not_learned())


if __name__ == "__main__":
    main()
