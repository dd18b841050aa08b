"""The joint update of phase III in eager PyTorch, batched: what `training.py` measures the library against.

It is the library's arithmetic on Rastrigin tasks in [-5, 5]^d with exact readings and no window, written as one would
in PyTorch: the planner and the teacher run only where a stage is planned, the gradient of the objective is by hand,
what is not differentiated is detached, and readings that are not finite, which these tasks don't have, are not looked
for. Constants are the library's own.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import equinox as eqx
import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import huber_loss, log_softmax, one_hot
from torch_memory import Archive, Memory

from shapeopt.core import REACH, Mode
from shapeopt.paper import networks as nets
from shapeopt.paper.policy import FAINT, FARTHEST, OBSERVED, RISE, SHAPING, PaperPolicy
from shapeopt.paper.stage import (
    CLIFF,
    CONVERGED_FORCE,
    FORCE_MEMORY,
    LOW_FORCE,
    LOW_MOMENTUM,
    P_MAX,
    PATIENCE,
    POOLED,
    PROGRESS,
    REACH_OF_FORCE,
    SECANT_MEMORY,
    STILL,
)
from shapeopt.paper.training.losses import PAPER_WEIGHTS, PORT_SHARE
from shapeopt.paper.training.teacher import CLEAR, NOVEL, PROBE_TEACHER, TRIES, WORST

Draw = Callable[[int], tuple[Tensor, Tensor]]  # reading -> the teacher's normals: its tries, and those across


class Tasks(NamedTuple):
    """A batch of shifted Rastrigin functions."""

    bowl: Tensor
    A: Tensor
    omega: Tensor
    s: Tensor

    def value(self, q: Tensor) -> Tensor:
        """Values at points (batch, ..., d)."""
        bowl, A, omega, s = (part.reshape(len(part), *(1,) * (q.ndim - 2), -1) for part in self)
        x = q - s
        return (bowl * x**2 + 2 * A * torch.sin(0.5 * omega * x) ** 2).sum(-1)

    def value_and_gradient(self, q: Tensor) -> tuple[Tensor, Tensor]:
        bowl, A, omega = (part[:, None] for part in self[:3])
        x = q - self.s
        sine, cosine = torch.sin(0.5 * omega * x), torch.cos(0.5 * omega * x)
        return (bowl * x**2 + 2 * A * sine**2).sum(-1), 2 * bowl * x + 2 * A * omega * sine * cosine


class Action(NamedTuple):
    """What the planner fixed."""

    mode: Tensor
    anchor: Tensor
    gains: Tensor  # alpha_J, alpha_R, kappa
    logits: Tensor


class Survey(NamedTuple):
    """What all readings of a run say of its objective; nothing is differentiated."""

    log_force: Tensor
    count: int
    first: Tensor
    best: Tensor
    best_place: Tensor
    last: Tensor
    last_force: Tensor
    squares: Tensor
    turns: Tensor
    moves: Tensor

    @staticmethod
    def blank(q: Tensor) -> "Survey":
        zero, still = q.new_zeros(len(q)), torch.zeros_like(q)
        return Survey(zero, 0, zero + 1.0, zero + torch.inf, q, q, still, still, still, still)

    def after(self, q: Tensor, f: Tensor, g: Tensor) -> "Survey":
        force, count, opening = rms(g), self.count + 1, self.count == 0
        first = force if opening else self.first
        relative = (g / first[:, None]).clamp(-CLIFF, CLIFF)
        square = relative**2
        squares = square if opening else FORCE_MEMORY * self.squares + (1 - FORCE_MEMORY) * square
        turns, moves, move = self.turns, self.moves, q - self.last
        if not opening:
            bends = (rms(move) > STILL)[:, None]
            turns = torch.where(bends, SECANT_MEMORY * turns + (relative - self.last_force) ** 2, turns)
            moves = torch.where(bends, SECANT_MEMORY * moves + move**2, moves)
        better = f < self.best
        return Survey(
            self.log_force + (force.log() - self.log_force) / count,
            count,
            first,
            torch.where(better, f, self.best),
            torch.where(better[:, None], q, self.best_place),
            q,
            relative,
            squares,
            turns,
            moves,
        )

    def log_stiffness(self) -> Tensor:
        """batch, modes, d."""
        steep = 0.5 * log_pooled(self.squares) - math.log(REACH_OF_FORCE)
        bent = (self.turns.amax(1) > 0) & (self.moves.amax(1) > 0)
        bend = torch.where(bent[:, None], 0.5 * (log_pooled(self.turns) - log_pooled(self.moves)), steep)
        level = steep.mean(1, keepdim=True).expand_as(steep)
        return self.first.log()[:, None, None] + torch.stack([steep, bend, level], dim=1)


class Stage(NamedTuple):
    """A stage's units and progress; nothing is differentiated."""

    force: Tensor
    shift: Tensor
    start: Tensor
    lowest: Tensor
    steps: Tensor


class View(NamedTuple):
    """What both networks see; `kept` is the share of the momentum that a step keeps."""

    z: Tensor  # eq. dp_assimilated_signal, then the cues
    cues: Tensor
    directions: Tensor  # batch, k, d
    log_stiffness: Tensor  # batch, modes, d
    strength: Tensor  # the force at hand, rms, in the stage's unit, at most 1
    kept: Tensor


class Step(NamedTuple):
    """What the loss needs of a reading."""

    value: Tensor
    way: Tensor  # distance from the anchor under which q was reached
    channels: Tensor  # batch, 4
    event: Tensor
    surprise: Tensor
    miss: Tensor


class Policy(nn.Module):
    """Planner and controller with the weights of a library's policy."""

    def __init__(self, policy: PaperPolicy, dtype: torch.dtype) -> None:
        super().__init__()
        self.planner, self.planner_gains = network(policy.planner.network, dtype), shared(policy.planner.gains)
        self.controller = network(policy.controller.network, dtype)
        self.controller_gains = shared(policy.controller.gains)
        self.d, self.rank, self.h = policy.planner.d, policy.rank, policy.h
        self.rho, self.horizon, self.u_max = policy.planner.trust_radius, policy.planner.event_horizon, policy.u_max
        self.beta = torch.tensor([nets.BETA_J, nets.BETA_R], dtype=dtype)

    def plan(self, view: View, q: Tensor) -> Action:
        gains = self.planner_gains
        move, logits, scalars = self.planner(view.z).split((self.d, len(Mode), 4), dim=1)
        move = move + gains["directions"] @ view.directions
        logits = logits + view.cues @ gains["logits"].T
        alpha = nets.ALPHA_MARGIN + (1.0 - 2.0 * nets.ALPHA_MARGIN) * torch.sigmoid(scalars[:, :2] + nets.HALF_DAMPED)
        pull = torch.sigmoid(scalars[:, 2] + view.cues @ gains["kappa"] + nets.QUIET)
        kappa = nets.KAPPA_MIN + (1.0 - nets.KAPPA_MIN) * pull
        mode = logits.argmax(1)
        away = torch.where(mode == Mode.REFINE, 0.0, self.rho)[:, None] * torch.tanh(move)
        anchor = (q + away).clamp(-REACH, REACH)
        return Action(mode, anchor, torch.cat([alpha, kappa[:, None]], dim=1), logits)

    def step(
        self, view: View, action: Action, q: Tensor, p: Tensor, g: Tensor, force: Tensor, archive: Archive
    ) -> tuple[Tensor, Tensor, Tensor]:
        """(q', p', channels in the stage's units)."""
        d, r, h, gains, reach = self.d, self.rank, self.h, self.controller_gains, nets.LOG_MASS_REACH
        soft = torch.softmax(action.logits, dim=1)
        weights = one_hot(action.mode, len(Mode)).to(p.dtype) + (soft - soft.detach())
        heads = self.controller(torch.cat([view.z, action.anchor, weights, action.gains], dim=1))
        log_mass, push, damping, factors, scalars = heads.split((d, d, d, 3 * d * r, 2), dim=1)
        heavier, slower = (
            ((weights @ gains[name]) * view.cues).sum(1, keepdim=True) for name in ("log_mass", "damping")
        )
        factor = reach * torch.tanh((log_mass + heavier) / reach)
        stiffness = torch.exp((weights[:, None] @ view.log_stiffness)[:, 0] + factor)
        drag = h * stiffness
        factors = torch.tanh(factors).reshape(-1, 3, d, r) * (drag / (d * r)).sqrt()[:, None, :, None]
        U, V, B = factors.unbind(1)
        diagonal = drag * torch.sigmoid(damping + slower + nets.HALF_DAMPED)
        port, local = torch.sigmoid(scalars + 2.0 * nets.QUIET).split(1, dim=1)
        softest, kept = stiffness.amin(1, keepdim=True), view.kept[:, None]
        alpha_J, alpha_R = (kept * action.gains[:, :2] * (weights @ self.beta.T)).split(1, dim=1)
        v = p / (h**2 * stiffness)
        row = v[:, None]
        skew = alpha_J * ((row @ V @ U.mT) - (row @ U @ V.mT))[:, 0]
        loss = alpha_R * ((row @ B @ B.mT)[:, 0] + diagonal * v)
        bound = self.u_max * force * torch.where(action.mode == Mode.REFINE, view.strength, 1.0)
        u_port = bound[:, None] * torch.tanh(push) - kept * port * h * softest * v
        kappa = action.gains[:, 2:]
        pull = (kappa + (1.0 - kappa) * local) * softest * (q - action.anchor)
        heights = torch.exp(SHAPING + 2.0 * torch.tanh(self.planner_gains["shaping"]))
        shaping = pull + archive.force(q, d * force, (action.mode == Mode.ESCAPE).to(p.dtype), heights)
        p_new = kept * p + h * (-(g + shaping) + skew - loss + u_port)
        move = p_new / (h * stiffness)
        square, limit = (move**2).sum(1, keepdim=True), FARTHEST * d**0.5
        too_long = square > limit**2
        move = torch.where(too_long, limit / torch.where(too_long, square, 1.0).sqrt(), 1.0) * move
        channels = torch.stack([norm(skew), norm(loss), norm(u_port), (v * u_port).sum(1)], dim=1)
        return (q + move).clamp(-REACH, REACH), p_new, channels / force[:, None]


def shared(gains: eqx.Module) -> nn.ParameterDict:
    """What the heads share over coordinates."""
    return nn.ParameterDict([(name, torch.tensor(np.asarray(leaf))) for name, leaf in vars(gains).items()])


def network(mlp: eqx.nn.MLP, dtype: torch.dtype) -> nn.Sequential:
    """Linear layers with tanh in between, with the weights of an Equinox MLP."""
    layers: list[nn.Module] = []
    for layer in mlp.layers:
        linear = nn.Linear(layer.in_features, layer.out_features, dtype=dtype)
        with torch.no_grad():
            linear.weight.copy_(torch.tensor(np.asarray(layer.weight)))
            linear.bias.copy_(torch.tensor(np.asarray(layer.bias)))
        layers += [linear, nn.Tanh()]
    return nn.Sequential(*layers[:-1])


def norm(v: Tensor) -> Tensor:
    """Euclidean norm of the rows, whose derivative at zero is zero."""
    return torch.linalg.vector_norm(v, dim=-1)


def rms(v: Tensor) -> Tensor:
    return v.square().mean(-1).sqrt()


def log_pooled(squares: Tensor) -> Tensor:
    pooled = (1.0 - POOLED) * squares + POOLED * squares.mean(1, keepdim=True)
    return pooled.clamp(min=torch.finfo(squares.dtype).tiny).log()


def rollout_loss(policy: Policy, tasks: Tasks, q: Tensor, readings: int, draw: Draw) -> Tensor:
    """Eq. main_training_objective on runs of `readings` readings from the starts q."""
    p, zero, steps = torch.zeros_like(q), q.new_zeros(len(q)), []
    memory, archive, survey = Memory.empty(q), Archive.empty(q), Survey.blank(q)
    whole = torch.zeros(len(q), dtype=torch.long)
    stage = Stage(zero + 1.0, zero, zero + torch.inf, zero + torch.inf, whole)
    action = Action(whole, q, q.new_zeros(len(q), 3), q.new_zeros(len(q), len(Mode)))
    age, clock = whole, 1
    for n in range(readings):
        f, g = tasks.value_and_gradient(q)
        seen = q.detach(), f.detach(), g.detach()
        way = norm(q - action.anchor)
        survey = survey.after(*seen)
        units = (survey.log_force.exp(), survey.best) if n == 0 else stage[:2]
        stage = Stage(*units, stage.start, torch.minimum(stage.lowest, seen[1]), stage.steps + 1)
        stiffness = survey.log_stiffness()
        kept, momentum = bounded(p, stiffness, policy.h)
        signal = stalls(stage, seen[2], momentum.detach())
        age = age + 1
        event = (age >= clock) | signal
        surprise = miss = zero
        if planned := bool(event.any()):
            active = event & (signal | (action.mode == Mode.ESCAPE))
            memory, archive = memory.write(*seen, active), archive.write(*seen[:2], active)
            stage = reopen(stage, survey, seen[1], event)
        view = observe(stage, survey, memory, q, momentum, f, g, (n + 1) / readings, stiffness, kept)
        if planned:
            action = chosen(event, policy.plan(view, q), action)
            age, clock = torch.where(event, 0, age), policy.horizon
            anchor, mode = teach(tasks, stage.force, memory, *seen, p.detach(), signal, draw(n))
            surprise = -log_softmax(action.logits, dim=1).gather(1, mode[:, None])[:, 0]
            miss = huber_loss(action.anchor, anchor, reduction="none").mean(1)
        q, p, channels = policy.step(view, action, q, p, g, stage.force, archive)
        steps.append(Step(f, way, channels, event, surprise, miss))
    return weighted(Step(*(torch.stack(parts) for parts in zip(*steps, strict=True))))


def bounded(p: Tensor, log_stiffness: Tensor, h: float) -> tuple[Tensor, Tensor]:
    """(share of the momentum that is kept, what is kept of it as a length)."""
    scaled = p * torch.exp(-log_stiffness[:, 0]) / h
    kept = P_MAX / scaled.abs().amax(1).clamp(min=P_MAX)
    return kept, kept[:, None] * scaled


def stalls(stage: Stage, g: Tensor, momentum: Tensor) -> Tensor:
    """Where a stage stalled or converged."""
    force = rms(g) / stage.force
    still = (stage.steps >= PATIENCE) & (rms(momentum) <= LOW_MOMENTUM)
    idle = stage.start - stage.lowest <= PROGRESS * g.shape[1] * stage.force
    return still & ((idle & (force <= LOW_FORCE)) | (force <= CONVERGED_FORCE))


def reopen(stage: Stage, survey: Survey, f: Tensor, event: Tensor) -> Stage:
    """The units are frozen anew where a stage opens."""
    fresh = Stage(survey.log_force.exp(), survey.best, f, f, torch.zeros_like(stage.steps))
    return Stage(*(torch.where(event, new, old) for new, old in zip(fresh, stage, strict=True)))


def observe(
    stage: Stage,
    survey: Survey,
    memory: Memory,
    q: Tensor,
    momentum: Tensor,
    f: Tensor,
    g: Tensor,
    spent: float,
    log_stiffness: Tensor,
    kept: Tensor,
) -> View:
    """What the networks see of a reading."""
    d, one = q.shape[1], torch.ones_like(f)
    rise = (f - stage.shift) / (d * stage.force)
    force = (g / stage.force[:, None]).clamp(-OBSERVED, OBSERVED)
    size = norm(force)
    strength = size / d**0.5
    stiffer = (log_stiffness[:, 1] - log_stiffness[:, 0]).mean(1)
    felt = torch.stack([RISE * rise, torch.log(strength + FAINT), stiffer], dim=1).clamp(-2.0, 2.0)
    cues = torch.cat([torch.stack([one, (2.0 * spent - 1.0) * one], dim=1), felt], dim=1)
    level = rise.clamp(-OBSERVED, OBSERVED)
    z = torch.cat([q, momentum, force, level[:, None], size[:, None], memory.read(q), cues], dim=1)
    directions = torch.stack([-force, momentum, survey.best_place - q], dim=1)
    return View(z, cues, directions, log_stiffness, strength.clamp(max=1.0), kept)


def chosen(event: Tensor, new: Action, old: Action) -> Action:
    """The new action where a stage was planned."""
    if bool(event.all()):
        return new
    pick = lambda a, b: torch.where(event.reshape(-1, *(1,) * (a.ndim - 1)), a, b)  # noqa: E731
    return Action(*(pick(a, b) for a, b in zip(new, old, strict=True)))


@torch.no_grad()
def teach(
    tasks: Tasks,
    unit: Tensor,
    memory: Memory,
    q: Tensor,
    f: Tensor,
    g: Tensor,
    p: Tensor,
    stalled: Tensor,
    normals: tuple[Tensor, Tensor],
) -> tuple[Tensor, Tensor]:
    """The probe teacher's anchor and mode."""
    d, teacher = q.shape[1], PROBE_TEACHER
    tries, across = unit_vectors(normals[0]), normals[1]
    ahead = memory.novelty((q[:, None] + teacher.radii[-1] * tries).clamp(-REACH, REACH))
    novel = tries[torch.arange(len(q)), ahead.argmax(1)]
    named = [unit_vectors(-g), unit_vectors(p), novel]
    basis = named[:1]
    for i in range(across.shape[1]):
        v = across[:, i]
        for _ in range(2):
            v = v - sum((v * other).sum(1, keepdim=True) * other for other in basis)
        basis.append(unit_vectors(v))
    directions = torch.stack([*named, *basis[1:]], dim=1)
    moves = torch.cat([radius * directions for radius in teacher.radii], dim=1)
    points = (q[:, None] + moves).clamp(-REACH, REACH)
    gain = memory.novelty(points) - memory.novelty(q[:, None])
    improvement = (f[:, None] - tasks.value(points)) / (unit[:, None] * d**0.5)
    risk = ((points - q[:, None]) ** 2).sum(-1) / REACH**2
    scores = improvement.clamp(WORST, -WORST) + teacher.novelty_weight * gain - teacher.risk_weight * risk
    best, index = scores.max(1)
    rows = torch.arange(len(q))
    small = torch.where(stalled | (gain[rows, index] > NOVEL), int(Mode.ESCAPE), int(Mode.SETTLE))
    return points[rows, index], torch.where(best > CLEAR, int(Mode.REFINE), small)


def unit_vectors(v: Tensor) -> Tensor:
    return nn.functional.normalize(v, dim=-1, eps=torch.finfo(v.dtype).tiny)


def weighted(step: Step) -> Tensor:
    """The seven terms of eq. main_training_objective, weighted (the planner's is two)."""
    w, unit = PAPER_WEIGHTS, 1.0 / (step.value[0].abs() + 1.0)
    events = step.event.sum().clamp(min=1)
    skew, drag, port, power = step.channels[:-1].unbind(-1)
    return (
        w.term * (step.value[-1] * unit).mean()
        + w.best * (step.value.amin(0) * unit).mean()
        + w.prog * step.way[1:].mean()
        + w.ce * (step.surprise * step.event).sum() / events
        + w.sg * (step.miss * step.event).sum() / events
        + w.ctrl * (port**2).mean()
        + w.jr * (skew + drag + PORT_SHARE * port).mean()
        + w.port * (power.clamp(min=0.0) ** 2).mean()
    )


class Trainer:
    """Joint updates on tasks that it draws."""

    def __init__(self, policy: Policy, batch: int, readings: int, rate: float, clip: float) -> None:
        self.policy, self.batch, self.readings, self.clip = policy, batch, readings, clip
        self.adam = torch.optim.Adam(policy.parameters(), rate)

    def update(self) -> float:
        """One update; a loss or gradient that is not finite changes nothing."""
        tasks, starts = draw_tasks(self.batch, self.policy.d)
        loss = rollout_loss(self.policy, tasks, starts, self.readings, self.draw)
        self.adam.zero_grad()
        loss.backward()
        size = nn.utils.clip_grad_norm_(self.policy.parameters(), self.clip)
        if bool(torch.isfinite(size) & torch.isfinite(loss.detach())):
            self.adam.step()
        return float(loss.detach())

    def draw(self, reading: int) -> tuple[Tensor, Tensor]:
        batch, d = self.batch, self.policy.d
        return torch.randn(batch, TRIES, d), torch.randn(batch, min(PROBE_TEACHER.orthogonal, d - 1), d)


def draw_tasks(batch: int, d: int) -> tuple[Tasks, Tensor]:
    """Plain Rastrigin functions and starts by the paper's law."""
    one, s = torch.ones(batch), 2.0 * torch.rand(batch, d) - 1.0
    low, high = (1.9, 3.3) if d < 100 else (2.5, 3.7)
    radius = low + (high - low) * torch.rand(batch, 1)
    return Tasks(one, 10.0 * one, 2 * torch.pi * one, s), (s + radius * unit_vectors(torch.randn(batch, d))).clamp(
        -REACH, REACH
    )
