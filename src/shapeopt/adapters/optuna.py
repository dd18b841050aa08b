"""`shapeopt.optuna.ShapeSampler`: SHAPE's value-only search as an Optuna sampler."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from optuna.distributions import BaseDistribution, FloatDistribution, IntDistribution
from optuna.samplers import BaseSampler, RandomSampler
from optuna.search_space import IntersectionSearchSpace
from optuna.study import Study, StudyDirection
from optuna.trial import FrozenTrial, TrialState

from .flight import Flight

if TYPE_CHECKING:
    from ..optimizer import Policy


class ShapeSampler(BaseSampler):
    """Suggests floats and integers by SHAPE, and categories at random.

    What there is to search is learned from the first complete trial, at which the run begins. The run lives in this
    process; a study that is taken up again begins another one at its best trial.

    Args:
        budget: the number of trials.
        policy, num_starts, seed: as `shapeopt.minimize` has them.

    Raises:
        ValueError: with the first suggestion, if an argument is wrong; the message names it.

    Example:
        study = optuna.create_study(sampler=shapeopt.optuna.ShapeSampler(budget=200))
        study.optimize(objective, n_trials=200)
    """

    def __init__(
        self,
        budget: int = 500,
        *,
        policy: "str | Policy" = "universal",
        num_starts: int = 1,
        seed: int = 0,
    ) -> None:
        self.budget, self.policy, self.num_starts, self.seed = budget, policy, num_starts, seed
        self._independent = RandomSampler(seed)
        self._intersection = IntersectionSearchSpace()
        self._space: dict[str, BaseDistribution] = {}
        self._flight: Flight | None = None

    def infer_relative_search_space(self, study: Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        if not self._space:
            found = self._intersection.calculate(study).items()
            self._space = {name: one for name, one in found if _is_number(one) and not one.single()}
        return self._space

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        self._raise_error_if_multi_objective(study)
        if not search_space:
            return {}
        if self._flight is None:
            self._flight = self._begin(study)
        x = self._flight.take(trial.number)
        return (
            {} if x is None else {name: _outward(one, v) for (name, one), v in zip(self._space.items(), x, strict=True)}
        )

    def sample_independent(
        self, study: Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        return self._independent.sample_independent(study, trial, param_name, param_distribution)

    def after_trial(self, study: Study, trial: FrozenTrial, state: TrialState, values: Sequence[float] | None) -> None:
        if self._flight is not None:
            known = state == TrialState.COMPLETE and values is not None
            self._flight.land(trial.number, _sign(study) * values[0] if known and values else np.nan)

    def reseed_rng(self) -> None:
        self._independent.reseed_rng()

    def _begin(self, study: Study) -> Flight:
        """A run that starts at the best trial so far, whose value it need not ask for."""
        from ..asktell import Shape

        best, space = study.best_trial, self._space.items()
        lower, upper = np.array([_sides(one) for _, one in space]).T
        x0 = np.array([_inward(one, best.params[name]) for name, one in space])
        shape = Shape(
            x0,
            bounds=(lower, upper),
            budget=self.budget,
            policy=self.policy,
            num_starts=self.num_starts,
            gradients=False,
            seed=self.seed,
        )
        shape.tell(x0, _sign(study) * study.best_value)
        return Flight(shape)


def _sign(study: Study) -> float:
    return -1.0 if study.direction == StudyDirection.MAXIMIZE else 1.0


def _is_number(one: BaseDistribution) -> bool:
    return isinstance(one, FloatDistribution | IntDistribution)


def _sides(one: Any) -> tuple[float, float]:
    """The interval in which a number is searched: of its logarithm where the user said so."""
    half = 0.5 * (one.step or 0.0)  # every value of a grid owns a cell, those at the ends too
    return _inward(one, one.low - half), _inward(one, one.high + half)


def _inward(one: Any, value: float) -> float:
    return float(np.log(value)) if one.log else float(value)


def _outward(one: Any, x: float) -> float | int:
    value = float(np.exp(x)) if one.log else float(x)
    if one.step is not None:
        value = one.low + round((value - one.low) / one.step) * one.step
    value = min(max(value, one.low), one.high)
    return int(value) if isinstance(one, IntDistribution) else value
