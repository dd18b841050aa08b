"""What a tactic is: one way to spend readings, with settings, a memory of its own and four methods.

    offer    what it bids for the next stage, and about how many readings that would take
    open     its stage begins at the plant
    observe  takes in a reading of its stage; says whether the stage is over
    propose  where to read next, as a move of the plant; may say that the stage is over before a call is spent
    evidence what the stage leaves to the board when it ends

Settings are the fields of a frozen dataclass; a memory is a NamedTuple of arrays and scalars of fixed shapes. Methods
are written against `ops` (shapeopt.ops) and run on both engines. A script of several steps is the phases of one
tactic.
"""

import abc
import functools
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from ..core.board import UNKNOWN, UNTESTED, Board, Draws, Estimate, Evidence, Offer, Plant, Spec
from ..core.codes import Cause, Mode
from ..dynamics.move import Move, Stepped

Step = Callable[[Move], Stepped]  # the plant's step from where it is
NEVER = float("-inf")
FOREVER = float("inf")


class AbstractTactic(abc.ABC):
    """A way to spend readings; subclasses are final frozen dataclasses.

    `bid` of an offer is compared with those of other tactics; the shipped ones bid whole numbers from 1 (a hop, always)
    to 10 (a suspicion of noise), which `docs/how_it_works.md` lists.
    """

    name: ClassVar[str]
    mode: ClassVar[Mode]
    phases: ClassVar[tuple[str, ...]] = ("",)
    interruptible: ClassVar[bool] = False  # whether another tactic's `wake` or urgency may end its stage
    uneven: ClassVar[bool] = False  # whether some of its steps take so long that a batch should not wait for them
    opens_by_value: ClassVar[bool] = False  # whether it opens basins, and needs no force for that
    uses_force: ClassVar[bool] = (
        True  # whether it uses a force itself, not only the tactic that opens a basin where it ends
    )
    watches: ClassVar[bool] = False  # whether `watch` sees every reading of the run
    sweeps: ClassVar[bool] = False  # whether its stage ends so low that the descent after it says nothing of the basin

    @abc.abstractmethod
    def blank(self, ops: Any, spec: Spec) -> Any:
        """The memory before the first stage; None where it has no use in a run of this kind."""

    @abc.abstractmethod
    def offer(self, ops: Any, memory: Any, board: Board) -> Offer:
        """What it bids now."""

    @abc.abstractmethod
    def open(self, ops: Any, memory: Any, board: Board, plant: Plant, draws: Callable[[], Draws]) -> Any:
        """The memory as its stage begins; `draws()` are the stage's random numbers."""

    @abc.abstractmethod
    def observe(self, ops: Any, memory: Any, board: Board, plant: Plant) -> tuple[Any, Any]:
        """(memory, cause) after a reading of its stage; `Cause.NONE`: the stage goes on."""

    @abc.abstractmethod
    def propose(self, ops: Any, memory: Any, board: Board, plant: Plant, step: Step) -> tuple[Any, Stepped, Any]:
        """(memory, step(move), cause): where to read next, or why the stage ends before that."""

    def evidence(self, ops: Any, memory: Any, board: Board, plant: Plant) -> Evidence:
        """What the stage leaves behind; here: the plant stands where a basin can be opened."""
        return found(ops, plant)

    def tells_metric(self, spec: Spec) -> bool:
        """Whether its evidence brings an inverse Hessian."""
        return False

    def phase(self, ops: Any, memory: Any) -> Any:
        """Index into `phases` of what the next reading is for."""
        return ops.whole(0)

    def watch(self, ops: Any, memory: Any, board: Board, plant: Plant) -> tuple[Any, Any]:
        """(memory, urgent) after any reading of the run, for tactics that learn from those of others (`watches`)."""
        return memory, ops.flag(False)

    def estimate(self, ops: Any, memory: Any) -> Estimate | None:
        """The best point by estimated mean, where it has one; on the host."""
        return None

    def told_of_noise(self) -> "AbstractTactic":
        """The tactic where the user says that forces are noisy."""
        return self

    def wants_force(self, ops: Any, memory: Any) -> Any:
        """Whether the next reading must bring a force, where each costs dimension + 1 values."""
        return ops.flag(True)


@functools.cache
def eps_of(dtype: Any) -> float:
    """The relative spacing of numbers of a dtype."""
    return float(np.finfo(dtype).eps)


NONE = int(Cause.NONE)


def goes_on(ops: Any) -> Any:
    return ops.whole(NONE)


def ends(ops: Any, flag: Any, cause: Cause) -> Any:
    """`cause` where the flag holds, else `Cause.NONE`."""
    return ops.pick(flag, ops.whole(int(cause)), goes_on(ops))


def bid(ops: Any, flag: Any, value: Any, cost: Any = 1.0, wake: Any = FOREVER) -> Offer:
    """`value` where the flag holds, else nothing."""
    return Offer(ops.pick(flag, value, NEVER), cost, wake)


def found(ops: Any, plant: Plant, fresh: Any = None, **news: Any) -> Evidence:
    """Evidence of a stage that ended at the plant; `news` are fields that it has something to say of."""
    told = Evidence(
        q=plant.q,
        f=plant.f,
        g=plant.g,
        basin=False,
        rebase=False,
        fresh=plant.finite if fresh is None else fresh,
        descent=0.0,
        fall=0.0,
        mismatch=0.0,
        predicted=0.0,
        noise_std=UNKNOWN,
        structure=UNTESTED,
    )
    return told._replace(**news) if news else told
