"""The paper's policy: planner and controller networks for one dimension, run stage by stage (Algorithms
alg:streaming_shape_compact, alg:dp_event_interface).

At an event the ended stage is written to memory if it was an escape or stalled, the units are frozen anew, and the
planner chooses the next stage; in between, the controller chooses the structure of every step.
"""

import math
from dataclasses import replace
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from ..core import REACH, Cause, Mode
from ..dynamics import DiagonalMetric, ShapedPotential, StepResult, Structure
from ..events import Signals, StageAction, cause_of
from ..memory import Archive, make_spatial_memory, spatial_read_size
from .base import AbstractPolicy, Drive, Plant
from .paper_networks import (
    Control,
    PaperController,
    PaperPlanner,
    check_integer,
    float_type_of,
    make_network,
    nearest_hidden,
    norm,
    plain_control,
)
from .paper_stage import P_MAX, PaperState, Stage, Survey, in_units
from .shaping import shaped_potential

BASINS = 16  # slots of the archive; ours
OBSERVED = 100.0  # the networks see forces and values up to this many units; ours, keeps a cliff from overflowing them


class PaperPolicy(AbstractPolicy):
    """Planner and controller for one dimension.

    `controller` is None in the no-controller ablation: unit mass, plain damping, no port. Without `use_memory` there is
    neither a memory read (mem_dim = 0) nor U_mem and V_bar, as in the no-memory ablation; the archive of basins then
    serves the result alone. The ablations use `event_horizon` 4.

    Departs from the paper: all is in the units of the stage (see `paper_stage`), where the paper takes f as it is. So
    is the momentum's bound, P_MAX: it shrinks the whole momentum rather than clip each component, and acts as the next
    step begins, this step being limited by a radius. After a reading that is not finite the plant goes halfway back to
    the last finite one, or anywhere if there was none. `plan_horizon` and `sample_mode` are off by default.
    """

    kind: ClassVar[str] = "paper"

    planner: PaperPlanner
    controller: PaperController | None
    rank: int = eqx.field(static=True)
    h: float = eqx.field(static=True)
    use_memory: bool = eqx.field(static=True)
    descriptor_size: int = eqx.field(static=True)  # length of the task descriptor d_tau
    hidden: int = eqx.field(static=True)
    u_max: float = eqx.field(static=True)
    sample_mode: bool = eqx.field(static=True)  # draw the mode from its probabilities instead of taking the likeliest
    p_max: float = eqx.field(static=True, default=math.inf)  # in units of f; P_MAX, in the stage's, is the bound

    @staticmethod
    def create(
        d: int,
        key: PRNGKeyArray,
        *,
        rank: int = 4,
        h: float = 0.05,  # paper, training details
        event_horizon: int = 6,  # paper, training details
        use_memory: bool = True,
        use_controller: bool = True,
        descriptor_size: int = 0,
        hidden: int | None = None,
        trust_radius: float = 1.0,
        u_max: float = 1.0,
        plan_horizon: bool = False,
        sample_mode: bool = False,
        dtype: str | None = None,
    ) -> "PaperPolicy":
        """An untrained policy; `hidden` and `dtype` default to the paper's width and to JAX's current float."""
        check_integer("d", d, 1)
        check_integer("rank", rank, 0)
        check_integer("event_horizon", event_horizon, 1)
        check_integer("descriptor_size", descriptor_size, 0)
        hidden = nearest_hidden(d) if hidden is None else hidden
        check_integer("hidden", hidden, 1)
        for name, size in (("h", h), ("trust_radius", trust_radius), ("u_max", u_max)):
            if not (isinstance(size, (int, float)) and 0 < size < math.inf):
                raise ValueError(f"`{name}` must be positive and finite; got {size!r}.")
        float_type = float_type_of(dtype)
        z = 3 * d + 2 + descriptor_size + (spatial_read_size(d) if use_memory else 0)
        plan_key, control_key = jax.random.split(key)
        network = make_network(z, d + len(Mode) + 4, hidden, float_type, plan_key)
        planner = PaperPlanner(network, d, trust_radius, event_horizon, plan_horizon)
        controller = None
        if use_controller:
            network = make_network(z + d + len(Mode) + 3, 3 * d + 3 * d * rank + 2, hidden, float_type, control_key)
            controller = PaperController(network, d, rank, u_max)
        return PaperPolicy(
            planner=planner,
            controller=controller,
            rank=rank,
            h=h,
            use_memory=use_memory,
            descriptor_size=descriptor_size,
            hidden=hidden,
            u_max=u_max,
            sample_mode=sample_mode,
        )

    @staticmethod
    def skeleton(settings: dict[str, Any]) -> "PaperPolicy":
        """The policy of these settings with shapes in place of arrays; allocates nothing."""
        return eqx.filter_eval_shape(PaperPolicy.create, key=jax.random.key(0), **settings)

    @property
    def settings(self) -> dict[str, Any]:
        """What `create` needs, besides a key, to build this policy again; plain JSON values."""
        return {
            "d": self.planner.d,
            "rank": self.rank,
            "h": self.h,
            "event_horizon": self.planner.event_horizon,
            "use_memory": self.use_memory,
            "use_controller": self.controller is not None,
            "descriptor_size": self.descriptor_size,
            "hidden": self.hidden,
            "trust_radius": self.planner.trust_radius,
            "u_max": self.u_max,
            "plan_horizon": self.planner.plan_horizon,
            "sample_mode": self.sample_mode,
            "dtype": self.planner.network.layers[0].weight.dtype.name,
        }

    def observe(
        self,
        q: Float[Array, " d"],
        p: Float[Array, " d"],
        f: Float[Array, ""],
        g: Float[Array, " d"],
        memory_read: Float[Array, " features"] | None = None,
        descriptor: Float[Array, " descriptor"] | None = None,
    ) -> Float[Array, " z"]:
        """z of eq. dp_assimilated_signal, with f and g already in the stage's units."""
        extras = (descriptor if self.descriptor_size else None, memory_read if self.use_memory else None)
        return jnp.concatenate([q, p, g, f[None], norm(g)[None], *(part for part in extras if part is not None)])

    def plan(
        self,
        observation: Float[Array, " z"],
        key: PRNGKeyArray | None = None,
        lower: Float[Array, " d"] | float = -REACH,
        upper: Float[Array, " d"] | float = REACH,
    ) -> StageAction:
        """a_s; the key is used only under `sample_mode`."""
        return self.planner(observation, lower, upper, key if self.sample_mode else None)

    def steer(self, observation: Float[Array, " z"], action: StageAction) -> Control:
        """The structure of the next step and kappa_loc, in the stage's units."""
        if self.controller is None:
            return plain_control(action)
        return self.controller(observation, action)

    def init(self, q: Float[Array, " d"], budget: int, key: PRNGKeyArray) -> tuple[PaperState, StageAction]:
        if q.size != self.planner.d:
            raise ValueError(f"`policy` must be for the problem's {q.size} coordinates; got one for {self.planner.d}.")
        if self.descriptor_size:
            raise ValueError(
                f"`policy` must need no task descriptor, which a run does not have; got one of {self.descriptor_size}."
            )
        survey = Survey.blank(q)
        state = PaperState(
            survey=survey,
            stage=Stage.opened(survey.scales(), survey.best),
            memory=make_spatial_memory(q.size, q.dtype) if self.use_memory else None,
            archive=Archive.empty(BASINS, q.size, q.dtype),
            trusted=jnp.zeros((), bool),
            stages=jnp.zeros((), jnp.int32),
            key=jax.random.key_data(key),
        )
        zero, whole = jnp.zeros((), q.dtype), jnp.zeros((), jnp.int32)
        hold = StageAction(whole + Mode.SETTLE, q, zero, zero, zero, whole + 1, jnp.zeros(len(Mode), q.dtype))
        return state, hold

    def assess(self, state: PaperState, plant: Plant, action: StageAction) -> PaperState:
        survey = state.survey.after(plant)
        return replace(state, survey=survey, stage=state.stage.after(plant, survey.scales()))

    def begin(self, state: PaperState, plant: Plant, action: StageAction) -> tuple[PaperState, StageAction]:
        """The clock's event (eq. dp_next_event_time)."""
        over = jnp.ones((), jnp.int32)
        cause = cause_of(self._signals(state, plant), over, over)
        return self._event(state.written(plant, action.mode, cause), plant)

    def control(self, state: PaperState, plant: Plant, action: StageAction) -> Drive:
        """The controller's structure in units of f; after a reading that is not finite, a move to the anchor."""
        scales, (kept, _) = state.stage.scales, state.momentum(plant)
        structure, kappa_loc = self.steer(self._observation(state, plant), action)
        kappa = scales.force * (action.kappa + kappa_loc)  # eq. dp_goal_gain_split
        archive = state.archive if self.use_memory else None
        potential = shaped_potential(action.anchor, kappa, archive, scales.value, action.mode)
        radius = jnp.full_like(kappa, self.h * P_MAX * plant.q.size**0.5)
        drive = Drive(in_units(structure, scales.force, kept), potential, radius)
        return jax.tree.map(lambda a, b: jnp.where(plant.finite, a, b), drive, self._retreat(drive, scales.force))

    def judge(self, state: PaperState, plant: Plant, action: StageAction, result: StepResult) -> Signals:
        return self._signals(state, plant)

    def follow(self, state: PaperState, plant: Plant, action: StageAction, result: StepResult) -> PaperState:
        return replace(state, trusted=state.stage.scales.known & plant.finite)

    def remember(self, state: PaperState, plant: Plant, action: StageAction, leaving: Bool[Array, ""]) -> PaperState:
        cause = jnp.where(leaving, int(Cause.STALL), int(Cause.NONE))  # all signals count as a stall
        return state.written(plant, action.mode, cause)

    def leave(
        self, state: PaperState, plant: Plant, action: StageAction, cause: Int[Array, ""]
    ) -> tuple[PaperState, StageAction, Drive]:
        state, action = self._event(state, plant)
        anchor = jnp.where(plant.finite, action.anchor, _refuge(state, plant))
        action = eqx.tree_at(lambda a: a.anchor, action, anchor)
        return state, action, self.control(state, plant, action)

    def _signals(self, state: PaperState, plant: Plant) -> Signals:
        return state.stage.signals(plant, state.momentum(plant)[1])

    def _observation(self, state: PaperState, plant: Plant) -> Float[Array, " z"]:
        scales, (_, p) = state.stage.scales, state.momentum(plant)
        f = jnp.clip((plant.f - scales.shift) / scales.value, -OBSERVED, OBSERVED)
        g = jnp.clip(plant.g / scales.force, -OBSERVED, OBSERVED)
        return self.observe(plant.q, p, f, g, None if state.memory is None else state.memory.read(plant.q))

    def _event(self, state: PaperState, plant: Plant) -> tuple[PaperState, StageAction]:
        """Freeze the units and plan, once memory is written (Algorithm alg:dp_event_interface)."""
        state = replace(state, stage=Stage.opened(state.survey.scales(), plant.f), stages=state.stages + 1)
        mode_key = state.draw_key(0) if self.sample_mode else None
        return state, self.plan(self._observation(state, plant), mode_key, plant.lower, plant.upper)

    def _retreat(self, drive: Drive, kappa: Float[Array, ""]) -> Drive:
        """One step onto the anchor, all momentum dissipated: M = h^2 kappa I and nothing else (design, escape)."""
        old, q_bar = drive.structure, drive.potential.q_bar
        metric, zero = DiagonalMetric(jnp.ones_like(q_bar) / (self.h**2 * kappa)), jnp.zeros_like(kappa)
        still = jnp.zeros_like(q_bar)
        structure = Structure(metric, old.skew, old.dissipation, jnp.ones_like(kappa), zero, zero, still, zero)
        flat = jax.tree.map(jnp.zeros_like, (drive.potential.memory, drive.potential.barrier))
        return Drive(structure, ShapedPotential(q_bar, kappa, *flat), jnp.full_like(kappa, jnp.inf))


def _refuge(state: PaperState, plant: Plant) -> Float[Array, " d"]:
    """Where to read after a reading that is not finite."""
    lower = jnp.where(jnp.isfinite(plant.lower), plant.lower, -REACH)
    upper = jnp.where(jnp.isfinite(plant.upper), plant.upper, REACH)
    anywhere = lower + jax.random.uniform(state.draw_key(1), plant.q.shape, plant.q.dtype) * (upper - lower)
    return jnp.where(state.survey.found, 0.5 * (plant.q + state.survey.last), anywhere)
