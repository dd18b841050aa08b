"""What SHAPE asks of a policy: to assess a reading, to plan at an event, to control each step.

At each reading, in this order: assess; notice; begin, if something was noticed or the stage's horizon is reached;
control, and the step that it drives.
"""

import abc
from typing import NamedTuple

import equinox as eqx
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, PyTree

from .dynamics import ShapedPotential, StepResult, Structure
from .events import Signals, StageAction


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
    def init(
        self,
        q: Float[Array, " d"],
        budget: int,
        key: PRNGKeyArray,
        descriptor: Float[Array, " k"] | None = None,
    ) -> tuple[PyTree, StageAction]:
        """Working state and the stage that holds q until its first reading; `descriptor` is the task's d_tau."""

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
