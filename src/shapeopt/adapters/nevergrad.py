"""`shapeopt.nevergrad`: SHAPE's value-only search in nevergrad's registry, under the name "Shape"."""

from typing import Any

import nevergrad as ng
import numpy as np
from nevergrad.optimization.base import Optimizer
from nevergrad.optimization.base import errors as ng_errors

from .flight import Flight

BUDGET = 500  # where nevergrad was told none


@ng.optimizers.registry.register
class Shape(Optimizer):
    """SHAPE on nevergrad's standardised parameters, whose scale is one.

    The first use of the name `shapeopt.nevergrad` registers it in `ng.optimizers.registry` as "Shape". With more
    workers than it has points to ask, the rest are drawn at random.

    Args:
        parametrization: nevergrad's parameters, or a number of them.
        budget: the number of losses; None: 500.
        num_workers: losses that are computed at a time.

    Raises:
        ValueError: what nevergrad raises for a wrong argument; `TellNotAskedNotSupportedError` for a loss at a point
            that was not asked for.

    Example:
        recommendation = shapeopt.nevergrad.Shape(parametrization=8, budget=500).minimize(loss)
    """

    def __init__(self, parametrization: Any, budget: int | None = None, num_workers: int = 1) -> None:
        super().__init__(parametrization, budget=budget, num_workers=num_workers)
        self._flight: Flight | None = None

    def _internal_ask_candidate(self) -> Any:
        if self._flight is None:
            from ..asktell import Shape as AskTell

            seed = int(self._rng.randint(2**31))
            starts = min(self.num_workers, self.budget or BUDGET)
            settings: dict[str, Any] = {"budget": self.budget or BUDGET, "num_starts": starts, "seed": seed}
            self._flight = Flight(AskTell(np.zeros(self.dimension), gradients=False, **settings))
        candidate = self.parametrization.spawn_child()
        x = self._flight.take(candidate.uid)
        x = self._rng.normal(size=self.dimension) if x is None else x
        return candidate.set_standardized_data(x)

    def _internal_tell_candidate(self, candidate: Any, loss: float) -> None:
        if self._flight is not None:
            self._flight.land(candidate.uid, loss)

    def _internal_tell_not_asked(self, candidate: Any, loss: float) -> None:
        raise ng_errors.TellNotAskedNotSupportedError
