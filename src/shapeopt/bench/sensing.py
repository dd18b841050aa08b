"""How a cell is read: the oracle that a protocol puts before every method."""

import abc
from dataclasses import dataclass

from ..oracles import (
    AbstractOracle,
    AdditiveNoise,
    CoordinateDifferenceOracle,
    ExactOracle,
    MinibatchOracle,
    NoisyOracle,
    ValueOnlyOracle,
)
from ..tasks import AbstractTask
from ..tasks.phase_retrieval import PhaseRetrievalTask

FULL_READINGS = 8  # of all coordinates that must fit into a budget, or fewer directions are read


class AbstractSensing(abc.ABC):
    """A law of readings; final classes are frozen dataclasses, and their fields are the settings."""

    @property
    @abc.abstractmethod
    def label(self) -> str:
        """What it is called in the name of a cell; empty for exact readings."""

    @abc.abstractmethod
    def oracle(self, task: AbstractTask, budget: int) -> AbstractOracle:
        """The oracle of a task, for a run of `budget` calls."""


@dataclass(frozen=True)
class Exact(AbstractSensing):
    """Exact gradients (eq. app:fo_oracle).

    Departs from the paper: nothing.
    """

    @property
    def label(self) -> str:
        return ""

    def oracle(self, task: AbstractTask, budget: int) -> AbstractOracle:
        return ExactOracle(task)


EXACT = Exact()


@dataclass(frozen=True)
class Noisy(AbstractSensing):
    """Gradients with N(0, sigma^2) on each coordinate (eq. app:noisy_fo_oracle); values are exact.

    Departs from the paper: nothing; it names no sigma.
    """

    sigma: float

    @property
    def label(self) -> str:
        return f"noise{self.sigma:g}"

    def oracle(self, task: AbstractTask, budget: int) -> AbstractOracle:
        return NoisyOracle(ExactOracle(task), AdditiveNoise(self.sigma))


@dataclass(frozen=True)
class ValueOnly(AbstractSensing):
    """Values alone, and differences of them along `directions` (eq. app:zo_oracle).

    None: every coordinate where the budget has room for that, else a twentieth of it. Methods that need no
    gradient pay one call a value.

    Departs from the paper: coordinates, and a number of directions that follows the budget.
    """

    directions: int | None = None

    @property
    def label(self) -> str:
        return "values" if self.directions is None else f"values{self.directions}"

    def oracle(self, task: AbstractTask, budget: int) -> AbstractOracle:
        box = task.box
        d, directions = box.lower.size, self.directions
        if directions is None and FULL_READINGS * (2 * d + 1) > budget:
            directions = min(max(budget // 20, 1), d)
        if directions is None:
            return CoordinateDifferenceOracle(task, d, None, box.lower, box.upper)
        return ValueOnlyOracle(task, directions, None, box.lower, box.upper)


@dataclass(frozen=True)
class Minibatch(AbstractSensing):
    """Gradients of a share of a finite sum's terms (eq. app:noisy_fo_oracle); for phase retrieval.

    Departs from the paper: nothing; it names no batch size.
    """

    share: float = 0.5

    @property
    def label(self) -> str:
        return f"batch{self.share:g}"

    def oracle(self, task: AbstractTask, budget: int) -> AbstractOracle:
        if not isinstance(task, PhaseRetrievalTask):
            raise ValueError(f"`sensing` by minibatches needs a finite sum; got {type(task).__name__}.")
        size = task.b.shape[-1]
        return MinibatchOracle(task.minibatch, size, max(1, round(self.share * size)))
