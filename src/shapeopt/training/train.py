"""Train a policy for a family.

    1  the untrained optimizer runs on every training instance, with `effort` times the budget
    2  each instance is descended again from where the others say that its best basin is (agree.py), so that of several
       equivalent minima the same one is remembered everywhere
    3  places, metric, regression and prior are learned (learn.py); boxes open at a seam in periodic coordinates
    4  the planner's settings (places in the opening; which of the learned parts; tactics that do not pay) are chosen on
       instances left out of what was learned, four folds, one change at a time; if the untrained policy is as good
       there, it is kept
    5  untrained and trained policy run on held-out instances

What is learned comes from the optimizer's own runs; no known minimum is asked for.
"""

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..core.fingerprint import describe, versions
from ..engines.host import whole
from ..family import FamilyPolicy
from ..family.regression import fit_regression
from ..optimizer import Policy
from ..tactics.recall import JUDGED
from .agree import agreed
from .combine import combined
from .instance import Source, class_source, is_folder, list_source
from .jobs import Job, Jobs, Progress
from .learn import Facts, learn
from .periodic import Seam, find_seam
from .planner import choose
from .run import Run, RunStore, hessian_at, usual_at, values_at
from .table import Row, area, as_plain, calls_to, compare, floors, lines

FEWEST_SHARES = 5  # of forces, without which any is believed
USUAL = 0.9  # share of instances that a memory is believed in at the least, without
SLACK = 1.3  # this factor
NOTHING = "training brought nothing on problems left out of it: the policy is the untrained one; more effort may help"


@dataclass(frozen=True, eq=False)
class Trained:
    """What training made. Printed, it is the table of before and after.

    Args:
        policy: what `minimize(policy=...)` takes.
        before: untrained runs on the held-out problems.
        after: trained runs on the same.
        rows: the table.
        budget: calls of these runs.

    Example:
        trained = shapeopt.train_family("mypackage.fits:Spectra", out="runs/spectra", budget=100)
        print(trained)
        before, after = trained.calls(share=1e-3)
    """

    policy: FamilyPolicy
    before: list[Run]
    after: list[Run]
    rows: list[Row]
    budget: int

    def calls(self, share: float = 1e-3) -> tuple[np.ndarray, np.ndarray]:
        """Calls to a share of the start's gap on the held-out problems.

        Args:
            share: of the difference between the value at the start and the best one known.

        Returns:
            Calls before and after training, a number for each problem; budget + 1 where it was never reached.
        """
        lowest = floors(self.before, self.after)
        was, now = (calls_to(runs, lowest, share, self.budget) for runs in (self.before, self.after))
        return was, now

    def draw(self, path: str | Path, share: float = 1e-3) -> None:
        """Draw these calls into a file; needs the extra `report`.

        Args:
            path: the picture, such as `calls.png`.
            share: as `calls` has it.
        """
        from ..plots.calls import draw_calls
        from ..plots.style import save

        save(draw_calls(*self.calls(share), self.budget, share), Path(path))

    def __str__(self) -> str:
        said = lines(self.rows, len(self.before)) if self.rows else ["no problems were held out"]
        return "\n".join(said if self.policy.pays else [*said, NOTHING])


def train_family(
    family: Any,
    out: str | Path | None = None,
    *,
    bounds: Any = None,
    jac: Any = None,
    budget: int = 150,
    instances: int = 40,
    held_out: int | None = None,
    effort: int = 2,
    seed: int = 0,
    workers: int = 1,
    progress: Progress | None = None,
) -> Trained:
    """Learn where a family's good basins are, how they are curved, and which tactics pay.

    Args:
        family: a class with a method `sample(seed) -> Instance`, an object of one, or `package.module:Class`; a list of
            `Instance`s or of functions; or a folder of journals of earlier runs (`minimize(..., journal=...)`).
        out: a folder in which the runs, the policy and its card are kept; a training that was stopped goes on there.
        bounds, jac: of functions in a list, as `minimize` takes them.
        budget: calls of the runs that the policy is for.
        instances: how many problems a class is sampled for.
        held_out: on how many problems before and after are compared; None: 20 of a class, a quarter of a list.
        effort: the first runs have so many times the budget.
        seed: of a class's samples.
        workers: processes; more than one where `family` is `package.module:Class`.
        progress: called with (what goes on, runs done, runs in all).

    Returns:
        `Trained`: its `policy` is what `minimize(policy=...)` takes; printed, it is the table of before and after.

    Raises:
        ValueError: the family has too few problems, or problems without bounds or of several dimensions.

    Example:
        trained = shapeopt.train_family(objectives, bounds=(-5, 5), jac=True, budget=100)
        result = shapeopt.minimize(another, x0, bounds=(-5, 5), jac=True, budget=100, policy=trained.policy)
    """
    for name, value, least in (("budget", budget, 5), ("instances", instances, 3), ("effort", effort, 1)):
        if whole(name, value) < least:
            raise ValueError(f"`{name}` must be a whole number of at least {least}; got {value!r}.")
    budget, instances, effort = int(budget), int(instances), int(effort)
    began, folder = time.perf_counter(), None if out is None else Path(out)
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    before: list[Run] = []
    after: list[Run] = []
    if is_folder(family):
        from .journals import facts_of_journals

        facts = facts_of_journals(Path(family))
        policy = learn(facts)
        about: dict[str, Any] = {"family": "journals", "instances": len(facts.x)}
    else:
        source = _source(family, bounds, jac, instances, held_out, seed)
        training = _Training(source, folder, budget, effort, seed, workers, progress)
        policy, before, after = training.train()
        about = {"family": source.name or describe(family), "instances": source.training, "held_out": source.held_out}
    rows = compare(before, after, budget) if before else []
    card = about | {"budget": budget, "effort": effort, "seed": seed, "seconds": round(time.perf_counter() - began, 1)}
    card |= {"table": as_plain(rows), "versions": versions()} | _areas(before, after, budget)
    policy = replace(policy, card=card)
    if folder is not None:
        policy.save(folder / "policy")
    return Trained(policy, before, after, rows, budget)


def _areas(before: list[Run], after: list[Run], budget: int) -> dict[str, float]:
    if not before:
        return {}
    lowest = floors(before, after)
    return {"area_before": area(before, lowest, budget), "area_after": area(after, lowest, budget)}


def _source(family: Any, bounds: Any, jac: Any, instances: int, held_out: int | None, seed: int) -> Source:
    if isinstance(family, str) or hasattr(family, "sample"):
        return class_source(family, instances, 20 if held_out is None else held_out, seed)
    if isinstance(family, Iterable):
        return list_source(family, bounds, jac, held_out)
    raise ValueError(f"`family` must be a class with `sample`, a list, or a folder of journals; got {family!r}.")


class _Training:
    """The five steps on a source that can be called."""

    def __init__(
        self,
        source: Source,
        folder: Path | None,
        budget: int,
        effort: int,
        seed: int,
        workers: int,
        progress: Progress | None,
    ) -> None:
        self.source, self.budget, self.effort, self.label = source, budget, effort, f"{seed}/{budget}/{effort}"
        self.label += f"/{source.training}"
        store = RunStore(None if folder is None else folder / "runs.jsonl")
        self.jobs = Jobs(source, store, seed, workers, progress)
        self.numbers = list(range(source.training))

    def train(self) -> tuple[FamilyPolicy, list[Run], list[Run]]:
        budget = self.budget
        first = self._runs("untrained", "universal", self.numbers, self.effort * budget)
        self.seam = self._seam(np.array([run.x for run in first]))
        facts = self._facts(first, self.seam.unrolled(np.array([run.x for run in first])))
        facts = agreed(facts, self._descend)
        facts = replace(self._facts(first, facts.x, combined(facts.x, facts.scale)), best=facts.best)
        if facts.combined is not None:
            facts = self._from_combined(first, facts)
        settings = choose(self.jobs, facts, first, budget, f"{self.label}/choose")
        policy = learn(facts, **settings)
        calm, fall = self._usual(facts, policy)
        policy = replace(policy, calm=calm, fall=fall)
        held = [self.source.training + i for i in range(self.source.held_out)]
        before = self._runs("held out, untrained", "universal", held, budget)
        digest = describe(policy)
        after = self._runs("held out, trained", policy, held, budget, digest) if held else []
        return policy, before, after

    def _runs(self, what: str, policy: Any, numbers: list[int], budget: int, word: str = "") -> list[Run]:
        named = policy if isinstance(policy, str) else "trained"
        jobs = [Job(f"{self.label}/{what}/{named}{word}/{n}/{budget}", n, policy, budget) for n in numbers]
        return self.jobs.run(what, jobs)

    def _from_combined(self, first: list[Run], facts: Facts) -> Facts:
        """The facts after a descent of each instance from its lowest combination, where one is lower than its best
        basin so far."""
        places, values = facts.combined, facts.values
        assert places is not None and values is not None
        lowest = places[np.argmin(values[:, -len(places) :], axis=1)]
        found = self._descend("combined", self.numbers, list(lowest))
        better = np.array([run.fun for run in found]) < facts.best
        x = np.where(better[:, None], np.array([run.x for run in found]), facts.x)
        best = np.minimum(facts.best, [run.fun for run in found])
        return replace(self._facts(first, x, combined(x, facts.scale)), best=best)

    def _seam(self, x: np.ndarray) -> Seam:
        """Of periodic coordinates; none where instances have different bounds."""
        sides = [self._sides(number) for number in self.numbers]
        lower, upper = sides[0]
        seam = Seam(np.full(lower.size, np.nan), lower, upper)
        if any(not np.array_equal(pair, sides[0]) for pair in sides):
            return seam
        return find_seam([self.jobs.instance(number) for number in self.numbers], x, lower, upper)

    def _facts(self, first: list[Run], x: np.ndarray, places: np.ndarray | None = None) -> Facts:
        made = [self.jobs.instance(number) for number in self.numbers]
        problems = [one.problem(number) for one, number in zip(made, self.numbers, strict=True)]
        if len({problem.x0.size for problem in problems}) > 1:
            raise ValueError("`family` must have problems of one dimension; got several.")
        scale = np.median([problem.upper - problem.lower for problem in problems], axis=0)
        places = np.empty((0, x.shape[1])) if places is None else places
        candidates = self.seam.inside(np.concatenate([x, np.median(x, axis=0)[None, :], places]))
        described = [one.descriptor for one in made]
        rows = None if any(one is None for one in described) else np.array([np.ravel(one) for one in described], float)
        return Facts(
            x=x,
            scale=scale,
            values=np.array([values_at(one, candidates) for one in made]),
            best=np.array([run.fun for run in first]),
            start=np.array([run.start for run in first]),
            hessians=[hessian_at(one, place) for one, place in zip(made, self.seam.inside(x), strict=True)],
            descriptors=rows,
            ratios=[run.ratios for run in first],
            combined=places if len(places) else None,
            seam=self.seam.setting,
            turn=np.stack([self.seam.lower, self.seam.upper]),
        )

    def _usual(self, facts: Facts, policy: FamilyPolicy) -> tuple[float, float]:
        """The force to expect at the first place, as a share of that at x0, and the fall, as a share of force times
        distance: little more, and little less, than in most instances, each judged by a place that it had no part
        in."""
        if policy.profiles is not None and all(self.jobs.instance(number).jac is None for number in self.numbers):
            return np.inf, self._usual_values(facts, policy)
        places = np.repeat(policy.places[:1], len(facts.x), axis=0)
        if policy.regression is not None and facts.descriptors is not None:
            places = fit_regression(facts.descriptors, facts.x, facts.scale)[1]
        shares = []
        for number, place in zip(self.numbers, places, strict=True):
            if not np.array_equal(place, facts.x[number]):
                shares.append(
                    usual_at(self.jobs.instance(number), self._inside(number, place), number, self.seam.unrolled)
                )
        usual = np.array([pair for pair in shares if np.isfinite(pair).all()])
        if len(usual) < FEWEST_SHARES:
            return np.inf, 0.0
        calm, fall = np.quantile(usual[:, 0], USUAL), np.quantile(usual[:, 1], 1.0 - USUAL)
        return SLACK * float(calm), max(float(fall), 0.0) / SLACK

    def _usual_values(self, facts: Facts, policy: FamilyPolicy) -> float:
        """The same for values alone: the fall to the middle one of the first three places, as a share of their
        range."""
        shares = []
        for number in self.numbers:
            values = np.sort(values_at(self.jobs.instance(number), self.seam.inside(policy.places[:JUDGED])))
            if np.isfinite(values).all() and values[-1] > values[0]:
                shares.append((facts.start[number] - values[JUDGED // 2]) / (values[-1] - values[0]))
        return max(float(np.quantile(shares, 1.0 - USUAL)), 0.0) / SLACK if len(shares) >= FEWEST_SHARES else 0.0

    def _descend(self, word: str, numbers: Sequence[int], places: Sequence[np.ndarray]) -> list[Run]:
        """Short runs of instances from places."""
        jobs = []
        policy = "universal" if self.seam.setting is None else Policy(seam=self.seam.setting)
        for number, place in zip(numbers, places, strict=True):
            short, inside = min(40 + 4 * place.size, self.budget), self._inside(number, place)
            jobs.append(Job(f"{self.label}/{word}/{number}", number, policy, short, inside))
        runs = self.jobs.run(word.partition("/")[0], jobs)
        return [replace(run, x=self.seam.unrolled(np.array(run.x)).tolist()) for run in runs]

    def _inside(self, number: int, place: np.ndarray) -> np.ndarray:
        return np.clip(self.seam.inside(place), *self._sides(number))

    def _sides(self, number: int) -> tuple[np.ndarray, np.ndarray]:
        problem = self.jobs.instance(number).problem(number)
        return problem.lower, problem.upper
