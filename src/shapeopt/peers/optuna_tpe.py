"""Optuna's tree-structured Parzen estimator (Bergstra et al. 2011)."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..oracles import AbstractReader
from .base import AbstractPeer, Start
from .packages import load


@dataclass(frozen=True)
class OptunaTpe(AbstractPeer):
    """`optuna.samplers.TPESampler` with Optuna's own settings; values alone. Its time grows with the square of trials.

    Departs from the paper: not in it.
    """

    name: str = "tpe"
    package: ClassVar[str] = "optuna"
    uses_gradients: ClassVar[bool] = False
    start: ClassVar[Start] = Start.READS
    largest: ClassVar[int] = 20

    def search(self, reader: AbstractReader, x0: np.ndarray, lower: np.ndarray, upper: np.ndarray, seed: int) -> None:
        optuna = load(self.package)
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        names = [f"x{i}" for i in range(x0.size)]
        space = {
            name: optuna.distributions.FloatDistribution(*ends) for name, *ends in zip(names, lower, upper, strict=True)
        }
        study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed % 2**32))
        study.enqueue_trial(dict(zip(names, x0.tolist(), strict=True)))
        while True:
            trial = study.ask(space)
            value = reader.value(np.array([trial.params[name] for name in names]))
            state = optuna.trial.TrialState
            study.tell(trial, value) if np.isfinite(value) else study.tell(trial, state=state.FAIL)
