"""A run that another library's loop steps: one reading a step, and a state that can be kept as a list of arrays."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core import Box
from ..core.board import Spec
from ..core.codes import Cause
from ..core.problem import Problem
from ..core.tree import flatten, restore
from ..engines.host import noise_settings, seed_words
from ..ops import HOST
from ..optimizer import Optimizer, Policy

GOES_ON = {int(Cause.NONE), int(Cause.CLOCK), int(Cause.PREEMPTED)}


class SteppedRun:
    """SHAPE on the host engine without its record: where to read next (`x`), and what was read there (`tell`).

    The trajectory is that of `shapeopt.minimize` with the same seed. The caller keeps the best point, the count of
    calls and the bounds of its own.

    Args:
        policy: the tactics and their planner.
        problem: start and bounds, as flat arrays.
        budget: calls that the run may expect; the caller enforces it.
        noise: standard deviation of the gradient's noise; None lets the readings tell.
        seed: all randomness follows from it.
        fits_scales: set the units of coordinates without bounds by the first gradient, as `minimize` does; False where
            all of them have one unit.
    """

    def __init__(
        self,
        policy: Policy,
        problem: Problem,
        budget: int,
        noise: float | None = None,
        seed: int = 0,
        fits_scales: bool = True,
    ) -> None:
        policy, noise_std = noise_settings(policy, noise)
        self._problem, self._budget, self._seed = problem, budget, seed
        self._optimizer = Optimizer(policy, Spec(problem.x0.size, problem.x0.dtype), noise_std)
        self._box = Box.around(problem.lower, problem.upper, problem.x0)
        self._begun = not fits_scales
        self._state = self._begin(problem.x0)

    @property
    def x(self) -> np.ndarray:
        """The point to read next."""
        return self._box.outward(self._state.q).astype(self._problem.x0.dtype, copy=False)

    @property
    def ended(self) -> str | None:
        """The tactic whose stage ended with the last reading; None where none did, or where it is to be resumed."""
        info = self._state.info
        return None if int(info.cause) in GOES_ON else self._optimizer.names[int(info.tactic)]

    @property
    def settles(self) -> bool:
        """Whether values are noisy and the run settles, so that its last place is its result."""
        return bool(self._optimizer.settles(HOST, self._state))

    def tell(self, value: float, gradient: np.ndarray) -> None:
        """Take in a reading at `x`; moves `x`."""
        gradient = np.asarray(gradient, self._problem.x0.dtype).reshape(-1)
        if not self._begun:
            self._begun = True
            self._fit_scales(gradient)
        with np.errstate(all="ignore"):
            force = gradient * self._box.rate(self.x)
            self._state = self._optimizer.tell(HOST, self._state, float(value), force, 1)

    def arrays(self) -> list[np.ndarray]:
        """The whole state. The same run in another process continues from it (`load`)."""
        leaves = [np.asarray(leaf) for leaf in flatten(self._state)[0]]
        return [np.asarray(self._begun), *self._map(), *leaves]

    def load(self, arrays: Sequence[np.ndarray]) -> None:
        """Continue where `arrays` were made.

        Raises:
            ValueError: if they are of a run with another dimension or policy.
        """
        blank, structure = flatten(self._state)
        begun, centre, scale, *leaves = (np.asarray(array) for array in arrays)
        shapes = [part.shape for part in (centre, scale, *leaves)]
        if shapes != [np.shape(part) for part in (*self._map(), *blank)]:
            raise ValueError("`arrays` must be those of a run of the same dimension and policy.")
        self._begun = bool(begun)
        dtype = self._box.scale.dtype
        self._box = self._box._replace(centre=centre.astype(dtype), scale=scale.astype(dtype))
        self._state = restore(structure, map(_like, leaves, blank))

    def _map(self) -> list[np.ndarray]:
        """What of the box's map depends on where the run began."""
        return [np.asarray(self._box.centre), np.asarray(self._box.scale)]

    def _begin(self, x: np.ndarray) -> Any:
        box = self._box
        q = np.clip(box.inward(x), box.q_lower, box.q_upper)
        words = seed_words(self._seed, 0)
        return self._optimizer.init(HOST, q, box.q_lower, box.q_upper, float(self._budget), words)

    def _fit_scales(self, gradient: np.ndarray) -> None:
        """Units of coordinates without bounds, by the first reading, as `minimize` sets them."""
        if self._box.closed.all():
            return
        x = self.x
        self._box = self._box.scaled_by(x.astype(float), gradient.astype(float))
        self._state = self._begin(x)


def _like(array: np.ndarray, like: Any) -> Any:
    """A leaf of the kind that the state has in this place: an array, or a number of Python's."""
    if isinstance(like, np.ndarray):
        return np.array(array, like.dtype)
    return type(like)(array.item())
