"""How training reads its tasks: exact, noisy or value-only."""

from dataclasses import dataclass

from ...oracles import AbstractOracle, AdditiveNoise, ExactOracle, NoisyOracle, ValueOnlyOracle
from ...tasks import AbstractTask


@dataclass(frozen=True)
class Sensing:
    """Exact gradients, or gradients with N(0, sigma^2) on each coordinate, or differences along `directions`.

    (eqs. app:fo_oracle, app:noisy_fo_oracle, app:zo_oracle.) `directions` 0 means that gradients are read.

    Departs from the paper: nothing; its checkpoints are trained with exact gradients.
    """

    sigma: float = 0.0
    directions: int = 0

    def __post_init__(self) -> None:
        if not self.sigma >= 0:
            raise ValueError(f"`sigma` must not be negative; got {self.sigma}.")
        if self.directions < 0:
            raise ValueError(f"`directions` must not be negative; got {self.directions}.")

    @property
    def cost(self) -> int:
        """Calls that a reading spends."""
        return 2 * self.directions + 1

    def oracle(self, task: AbstractTask) -> AbstractOracle:
        """The oracle of a task; with `directions`, sigma is the noise of each value."""
        if self.directions:
            box = task.box
            return ValueOnlyOracle(task, self.directions, lower=box.lower, upper=box.upper, value_sigma=self.sigma)
        return NoisyOracle(ExactOracle(task), AdditiveNoise(self.sigma)) if self.sigma else ExactOracle(task)


EXACT = Sensing()
