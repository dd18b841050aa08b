"""What a peer is: somebody else's optimizer, run under our counter with a hard stop."""

import abc
import enum
import warnings
from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from ..oracles import AbstractReader


class Start(enum.Enum):
    """What a method does with x0.

    READS: it reads x0 before any other point. CENTRES: it searches around x0 and does not read it. IGNORES: it takes no
    start.
    """

    READS = "reads"
    CENTRES = "centres"
    IGNORES = "ignores"


class AbstractPeer(abc.ABC):
    """A method with its settings; final classes are frozen dataclasses, and their fields are the settings.

    `package` is what must be importable. A peer may ask for values and for gradients; the reader counts both. A local
    method keeps to the reader's own bounds, which may be infinite; what it draws anew, and a global method, keeps to
    the finite box that it is given. `specialist` marks a method that sees more of the problem than the others do,
    `needs_residuals` one that sees the residuals, and `largest` is the dimension beyond which it is not compared.
    """

    name: str
    package: ClassVar[str]
    uses_gradients: ClassVar[bool]
    start: ClassVar[Start]
    specialist: ClassVar[bool] = False
    needs_residuals: ClassVar[bool] = False
    largest: ClassVar[int] = 10**6

    @abc.abstractmethod
    def search(self, reader: AbstractReader, x0: np.ndarray, lower: np.ndarray, upper: np.ndarray, seed: int) -> None:
        """Read until the reader refuses, or until nothing is left to do; what was found is in the reader."""


def run_peer(
    peer: AbstractPeer, reader: AbstractReader, x0: np.ndarray, lower: np.ndarray, upper: np.ndarray, seed: int
) -> None:
    """Let `peer` search with the calls that the reader has; every method that takes a start reads x0 first.

    The stop is the reader's refusal. Libraries hand it on, wrap it into an exception of their own or hide it: so any
    exception after the refusal is taken for the stop, and any before it is a fault that passes.
    """
    x0, lower, upper = _checked(x0, lower, upper)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a library's remarks on overflow or on its own stop
        try:
            if peer.start is Start.CENTRES:
                reader.value(x0)
            peer.search(reader, x0, lower, upper, seed)
        except Exception:
            if not reader.exhausted:
                raise


def rounds(
    reader: AbstractReader, x0: np.ndarray, lower: np.ndarray, upper: np.ndarray, seed: int
) -> Iterator[tuple[np.ndarray, int]]:
    """(start, seed) of each round of a method that ends early: x0 first, then uniform points, each with a new seed.

    It ends once a round read nothing, so that a method that fails at once does not turn for ever.
    """
    rng = np.random.default_rng(seed)
    start, before = x0, -1
    while reader.readings > before:
        before = reader.readings
        yield start, int(rng.integers(1, 2**31))
        start = rng.uniform(lower, upper)


def _checked(x0: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Start and bounds in float64, which every library wants; x0 inside the bounds."""
    x0, lower, upper = (np.array(v, np.float64) for v in (x0, lower, upper))
    for name, side in (("lower", lower), ("upper", upper)):
        if side.shape != x0.shape or not np.all(np.isfinite(side)):
            raise ValueError(f"`{name}` must be finite, with the shape {x0.shape} of `x0`; got {side}.")
    if not np.all(lower < upper):
        raise ValueError(f"`lower` must lie below `upper` = {upper}; got {lower}.")
    return np.clip(x0, lower, upper), lower, upper
