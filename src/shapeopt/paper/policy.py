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
from jaxtyping import Array, Float, Int, PRNGKeyArray

from ..core import REACH, Mode
from .base import AbstractPolicy, Drive, Plant
from .dynamics import DiagonalMetric, ShapedPotential, StepResult, Structure
from .events import Signals, StageAction
from .memory import Archive, make_spatial_memory, spatial_read_size
from .networks import (
    CUES,
    Control,
    ControllerGains,
    PaperController,
    PaperPlanner,
    PlannerGains,
    View,
    anchor_gain,
    check_integer,
    float_type_of,
    make_network,
    nearest_hidden,
    norm,
    plain_control,
)
from .shaping import cell_potential, shaped_potential
from .stage import PaperState, Scales, Stage, Survey, Tally, acting_on

BASINS = 16  # slots of the archive; chosen here
OBSERVED = 100.0  # the networks see forces and values up to so many units, for cliffs; chosen here
FARTHEST = 0.5  # longest move of a step per root coordinate: a twentieth of the box; chosen here
RISE = 10.0  # cue of f above the best, per unit of value; chosen here
FAINT = 1e-3  # smallest ratio of forces that a cue tells from zero; chosen here
SHAPING = -2.0  # an untrained policy has e^-2 of the heights of U_mem and V_bar; chosen here


class PaperPolicy(AbstractPolicy):
    """Planner and controller for one dimension.

    `controller` is None in the no-controller ablation: unit mass, plain damping, no port. Without `use_memory` there is
    neither a memory read (mem_dim = 0) nor U_mem and V_bar, as in the no-memory ablation; the archive of basins then
    serves the result alone. The ablations use `event_horizon` 4.

    Departs from the paper: what the networks see and say is in units of the stage and of the stiffness that the
    readings show (see `stage`), where the paper takes f as it is. The momentum's bound, P_MAX, shrinks the whole
    momentum rather than clip each component, and acts as the next step begins, this step being limited by a radius.
    After a reading that is not finite the plant goes halfway back to the last finite one, or anywhere if there was
    none. `plan_horizon` and `sample_mode` are off by default. Without `sees_place` the networks are not told where in
    the box q lies (zeros in its stead, the anchor as a move from q), so that no pull to a place can be learned.
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
    p_max: float = eqx.field(static=True, default=math.inf)  # in units of f; P_MAX, a length, is the bound
    sees_place: bool = eqx.field(static=True, default=True)  # whether q is in z, as the paper has it
    cell_shaping: bool = eqx.field(static=True, default=False)  # U_mem and V_bar from m_s instead of the archive
    noisy_stall: bool = eqx.field(static=True, default=False)  # stall judged by sums over a stage: see `Stage`
    writes: bool = eqx.field(static=True, default=True)  # false: memory and archive stay empty, a row of the tables

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
        sees_place: bool = True,
        cell_shaping: bool = False,
        noisy_stall: bool = False,
        dtype: str | None = None,
    ) -> "PaperPolicy":
        """An untrained policy; `hidden` and `dtype` default to the paper's width and to JAX's current float."""
        check_integer("d", d, 1)
        check_integer("rank", rank, 0)
        check_integer("event_horizon", event_horizon, 1)
        check_integer("descriptor_size", descriptor_size, 0)
        hidden = nearest_hidden(d) if hidden is None else hidden
        check_integer("hidden", hidden, 1)
        if cell_shaping and (d > 2 or not use_memory):
            raise ValueError(f"`cell_shaping` needs a memory and one or two dimensions; got {d} and {use_memory}.")
        for name, size in (("h", h), ("trust_radius", trust_radius), ("u_max", u_max)):
            if not (isinstance(size, (int, float)) and 0 < size < math.inf):
                raise ValueError(f"`{name}` must be positive and finite; got {size!r}.")
        float_type = float_type_of(dtype)
        seen = 3 * d + 2 + descriptor_size + (spatial_read_size(d) if use_memory else 0) + CUES
        plan_key, control_key = jax.random.split(key)
        network = make_network(seen, d + len(Mode) + 4, hidden, float_type, plan_key)
        gains = PlannerGains.prior(2 + use_memory, float_type)
        planner = PaperPlanner(network, gains, d, trust_radius, event_horizon, plan_horizon)
        controller = None
        if use_controller:
            network = make_network(seen + d + len(Mode) + 3, 3 * d + 3 * d * rank + 2, hidden, float_type, control_key)
            controller = PaperController(network, ControllerGains.zero(float_type), d, rank, u_max, h, sees_place)
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
            sees_place=sees_place,
            cell_shaping=cell_shaping,
            noisy_stall=noisy_stall,
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
            "sees_place": self.sees_place,
            "cell_shaping": self.cell_shaping,
            "noisy_stall": self.noisy_stall,
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
        place = q if self.sees_place else jnp.zeros_like(q)
        return jnp.concatenate([place, p, g, f[None], norm(g)[None], *(part for part in extras if part is not None)])

    def plan(
        self,
        view: View,
        key: PRNGKeyArray | None = None,
        lower: Float[Array, " d"] | float = -REACH,
        upper: Float[Array, " d"] | float = REACH,
    ) -> StageAction:
        """a_s; the key is used only under `sample_mode`."""
        return self.planner(view, lower, upper, key if self.sample_mode else None)

    def steer(self, view: View, action: StageAction) -> Control:
        """The structure of the next step and kappa_loc."""
        if self.controller is None:
            return plain_control(view, action, self.h)
        return self.controller(view, action)

    def init(
        self,
        q: Float[Array, " d"],
        budget: int,
        key: PRNGKeyArray,
        descriptor: Float[Array, " k"] | None = None,
    ) -> tuple[PaperState, StageAction]:
        if q.size != self.planner.d:
            raise ValueError(f"`policy` must be for the problem's {q.size} coordinates; got one for {self.planner.d}.")
        given = 0 if descriptor is None else descriptor.size
        if self.descriptor_size != given and self.descriptor_size:
            raise ValueError(f"`descriptor` must have the policy's {self.descriptor_size} numbers; got {given}.")
        survey = Survey.blank(q)
        state = PaperState(
            survey=survey,
            stage=self._opened(survey.scales(), q, survey.best),
            memory=make_spatial_memory(q.size, q.dtype) if self.use_memory else None,
            archive=Archive.empty(BASINS, q.size, q.dtype),
            trusted=jnp.zeros((), bool),
            stages=jnp.zeros((), jnp.int32),
            key=jax.random.key_data(key),
            descriptor=descriptor.astype(q.dtype) if self.descriptor_size and descriptor is not None else None,
        )
        zero, whole = jnp.zeros((), q.dtype), jnp.zeros((), jnp.int32)
        hold = StageAction(whole + Mode.SETTLE, q, zero, zero, zero, whole + 1, jnp.zeros(len(Mode), q.dtype))
        return state, hold

    def assess(self, state: PaperState, plant: Plant, action: StageAction) -> PaperState:
        survey = state.survey.after(plant)
        return replace(state, survey=survey, stage=state.stage.after(plant, survey.scales()))

    def notice(self, state: PaperState, plant: Plant, action: StageAction) -> Signals:
        return state.stage.signals(plant, state.momentum(plant, self.h)[1])

    def begin(
        self, state: PaperState, plant: Plant, action: StageAction, cause: Int[Array, ""]
    ) -> tuple[PaperState, StageAction]:
        """Write memory, freeze the units, plan (Algorithm alg:dp_event_interface)."""
        state = state.written(plant, action.mode, cause) if self.writes else state
        state = replace(state, stage=self._opened(state.survey.scales(), plant.q, plant.f), stages=state.stages + 1)
        mode_key = state.draw_key(0) if self.sample_mode else None
        planned = self.plan(self._view(state, plant), mode_key, plant.lower, plant.upper)
        anchor = jnp.where(plant.finite, planned.anchor, _refuge(state, plant))
        return state, eqx.tree_at(lambda a: a.anchor, planned, anchor)

    def control(self, state: PaperState, plant: Plant, action: StageAction) -> Drive:
        """The controller's step in units of f; after a reading that is not finite, a move to the anchor."""
        scales, (kept, _) = state.stage.scales, state.momentum(plant, self.h)
        chosen = self.steer(self._view(state, plant), action)
        kappa = anchor_gain(chosen, action)
        archive = state.archive if self.use_memory else None
        heights = jnp.exp(SHAPING + 2.0 * jnp.tanh(self.planner.gains.shaping.astype(kappa.dtype)))
        if self.cell_shaping and state.memory is not None:
            potential = cell_potential(action.anchor, kappa, state.memory, scales.value, action.mode, heights)
        else:
            potential = shaped_potential(action.anchor, kappa, archive, scales.value, action.mode, heights)
        radius = jnp.full_like(kappa, FARTHEST * plant.q.size**0.5)
        drive = Drive(acting_on(chosen.structure, kept), potential, radius)
        either = lambda a, b: a if a is b else jnp.where(plant.finite, a, b)  # noqa: E731
        return jax.tree.map(either, drive, self._retreat(drive, scales.force))

    def follow(self, state: PaperState, plant: Plant, action: StageAction, result: StepResult) -> PaperState:
        stage = state.stage
        if stage.tally is not None:
            stage = replace(stage, tally=stage.tally.after(plant, result.e_q, result.q))
        return replace(state, stage=stage, trusted=stage.scales.known & plant.finite)

    def _opened(self, scales: Scales, q: Float[Array, " d"], f: Float[Array, ""]) -> Stage:
        return Stage.opened(scales, f, Tally.blank(q, f) if self.noisy_stall else None)

    def _view(self, state: PaperState, plant: Plant) -> View:
        """What the networks see of a reading."""
        survey, scales, (_, p) = state.survey, state.stage.scales, state.momentum(plant, self.h)
        rise = (plant.f - scales.shift) / scales.value
        f = jnp.clip(rise, -OBSERVED, OBSERVED)
        g = jnp.clip(plant.g / scales.force, -OBSERVED, OBSERVED)
        stiffness = survey.log_stiffness()
        strength = norm(g) / plant.q.size**0.5
        cues = [RISE * rise, jnp.log(strength + FAINT), jnp.mean(stiffness[1] - stiffness[0])]
        memory = None if state.memory is None else state.memory.read(plant.q)
        directions = [-g, p, *([survey.best_place - plant.q] if self.use_memory else [])]
        return View(
            plant.q,
            self.observe(plant.q, p, f, g, memory, state.descriptor),
            jnp.stack([jnp.ones_like(rise), 2.0 * plant.spent - 1.0, *(jnp.clip(cue, -2.0, 2.0) for cue in cues)]),
            jnp.stack(directions),
            stiffness,
            scales.force,
            jnp.minimum(strength, 1.0),
        )

    def _retreat(self, drive: Drive, kappa: Float[Array, ""]) -> Drive:
        """One step onto the anchor, all momentum dissipated: M = h^2 kappa I and nothing else."""
        old, potential, q_bar = drive.structure, drive.potential, drive.potential.q_bar
        metric, zero = DiagonalMetric(jnp.ones_like(q_bar) / (self.h**2 * kappa)), jnp.zeros_like(kappa)
        still = jnp.zeros_like(q_bar)
        port = (None, None) if old.u_shp is None else (still, zero)
        structure = Structure(metric, old.skew, old.dissipation, jnp.ones_like(kappa), zero, zero, *port)
        flat = (replace(part, heights=jnp.zeros_like(part.heights)) for part in (potential.memory, potential.barrier))
        return Drive(structure, ShapedPotential(q_bar, kappa, *flat), jnp.full_like(kappa, jnp.inf))


def _refuge(state: PaperState, plant: Plant) -> Float[Array, " d"]:
    """Where to read after a reading that is not finite."""
    lower = jnp.where(jnp.isfinite(plant.lower), plant.lower, -REACH)
    upper = jnp.where(jnp.isfinite(plant.upper), plant.upper, REACH)
    anywhere = lower + jax.random.uniform(state.draw_key(1), plant.q.shape, plant.q.dtype) * (upper - lower)
    return jnp.where(state.survey.found, 0.5 * (plant.q + state.survey.last), anywhere)
