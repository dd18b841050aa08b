"""The stages of a run in sequence: where a stage ends, what the accepted values do, and whether they lead to a critical
point (Propositions prop:dp_frozen_stage_conv, prop:dp_hybrid_memory_improvement, prop:dp_general_nonconvex).

Each statement is a finite inequality with explicit constants. Beside it stands a case that lacks one assumption and
breaks it, computed by the same function, so that the check is known to be able to fail.
"""

import itertools
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ...core import Cause
from .defects import DefectCheck
from .frozen import curvatures, freeze
from .lyapunov import Constants
from .watch import Runs

ROUND_OFF = 1e-9
SEGMENT = 9  # points between a stage's end and its equilibrium at which U must be convex
FADED = 0.5  # errors count as summable where the later half of a run has at most this share of their sum


@dataclass(frozen=True)
class TerminalCheck:
    """Largest shares of the two bounds on |q - q*| + |p| that discrete stages used; `degenerate` is the share at a
    minimum without curvature."""

    residual: float
    energy: float
    degenerate: float

    @property
    def holds(self) -> bool:
        return max(self.residual, self.energy) <= 1.0 + ROUND_OFF and self.degenerate > 1.0


def check_terminal(check: DefectCheck) -> TerminalCheck:
    """Every step of the stages that `check_defects` stepped counts as an end (eq. dp_stage_terminal_neighborhood)."""
    residual, energy = [], []
    for i, constant in enumerate(check.constants):
        at = jax.tree.map(lambda leaf: leaf[i], check.steps)  # noqa: B023
        distance, rest = np.sqrt(at.square) + np.sqrt(at.momentum), np.sqrt(at.slope) + np.sqrt(at.momentum)
        started = distance > 1e-12 * np.max(distance)
        allowed = terminal_bound(constant, rest)
        residual.append(np.max((distance / np.maximum(allowed, 1e-300))[started]))
        h, n = check.h[i][:, None], np.arange(distance.shape[-1])
        rate = constant.c * (1.0 - 0.5 * constant.c * h)
        error = (1.0 - rate * h) ** n * at.V(constant.epsilon)[..., :1] + check.C_1[i] * h / rate
        energy.append(np.max(distance / energy_bound(constant, error)))
    return TerminalCheck(float(max(residual)), float(max(energy)), degenerate_share(check.constants[0]))


def terminal_bound(constant: Constants, residual: Any) -> Any:
    """C eta with C = max(1, 1 / mu): strong convexity gives mu |q - q*| <= |grad U(q)|."""
    return max(1.0, 1.0 / constant.mu) * residual


def energy_bound(constant: Constants, error: Any) -> Any:
    """C sqrt(E) with C^2 = 8 / min(mu, 1 / m_high), from V >= (mu |q - q*|^2 + |p|^2 / m_high) / 4."""
    return (8.0 * np.maximum(error, 0.0) / min(constant.mu, 1.0 / constant.bounds.m_high)) ** 0.5


def degenerate_share(constant: Constants) -> float:
    """The share of the first bound at q = 1e-3 of U = q^4 / 4, which has no mu: the bound is of no use there."""
    q = 1e-3
    return float(q / terminal_bound(constant, q**3))


@dataclass(frozen=True)
class ImprovementCheck:
    """Accepted values over the stages of all runs."""

    stages: int
    rises: int  # of the accepted value; none may
    last_rises: int  # of the last value instead of the best: what happens without acceptance
    better: int  # stages whose equilibrium lies below the accepted value, and that end where U is convex
    excess: float  # largest of (F - (f(q*) + errors)) over those stages, as a share of the gain that was offered
    undistorted: int  # of those stages, how many would break the bound with rho = 0

    @property
    def holds(self) -> bool:
        return self.rises == 0 and self.excess <= ROUND_OFF


def check_improvement(runs: Runs) -> ImprovementCheck:
    """Every stage of every run, from event to event (eqs. dp_monotone_acceptance, dp_strict_improvement)."""
    spans = [span for run in range(len(runs.f)) for span in stage_spans(runs, run)]
    accepted = [(runs.best[run, begin], runs.best[run, end]) for run, begin, end in spans]
    rises = sum(after > before for before, after in accepted)
    last_rises = sum(runs.f[run, end] > runs.f[run, begin] for run, begin, end in spans)
    offers = _offers(runs, spans)
    excess = max((one.excess for one in offers), default=0.0)
    undistorted = sum(one.excess + one.distortion > ROUND_OFF for one in offers)
    return ImprovementCheck(len(spans), rises, last_rises, len(offers), excess, undistorted)


def stage_spans(runs: Runs, run: int) -> list[tuple[int, int, int]]:
    """(run, step with which a stage began, reading at which it ended)."""
    events = [int(i) for i in np.flatnonzero(runs.cause[run] != Cause.NONE) if np.isfinite(runs.f[run, i])]
    return [(run, begin, end) for begin, end in itertools.pairwise(events)]


@dataclass(frozen=True)
class Offer:
    """One stage with a better equilibrium: how far the bound is exceeded and what the distortion adds to it, both as
    shares of the gain that the equilibrium offered."""

    excess: float
    distortion: float


def _offers(runs: Runs, spans: list[tuple[int, int, int]]) -> list[Offer]:
    if not spans:
        return []
    stages = freeze(runs, [(run, begin) for run, begin, _ in spans])
    ends = np.stack([runs.steps.q[run, end] for run, _, end in spans])
    momenta = np.stack([runs.steps.p[run, end] for run, _, end in spans])
    f_star, f_end, U_star, U_end, slope = jax.tree.map(np.asarray, _values(stages, ends))
    way = np.linspace(0.0, 1.0, SEGMENT)[None, :, None]
    between = stages.q_star[:, None] + way * (ends - stages.q_star)[:, None]
    convex = np.asarray(curvatures(stages, between))[..., 0].min(1) > 0
    offers = []
    for i, (run, begin, end) in enumerate(spans):
        gain = runs.best[run, begin] - f_star[i]
        if not (convex[i] and gain > ROUND_OFF * (abs(f_star[i]) + 1.0)):
            continue
        eta = np.linalg.norm(slope[i]) + np.linalg.norm(momenta[i])
        regular = np.linalg.norm(ends[i] - stages.q_star[i])  # C_1: U(q+) - U(q*) <= |grad U(q+)| |q+ - q*|
        distortion = abs(U_end[i] - f_end[i]) + abs(U_star[i] - f_star[i])  # 2 rho
        over = runs.best[run, end] - (f_star[i] + regular * eta + distortion)
        offers.append(Offer(float(over / gain), float(distortion / gain)))
    return offers


@jax.jit
@jax.vmap
def _values(stage: Any, q: Any) -> Any:
    """f and U at the equilibrium and at q, and the slope of U there."""
    f = lambda x: stage.task(stage.task.box.outward(x))  # noqa: E731
    return f(stage.q_star), f(q), stage.U(stage.q_star), stage.U(q), jax.grad(stage.U)(q)


@dataclass(frozen=True)
class CriticalCheck:
    """Accepted sequences under sufficient decrease and relative error; `excess` is over the bound on the least slope of
    f along a sequence, largest over runs. `summable`: share of runs whose errors fade."""

    a: float
    b: float
    runs: int
    summable: float
    excess: float
    slope: float  # median over the runs with fading errors of the last slope as a share of the first
    stuck: float  # the sum of errors, per stage, of a sequence that stays where f is not critical

    @property
    def holds(self) -> bool:
        return self.excess <= ROUND_OFF and self.stuck > 0.0


def check_critical(runs: Runs) -> CriticalCheck:
    """The accepted points of every run at its events, with a and b the medians of what the runs themselves show."""
    chains = [accepted_points(runs, run) for run in range(len(runs.f))]
    chains = [(q, F, g) for q, F, g in chains if len(F) > 2]
    falls = np.concatenate([(F[:-1] - F[1:])[m > 0] / m[m > 0] ** 2 for q, F, g in chains for m in [_moves(q)]])
    slopes = np.concatenate([g[1:][m > 0] / m[m > 0] for q, F, g in chains for m in [_moves(q)]])
    a, b = (float(np.median(part)) if part.size else 1.0 for part in (falls, slopes))
    errors = [errors_of(q, F, g, a, b) for q, F, g in chains]
    excess = [least_slope_excess(F, g, e, a, b) for (_, F, g), e in zip(chains, errors, strict=True)]
    fading = [np.sum(e[len(e) // 2 :]) <= FADED * np.sum(e) for e in errors]
    ratios = [g[-1] / g[0] for (_, _, g), fades in zip(chains, fading, strict=True) if fades and g[0] > 0]
    still = np.zeros((8, 2)), np.ones(8), np.ones(8)
    return CriticalCheck(
        a,
        b,
        len(chains),
        float(np.mean(fading)) if fading else 0.0,
        float(max(excess, default=0.0)),
        float(np.median(ratios)) if ratios else float("nan"),
        float(np.mean(errors_of(*still, a, b)[4:])),
    )


def accepted_points(runs: Runs, run: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(places, values, slopes of f) of the best reading so far at every event."""
    finite = np.where(np.isfinite(runs.f[run]), runs.f[run], np.inf)
    ends = [end for _, _, end in stage_spans(runs, run)]
    best = [int(np.argmin(finite[: end + 1])) for end in ends]
    if not best:
        return np.zeros((0, 1)), np.zeros(0), np.zeros(0)
    q = np.asarray(runs.steps.q[run])
    return q[best], finite[best], np.asarray(_slopes(runs.task(run), jnp.asarray(q)))[best]


@jax.jit
def _slopes(task: Any, q: Any) -> Any:
    slope = jax.grad(lambda x: task(task.box.outward(x)))
    return jax.vmap(lambda x: jnp.linalg.norm(slope(x)))(q)


def _moves(q: np.ndarray) -> np.ndarray:
    return np.linalg.norm(np.diff(q, axis=0), axis=1)


def errors_of(q: np.ndarray, F: np.ndarray, g: np.ndarray, a: float, b: float) -> np.ndarray:
    """The least epsilon_s with which eqs. dp_sufficient_decrease and dp_relative_error hold."""
    moves = _moves(q)
    return np.maximum(0.0, np.maximum(a * moves**2 - (F[:-1] - F[1:]), g[1:] - b * moves))


def least_slope_excess(F: np.ndarray, g: np.ndarray, errors: np.ndarray, a: float, b: float) -> float:
    """How far the least slope of S steps exceeds b sqrt((F_0 - F_S + sum epsilon) / (a S)) + mean epsilon.

    The bound is the two assumptions summed; with summable errors it falls to zero, which makes limits critical.
    """
    steps = len(errors)
    bound = b * ((F[0] - F[-1] + errors.sum()) / (a * steps)) ** 0.5 + errors.mean() if a > 0 else np.inf
    return float((g[1:].min() - bound) / max(g[0], 1e-300))
