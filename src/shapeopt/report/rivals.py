"""Other people's optimizers on the same task from the same start, so that a run's curve has company."""

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..oracles import BudgetExhausted

if TYPE_CHECKING:
    from ..oracles import Reader
    from ..tasks import AbstractTask

RIVALS = ("basinhopping", "multistart", "dual_annealing")  # from SciPy, with their own settings
SECONDS = 1.0  # that each of them may take, so that a page is soon written


class Hurried:
    """A reader that refuses, besides what does not fit into its budget, what comes too late."""

    def __init__(self, reader: "Reader", seconds: float) -> None:
        self.reader, self.seconds = reader, seconds
        self.began: float | None = None
        self.late = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self.reader, name)

    def value(self, x: Any) -> float:
        self._hurry()
        return self.reader.value(x)

    def value_and_gradient(self, x: Any) -> tuple[float, np.ndarray]:
        self._hurry()
        return self.reader.value_and_gradient(x)

    def _hurry(self) -> None:
        """The clock starts once the first reading has been made, which compiles."""
        if self.began is None and self.reader.readings:
            self.began = time.perf_counter()
        if self.began is not None and time.perf_counter() - self.began > self.seconds:
            self.late = self.reader.exhausted = True
            raise BudgetExhausted(f"The {self.seconds} s are over.")


def rival_curves(
    task: "AbstractTask",
    x0: np.ndarray,
    budget: int,
    seed: int,
    names: Sequence[str] = RIVALS,
    seconds: float = SECONDS,
) -> list[dict[str, Any]]:
    """The best value after each reading of each peer, which reads the task under a counter of its own."""
    import jax

    from ..oracles import ExactOracle, Reader
    from ..peers import make_peer, run_peer

    curves = []
    with jax.enable_x64(True):
        for name in names:
            reader = Reader(ExactOracle(task), task.box, budget, jax.random.key(seed))
            hurried: Any = Hurried(reader, seconds)
            run_peer(make_peer(name), hurried, np.asarray(x0, float), reader.lower, reader.upper, seed)
            best = np.minimum.accumulate(np.where(np.isfinite(reader.values), reader.values, np.inf))
            shown = f"{name}, cut short" if hurried.late else name
            curves.append({"name": shown, "calls": reader.calls_after, "best": best})
    return curves
