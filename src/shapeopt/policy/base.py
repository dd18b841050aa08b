"""What SHAPE asks of a policy: to assess a reading, to plan at an event, to control each step.

At each reading, in this order: assess; notice; begin, if something was noticed or the stage's horizon is reached;
control, and the step that it drives. A provident policy also judges that step before it is spent: it follows it, or
remembers and leaves the stage and takes another step instead.
"""

import abc
from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, PyTree

from ..paper.dynamics import ShapedPotential, StepResult, Structure
from ..paper.events import Signals, StageAction


class Plant(NamedTuple):
    """The plant at a reading, in internal coordinates. Where the reading was not finite, f is +inf and g is 0."""

    q: Float[Array, " d"]
    p: Float[Array, " d"]
    f: Float[Array, ""]
    g: Float[Array, " d"]
    finite: Bool[Array, ""]
    lower: Float[Array, " d"]
    upper: Float[Array, " d"]
    spent: Float[Array, ""]  # share of the budget that is gone, in [0, 1]


class Drive(NamedTuple):
    """The controller's answer for one step: structure, shaping, and how far the plant may move."""

    structure: Structure
    potential: ShapedPotential
    radius: Float[Array, ""]


class AbstractPolicy(eqx.Module):
    """Planner and controller with the working state that they need between readings (a fixed-shape pytree)."""

    h: eqx.AbstractVar[float]
    p_max: eqx.AbstractVar[float]

    @abc.abstractmethod
    def init(self, q: Float[Array, " d"], budget: int, key: PRNGKeyArray) -> tuple[PyTree, StageAction]:
        """Working state and the stage that holds q until its first reading."""

    @abc.abstractmethod
    def assess(self, state: PyTree, plant: Plant, action: StageAction) -> PyTree:
        """Take in a reading."""

    @abc.abstractmethod
    def notice(self, state: PyTree, plant: Plant, action: StageAction) -> Signals:
        """What the reading says of this stage."""

    @abc.abstractmethod
    def begin(
        self, state: PyTree, plant: Plant, action: StageAction, cause: Int[Array, ""]
    ) -> tuple[PyTree, StageAction]:
        """The stage has ended: write memory, and choose the stage that goes on from here (eq. dp_event_update)."""

    @abc.abstractmethod
    def control(self, state: PyTree, plant: Plant, action: StageAction) -> Drive:
        """At every reading: the structure of the next step (eq. shape_fast_controller)."""

    @abc.abstractmethod
    def follow(self, state: PyTree, plant: Plant, action: StageAction, result: StepResult) -> PyTree:
        """Note where the step goes."""

    def wants_force(self, state: PyTree, action: StageAction) -> Bool[Array, ""]:
        """Whether the next reading is to bring a force; here: every one is."""
        return jnp.ones((), bool)

    def has_small_steps(self, state: PyTree) -> bool:
        """Whether all steps from such a state are small: one kernel can hold them, and a batch waits for none."""
        return True

    def share(self, before: PyTree, after: PyTree) -> PyTree:
        """States of several particles (stacked) after a round, with what they learned merged; here: nothing is."""
        return after


class AbstractProvidentPolicy(AbstractPolicy):
    """A policy that looks at the step that a reading leads to before it is spent."""

    @abc.abstractmethod
    def judge(self, state: PyTree, plant: Plant, action: StageAction, result: StepResult) -> Signals:
        """What the reading, and the step that it leads to, say of this stage."""

    def remember(self, state: PyTree, plant: Plant, action: StageAction, leaving: Bool[Array, ""]) -> PyTree:
        """Write memory where the stage is left (eq. dp_memory_write_rule). Apart from `leave`, which is a branch: large
        arrays that pass through a branch are copied, and those that are written row by row are not."""
        return state

    @abc.abstractmethod
    def leave(
        self, state: PyTree, plant: Plant, action: StageAction, cause: Int[Array, ""]
    ) -> tuple[PyTree, StageAction, Drive]:
        """A signal ends the stage before that step is taken: write memory, choose the next stage and its first step."""
