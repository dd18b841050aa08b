"""All statements, checked on the runs of one policy."""

from dataclasses import dataclass

import jax
import numpy as np

from ...tasks import AbstractFamily, StartLaw, make_family
from ..base import AbstractPolicy
from ..find import load_policy
from .accepted import CriticalCheck, ImprovementCheck, TerminalCheck, check_critical, check_improvement, check_terminal
from .defects import DefectCheck, Sweep, check_defects, resolvable
from .frozen import defects_of, freeze
from .lyapunov import RateCheck, check_rates
from .progress import ProgressCheck, check_progress
from .watch import Runs, watch

STAGES, STEPPED = 24, 3  # frozen stages whose rates are checked, and those that are stepped through all sweeps
ROUND_OFF = 1e-9


@dataclass(frozen=True)
class Cell:
    """A policy and the runs that it is studied on."""

    name: str
    policy: AbstractPolicy
    family: AbstractFamily
    budget: int


@dataclass(frozen=True)
class Statement:
    """A statement of the paper, what was stated of its constants, and whether it held."""

    title: str
    label: str
    claim: str
    found: tuple[str, ...]
    holds: bool


@dataclass(frozen=True)
class Study:
    """What came out for one policy; `defects` is None where no stage was fit to be stepped."""

    cell: Cell
    runs: Runs
    rates: list[RateCheck]
    defects: DefectCheck | None
    progress: ProgressCheck
    statements: list[Statement]

    @property
    def holds(self) -> bool:
        return all(statement.holds for statement in self.statements)


def make_cell(name: str) -> Cell:
    """The cell of a stored policy: its runs are on tasks of the family in its name."""
    kind, _, rest = name.partition("-")
    family, _, dimension = rest.partition("-")
    if kind not in ("paper", "tuned") or not dimension.split("-")[0].isdigit():
        raise ValueError(f"`name` must look like paper-FAMILY-DIMENSION or tuned-FAMILY-DIMENSION; got {name!r}.")
    varied = True if family in ("ackley", "levy", "rastrigin") else None
    return Cell(
        name, load_policy(name), make_family(family, int(dimension.split("-")[0]), StartLaw.PAPER, varied=varied), 48
    )


def check_cell(cell: Cell, count: int, seed: int) -> Study:
    """`count` runs, and every check on them."""
    with jax.enable_x64(True):
        runs = watch(cell.name, cell.policy, cell.family, count, cell.budget, seed)
        places = _spread(runs.stages, STAGES)
        stages = freeze(runs, places)
        rates, flat, broken = check_rates(stages)
        fit = resolvable(stages, rates, STEPPED)
        defects = check_defects(stages, fit, runs.h, seed) if fit else None
        terminal = check_terminal(defects) if defects is not None else None
        improvement, critical = check_improvement(runs), check_critical(runs)
        progress = check_progress(runs)
    statements = [structure_statement(runs), ledger_statement(runs), rate_statement(rates, flat, broken)]
    statements += [] if defects is None else [defect_statement(defects), noise_statement(defects)]
    statements += [] if terminal is None else [terminal_statement(terminal)]
    statements += [improvement_statement(improvement), critical_statement(critical)]
    return Study(cell, runs, rates, defects, progress, [*statements, progress_statement(progress)])


def _spread(places: list[tuple[int, int]], most: int) -> list[tuple[int, int]]:
    """At most so many of them, from all over the list."""
    return [places[i] for i in np.unique(np.linspace(0, len(places) - 1, most).round().astype(int))]


def structure_statement(runs: Runs) -> Statement:
    worst = defects_of(runs.steps, runs.h)
    bad = [f"{name} by {share:.1e} of its size" for name, share in worst.items() if share > ROUND_OFF]
    found = (f"{runs.f.size} steps of {len(runs.f)} runs, each operator as a matrix", *bad)
    return Statement(
        "Structure",
        "eqs. dp_skew_operator, dp_psd_operator, dp_stage_operator_bounds",
        "M = M^T > 0, Omega = -Omega^T, D = D^T >= 0, K_d >= 0 at every step",
        found,
        not bad,
    )


def ledger_statement(runs: Runs) -> Statement:
    ledger = runs.ledger
    terms = np.abs(np.stack([*ledger[:7], ledger.task_after, ledger.shaped_after])).sum(0)
    size = np.maximum(terms, np.roll(terms, 1, axis=1))
    whole = np.isfinite(size) & (size > 0)
    gap = float(np.max(np.abs(ledger.total - ledger.delta_H)[whole] / size[whole]))
    gained = float(max(np.max(ledger.dissipation), np.max(ledger.damping_injection)))
    found = (
        f"terms and change of H differ by at most {gap:.1e} of their size",
        f"dissipation and damping injection never feed energy in (largest {gained:.1e})",
    )
    return Statement(
        "Energy balance",
        "eq. idapbc_energy_balance",
        "dissipation + injection + port + event + clipping + discretisation + noise = change of H; the first two <= 0",
        found,
        gap <= ROUND_OFF and gained <= 0.0,
    )


def rate_statement(rates: list[RateCheck], flat: list[int], broken: list[int]) -> Statement:
    found = [f"{len(rates)} frozen stages checked, {len(flat)} lie near no strongly convex minimum of U"]
    if broken:
        found.append(f"(A2) is not true of {len(broken)} stages: D is not positive, or Omega not skew")
    if rates:
        c, fitted = np.array([one.constants.c for one in rates]), np.array([one.fitted for one in rates])
        epsilon, mu = [one.constants.epsilon for one in rates], [one.constants.mu for one in rates]
        found += [
            f"epsilon {_range(epsilon)}, mu {_range(mu)}, C {_range([one.constants.C for one in rates])}",
            f"c {_range(c)}; fitted rate {_range(fitted)}, that is {_range(fitted / c)} times c",
            f"largest excess of dV/dt over its bound {max(one.excess for one in rates):.1e} of c V(0)",
            f"trajectories began at {min(one.share for one in rates):g} to {max(one.share for one in rates):g} of the "
            "way from the equilibrium to the stage's own start, the largest at which U is strongly convex along them",
        ]
    return Statement(
        "Contraction of a frozen stage",
        "Theorem lem:dp_canonical_frozen_stage_rate, eqs. dp_modified_lyapunov, dp_modified_lyapunov_dissipation",
        "dV/dt <= -c V + C beta, with the port and without; without it V falls at least as quickly as e^(-c t)",
        tuple(found),
        bool(rates) and not broken and all(one.holds for one in rates),
    )


def defect_statement(check: DefectCheck) -> Statement:
    found = (
        f"{len(check.C_1)} stages, h {_range(check.h)}; the policy's own h resolves the quickest motion of "
        f"{check.own_h_resolved:.0%} of them, so the largest h is half of that motion's time or the policy's own",
        f"C_1 {_range(check.C_1)} (estimated: 1.5 times the largest defect of half of the starts), one-step defect of "
        f"order h^{check.order:.2f}",
        f"excess over the one-step bound at most {check.one_step:.1e} of V(0)",
        f"excess over the bound of whole trajectories at most {check.whole:.1e} of V(0)",
        f"floor against the port's bound: at most {_most(check.port)} of the stated one; against how far a clip cuts "
        f"the equilibrium off: at most {_most(check.clip)}",
    )
    return Statement(
        "Contraction of the discrete step",
        "Theorem lem:dp_discrete_frozen_stage_contraction, eq. dp_discrete_contraction",
        "V_n <= (1 - c h)^n V_0 + C_1 h / c + C_2 beta / c + sum of the clips' faded defects",
        found,
        check.holds,
    )


def noise_statement(check: DefectCheck) -> Statement:
    found = (
        "W = M^-1 / 2, Xi known, along the softest and the stiffest direction of M",
        f"the floor grows like (h tr(W Xi))^x with x {_range(check.noise_slopes)}",
        f"it is at most {_most(check.noise)} of the stated one",
    )
    return Statement(
        "Floor under a noisy force",
        "Proposition prop:dp_stochastic_oracle_defect, eq. dp_stochastic_discrete_ineq",
        "E[V] <= (C_1 h + C~_1 h tr(W Xi)) / c in the long run, C~_1 = 1 + 2 epsilon h + L h^2 / m_low",
        found,
        check.noise_holds,
    )


def terminal_statement(check: TerminalCheck) -> Statement:
    found = (
        f"stages that end at residual eta use at most {check.residual:.2g} of C eta, C = max(1, 1 / mu)",
        f"stages that end by the budget use at most {check.energy:.2g} of C sqrt(E), C^2 = 8 / min(mu, 1 / m_high)",
        f"broken without (A1): at 1e-3 from the minimum of q^4 / 4 the distance is {check.degenerate:.1g} times C eta",
    )
    return Statement(
        "Where a frozen stage ends",
        "Proposition prop:dp_frozen_stage_conv, eq. dp_stage_terminal_neighborhood",
        "|q - q*| + |p| <= C eta at residual eta, and <= C sqrt(E) with E = (1 - c h)^n V_0 + C_1 h / c",
        found,
        check.holds,
    )


def improvement_statement(check: ImprovementCheck) -> Statement:
    found = (
        f"{check.stages} stages; the accepted value rises in {check.rises}",
        f"{check.better} stages with a better equilibrium end where U is convex; largest excess {check.excess:.1e} of "
        "the gain that was offered",
        f"broken without acceptance: the last value rises in {check.last_rises} stages",
        f"without the distortion's term, rho = 0, {check.undistorted} of the {check.better} would exceed the bound",
    )
    return Statement(
        "Improvement from stage to stage",
        "Proposition prop:dp_hybrid_memory_improvement, eqs. dp_monotone_acceptance, dp_strict_improvement",
        "F_(s+1) <= F_s, and F_(s+1) <= f(q*) + C_1 eta + 2 rho where f(q*) < F_s, C_1 = |q+ - q*|",
        found,
        check.holds,
    )


def critical_statement(check: CriticalCheck) -> Statement:
    found = (
        f"a = {check.a:.3g}, b = {check.b:.3g} (medians over accepted moves); epsilon_s is the least that they need",
        f"excess of the least slope over b sqrt((F_0 - F_S + sum epsilon) / (a S)) + mean epsilon at most "
        f"{check.excess:.1e} of the first slope",
        f"errors fade, as the statement assumes, in {check.summable:.0%} of {check.runs} runs, where the last slope is "
        f"{check.slope:.2g} of the first in the median",
        f"broken without it: a sequence that stays where |grad f| = 1 has epsilon_s = {check.stuck:.2g} for ever",
    )
    return Statement(
        "Accepted points become critical",
        "Proposition prop:dp_general_nonconvex, eqs. dp_sufficient_decrease, dp_relative_error",
        "sufficient decrease and relative error, up to summable errors, bound the least slope of f along the run",
        found,
        check.holds,
    )


def progress_statement(check: ProgressCheck) -> Statement:
    found = [f"{check.runs} runs, half of them to estimate; {check.solved} more had nothing left to gain"]
    if check.theta.size:
        found += [
            f"theta_s {_range(check.theta)}, r_s {_range(check.r)} over {len(check.theta)} proposals",
            f"rho {check.rho:.3g}",
            f"failure after them: {check.failure[-1]:.3g} measured, {check.bound[-1]:.3g} bounded, "
            f"{check.exponential[-1]:.3g} by rho alone; chance allows {check.tolerance:.2g} more",
        ]
    return Statement(
        "Budgeted progress",
        "Proposition prop:outer_budgeted_progress, eq. outer_no_improvement_probability",
        "P(F_S > F_0 - delta) <= prod_s (1 - theta_s r_s), delta a quarter of F_0's gap",
        tuple(found),
        check.holds,
    )


def _range(values: object) -> str:
    numbers = np.asarray(values, float)
    low, high = float(np.min(numbers)), float(np.max(numbers))
    return f"{low:.3g}" if f"{low:.3g}" == f"{high:.3g}" else f"{low:.3g} to {high:.3g}"


def _most(sweep: Sweep) -> str:
    return f"{float(np.max(sweep.floor / sweep.bound)):.2g}"
