"""The gate against slipping back: what was met once, measured again and paired with the stored record.

    python3 dev.py gate                  compare with benchmarks/records/gate.json; exit code 1 if something fell short
    python3 dev.py gate --renew          write the record anew, on purpose, with a line in CHANGELOG.md
    python3 dev.py gate --plant FAULT    plant a fault (slow-step, weak-line-search, no-tactic), to see it caught

Calls are the main signal: they repeat exactly on one machine, so that any difference comes from the code. A slice fell
short if its areas, paired problem by problem with the record's, are lower in the mean by more than 2.5 standard errors
and by more than 0.005; over all slices 2 standard errors are enough. Calls to a basin's floor are compared by their
geometric mean, likewise with 2 standard errors. A tactic that is never used any more is named. Times are multiples of
SciPy's in the same run, with wide margins; functions called for one reading repeat exactly, but for other versions of
NumPy.
"""

import json
import sys
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal

import gate_measure as measure
import numpy as np
import tyro

from shapeopt.core.fingerprint import environment
from shapeopt.optimizer import Policy

RECORD = Path(__file__).parent / "records" / "gate.json"
# How much worse than its record a figure may be: (factor, whether larger is worse)
MARGINS = {
    "first answer": (1.25, True),
    "overhead a call": (1.3, True),
    "functions a reading": (1.1, True),
    "batch throughput": (0.6, False),
}
LEAST = {"area": 0.005, "floor": 0.02}  # of a mean area, and of a mean logarithm of calls; less is not worth a word
USED = 30  # readings of a tactic in the record from which its absence is named
Fault = Literal["slow-step", "weak-line-search", "no-tactic"]
# Settings of the local search that a planted fault makes worse, as far as it has them
WEAKER = {"armijo": 0.45, "growth": 1.05, "largest_growth": 1.2, "first_radius": 0.03}


@dataclass(frozen=True)
class Config:
    """What the gate does."""

    renew: bool = False
    """Write the record anew."""
    plant: Fault | None = None
    """Plant a fault first."""
    only: tuple[Literal["calls", "times"], ...] = ("calls", "times")
    """Which half of the measurements."""
    slices: tuple[str, ...] = ()
    """Only these suites' slices; none stands for all."""
    record: Path = RECORD
    """The record."""


@dataclass(frozen=True)
class Line:
    """One comparison: what, the record's figure, today's, and whether it fell short by more than noise."""

    what: str
    record: str
    now: str
    short: bool


def main(config: Config) -> int:
    began = time.perf_counter()
    before = json.loads(config.record.read_text()) if config.record.is_file() else {}
    subject = planted(config.plant)
    now = measured(subject, config, {} if config.renew else before)
    if config.renew:
        write(config.record, before | now)
        print(f"wrote {config.record.name} after {time.perf_counter() - began:.0f} s; add a line to CHANGELOG.md")
        return 0
    lines = compared(before, now)
    print(f"{'what':44}{'record':>12}{'now':>12}")
    for line in lines:
        print(f"{line.what:44}{line.record:>12}{line.now:>12}  {'FELL SHORT' if line.short else ''}".rstrip())
    short = [line.what for line in lines if line.short]
    print(f"fell short by more than noise: {'; '.join(short)}" if short else "nothing fell short")
    print(f"{time.perf_counter() - began:.0f} s")
    return 1 if short else 0


def planted(fault: str | None) -> measure.Subject:
    """What is measured, with a fault if one is asked for."""
    if fault == "slow-step":
        return measure.Subject(step=lambda: [float(i) for i in range(2000)] and None)
    if fault == "no-tactic":
        return measure.Subject(policy=Policy().without("separable sum"))
    if fault == "weak-line-search":
        return measure.Subject(policy=weakened(Policy()))
    return measure.Subject()


def weakened(policy: Policy) -> Policy:
    """The policy with a local search whose settings are poor."""
    tactics = []
    for tactic in policy.tactics:
        known = {field.name for field in fields(tactic)} if tactic.name == "refine" else set()
        tactics.append(replace(tactic, **{name: WEAKER[name] for name in WEAKER.keys() & known}))
    if tuple(tactics) == policy.tactics:
        raise ValueError(f"`WEAKER` must name settings of the local search; it has none of {', '.join(WEAKER)}.")
    return replace(policy, tactics=tuple(tactics))


def measured(subject: measure.Subject, config: Config, before: Mapping[str, Any]) -> dict[str, Any]:
    """All figures of today; slices have the record's targets where it has them."""
    found: dict[str, Any] = {"environment": environment()}
    if "calls" in config.only:
        rows, readings = {}, Counter()
        for name, problems in measure.slices(config.slices).items():
            known = {key: row["targets"] for key, row in before.get("slices", {}).get(name, {}).items()}
            chosen = [one for one in problems if not before or one.name in known]
            rows[name], used = measure.run_slice(chosen, subject, known if before else None)
            readings.update(used)
            print(f"slice {name}: {len(chosen)} problems", file=sys.stderr, flush=True)
        found |= {"slices": rows, "tactics": dict(readings), "functions a reading": measure.function_calls(subject)}
    if "times" in config.only:
        found["first answer"] = measure.first_answer()
        found["overhead a call"] = measure.overhead(subject)
        found["batch throughput"] = measure.batch_rate()
    return found


def write(path: Path, record: Mapping[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(record, indent=1) + "\n")


def compared(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[Line]:
    """A line for everything that both have."""
    lines = []
    for name in MARGINS:
        lines += [ratio_line(name, key, before[name][key], value) for key, value in shared(before, now, name)]
    if "slices" in before and "slices" in now:
        lines += slice_lines(before["slices"], now["slices"])
        whole = before["slices"].keys() <= now["slices"].keys()
        lines += list(tactic_lines(before["tactics"], now["tactics"])) if whole else []
    return lines


def shared(before: Mapping[str, Any], now: Mapping[str, Any], name: str) -> list[tuple[str, float]]:
    return [(key, value) for key, value in now.get(name, {}).items() if key in before.get(name, {})]


def ratio_line(name: str, key: str, before: float, now: float) -> Line:
    margin, larger_is_worse = MARGINS[name]
    short = now > margin * before if larger_is_worse else now < margin * before
    return Line(f"{name}, {key}", f"{before:.2f}", f"{now:.2f}", short)


def slice_lines(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[Line]:
    """Areas of each slice and of all, and calls to the floor on cutest."""
    pairs = {
        name: [(rows[key], now[name][key]) for key in rows if key in now[name]]
        for name, rows in before.items()
        if name in now
    }
    lines, everything = [], []
    for name, rows in pairs.items():
        areas = [(measure.area(old), measure.area(new)) for old, new in rows]
        everything += areas
        lines.append(area_line(f"area, {name} ({len(areas)} problems)", areas, 2.5))
    lines.append(area_line(f"area, all slices ({len(everything)} problems)", everything, 2.0))
    calls = [(measure.floor_calls(old), measure.floor_calls(new)) for old, new in pairs.get("cutest", [])]
    return [*lines, *([floor_line(calls)] if calls else [])]


def area_line(what: str, pairs: Iterable[tuple[float, float]], errors: float) -> Line:
    old, new = np.array(list(pairs)).T
    return Line(what, f"{old.mean():.4f}", f"{new.mean():.4f}", is_short(old - new, errors, LEAST["area"]))


def floor_line(pairs: Iterable[tuple[float, float]]) -> Line:
    old, new = np.log(np.array(list(pairs))).T
    short = is_short(new - old, 2.0, LEAST["floor"])
    return Line("calls to a basin's floor, cutest", f"{np.exp(old.mean()):.1f}", f"{np.exp(new.mean()):.1f}", short)


def is_short(loss: np.ndarray, errors: float, least: float) -> bool:
    """Whether paired losses are more than noise: their mean above so many standard errors, and above `least`."""
    error = float(np.std(loss, ddof=1) / np.sqrt(len(loss))) if len(loss) > 1 else 0.0
    return bool(loss.mean() > max(errors * error, least))


def tactic_lines(before: Mapping[str, int], now: Mapping[str, int]) -> Iterable[Line]:
    for tactic, count in before.items():
        if count >= USED and not now.get(tactic):
            yield Line(f"readings of the tactic {tactic}", str(count), "0", True)


if __name__ == "__main__":
    sys.exit(main(tyro.cli(Config, description=__doc__, config=(tyro.conf.FlagCreatePairsOff,))))
