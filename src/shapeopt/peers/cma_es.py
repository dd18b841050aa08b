"""CMA-ES (Hansen and Ostermeier 2001) with restarts, by its author's package."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..oracles import AbstractReader
from .base import AbstractPeer, Start, rounds
from .packages import load
from .seeding import numpy_seed

RUNS = 1_000_000  # more restarts than any budget pays for


@dataclass(frozen=True)
class AbstractCma(AbstractPeer):
    """pycma; `sigma0` is the first standard deviation in box widths."""

    name: str = ""
    sigma0: float = 0.25  # pycma advises about a quarter of the domain
    package: ClassVar[str] = "cma"
    uses_gradients: ClassVar[bool] = False
    start: ClassVar[Start] = Start.CENTRES

    def __post_init__(self) -> None:
        if not 0 < self.sigma0 <= 1:
            raise ValueError(f"`sigma0` must lie in (0, 1]; got {self.sigma0}.")


@dataclass(frozen=True)
class CmaEs(AbstractCma):
    """pycma around x0, then, whenever it stops, around uniform points with the same population size.

    `separable` learns variances alone, for large d.

    Departs from the paper: not in it.
    """

    name: str = "cma"
    separable: bool = False

    def search(self, reader: AbstractReader, x0: np.ndarray, lower: np.ndarray, upper: np.ndarray, seed: int) -> None:
        cma = load(self.package)
        options = _options(lower, upper) | {"CMA_diagonal": self.separable}
        with numpy_seed(seed):
            for start, _ in rounds(reader, x0, lower, upper, seed):
                strategy, since = cma.CMAEvolutionStrategy(_padded(start), self.sigma0, options), reader.asked
                strategy.optimize(_value(reader))
                reader.report(strategy.countevals, since)


@dataclass(frozen=True)
class IpopCmaEs(AbstractCma):
    """pycma with restarts whose population doubles each time (IPOP; Auger and Hansen 2005).

    Departs from the paper: not in it.
    """

    name: str = "ipop_cma"

    def search(self, reader: AbstractReader, x0: np.ndarray, lower: np.ndarray, upper: np.ndarray, seed: int) -> None:
        _restarted(self, reader, x0, lower, upper, seed, bipop=False)


@dataclass(frozen=True)
class BipopCmaEs(AbstractCma):
    """pycma with BIPOP restarts (Hansen 2009): large populations that double, in turn with small ones.

    Departs from the paper: not in it.
    """

    name: str = "bipop_cma"

    def search(self, reader: AbstractReader, x0: np.ndarray, lower: np.ndarray, upper: np.ndarray, seed: int) -> None:
        _restarted(self, reader, x0, lower, upper, seed, bipop=True)


def _restarted(
    peer: AbstractCma,
    reader: AbstractReader,
    x0: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
    seed: int,
    bipop: bool,
) -> None:
    """pycma's own restarts, around x0 first and then around uniform points."""
    cma, starts = load(peer.package), rounds(reader, x0, lower, upper, seed)
    with numpy_seed(seed):
        cma.fmin2(
            _value(reader),
            lambda: _padded(next(starts)[0]),
            peer.sigma0,
            _options(lower, upper),
            restarts=RUNS,
            bipop=bipop,
        )


def _options(lower: np.ndarray, upper: np.ndarray) -> dict[str, Any]:
    """Bounds, one scale a coordinate, silence; no seed, since the caller has sown."""
    return {
        "bounds": [_padded(lower), _padded(upper)],
        "CMA_stds": _padded(upper - lower),
        "seed": np.nan,
        "verbose": -9,
        "verb_log": 0,
    }


def _padded(x: np.ndarray) -> np.ndarray:
    """x, or (x, x) where it has one coordinate: pycma wants two, and the objective does not see the second."""
    return np.resize(x, max(2, x.size))


def _value(reader: AbstractReader) -> Callable[[np.ndarray], float]:
    dim = reader.lower.size
    return lambda x: reader.value(x[:dim])
