"""Host and device are one optimizer: the same decisions, values that agree to round-off, and a ledger that closes."""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
import pytest
from optimizer_runs import (
    Noisy,
    bowl,
    cluster,
    kinked,
    rastrigin,
    rosenbrock,
    run_on_device,
    run_on_host,
    turned_ackley,
    turned_rastrigin,
    wells,
)

from shapeopt.core.board import Spec
from shapeopt.core.codes import Cause, Mode
from shapeopt.dynamics import LEDGER_TERMS, Move
from shapeopt.engines.device import DeviceShape
from shapeopt.ops import HOST
from shapeopt.optimizer import TACTICS, Optimizer, Policy
from shapeopt.tactics import AbstractTactic
from shapeopt.tactics.base import bid, ends, goes_on

CALLS = 100
# Two dimensions, of which each compiles one program: one with the tactics of small problems, one with all of them.
SMALL, ALL = 4, 12
FUNCTIONS = {
    SMALL: {
        "bowl": bowl,
        "rastrigin": rastrigin,
        "turned rastrigin": turned_rastrigin,
        "rosenbrock": rosenbrock,
        "wells": wells,
        "kinks": kinked,
        "ackley": turned_ackley,
    },
    ALL: {"rastrigin": rastrigin, "turned rastrigin": turned_rastrigin, "ackley": turned_ackley, "cluster": cluster},
}
NOISY = {SMALL: rastrigin, ALL: bowl}
# Where two host runs whose starts differ by one ulp part earlier: calls of equal decisions, and of equal values.
SENSITIVE = {
    (SMALL, "ackley"): (50, 30),
    (SMALL, "turned rastrigin"): (75, 75),
    (SMALL, "kinks"): (60, 60),
    (ALL, "turned rastrigin"): (CALLS, 25),
    (ALL, "ackley"): (27, 20),
    (ALL, "cluster"): (15, 8),
}
PAIRS = [(d, name) for d in FUNCTIONS for name in FUNCTIONS[d]]

BY_VALUES = {
    "differences",
    "interpolate",
    "explore",
    "scout",
    "value check",
    "regress",
}  # tactics of runs of values alone
OF_FITS = {"gauss_newton"}  # in runs of `least_squares` alone, on the host
OF_MANY = {"settle"}  # beyond 64 dimensions


def starts(d, name):
    half = 1.5 if name == "cluster" else 5.0
    return np.random.default_rng(len(name)).uniform(-half, half, d), {"lower": -half, "upper": half}


def agree(host, there, decisions=CALLS, values=CALLS):
    """The same decisions, and values within 1e-6."""
    assert host.decisions[:decisions] == there.decisions[:decisions]
    np.testing.assert_allclose(there.value[:values], host.value[:values], rtol=1e-6, atol=1e-6)


def closes(made, dtype=np.float64):
    """Whether the terms of every line add up to the change of H, to round-off of the energies."""
    terms, delta = made.ledger[:, :-1], made.ledger[:, -1]
    heights = np.abs(np.where(np.isfinite(made.value), made.value, 0.0))
    size = np.abs(made.ledger).sum(axis=1) + heights + np.roll(heights, 1)
    return np.abs(terms.sum(axis=1) - delta) <= 50 * np.finfo(dtype).eps * np.maximum(size, np.roll(size, 1))


@pytest.mark.parametrize(("d", "name"), PAIRS, ids=[f"{name}-{d}" for d, name in PAIRS])
def test_both_engines_decide_alike_and_close_the_ledger(d, name):
    x0, bounds = starts(d, name)
    host, there = (run(FUNCTIONS[d][name], x0, CALLS, **bounds) for run in (run_on_host, run_on_device))
    agree(host, there, *SENSITIVE.get((d, name), ()))
    assert closes(host).all() and closes(there).all()


@pytest.mark.parametrize("d", NOISY)
def test_both_engines_decide_alike_on_noisy_forces(d):
    """Over fewer calls: with noise a descent amplifies round-off."""
    x0 = np.random.default_rng(0).uniform(-5.0, 5.0, d)
    host, there = (run(Noisy(NOISY[d], 5.0), x0, CALLS) for run in (run_on_host, run_on_device))
    agree(host, there, 60, 60)
    assert "noise check" in host.tactics and "fit forces" in host.tactics
    assert closes(host).all() and closes(there).all()


def test_the_ledger_closes_for_every_tactic_on_both_engines():
    """A run each in which the tactics of the shipped policy come into play."""
    seen = {run: set() for run in (run_on_host, run_on_device)}
    rng = np.random.default_rng(3)
    for run in seen:
        for fun, half, budget in (
            (rastrigin, 5.0, 120),
            (turned_rastrigin, 5.0, 250),
            (turned_ackley, 5.0, 400),
            (cluster, 1.5, 60),
            (Noisy(bowl, 5.0), 5.0, 120),
        ):
            made = run(fun, rng.uniform(-half, half, ALL), budget, lower=-half, upper=half)
            assert closes(made).all()
            seen[run] |= set(made.tactics)
    shipped = {"start", *(tactic.name for tactic in TACTICS)} - BY_VALUES - OF_FITS - OF_MANY
    assert all(names == shipped for names in seen.values()), seen


@pytest.mark.parametrize("run", [run_on_host, pytest.param(run_on_device, marks=pytest.mark.full)])
def test_the_ledger_closes_in_single_precision(run):
    x0 = np.random.default_rng(1).uniform(-5.0, 5.0, SMALL).astype(np.float32)
    made = run(rastrigin, x0, CALLS)
    assert made.x.dtype == np.float32
    assert closes(made, np.float32).all() and made.best < 1e-3


def test_placements_are_relocations_and_steps_are_not():
    x0, bounds = starts(SMALL, "rastrigin")
    made = run_on_host(rastrigin, x0, CALLS, **bounds)
    names = ("relocation", "clipping", "discretisation")
    relocation, clipping, rest = (made.ledger[:, LEDGER_TERMS.index(name)] for name in names)
    placed = np.array([tactic in ("separable sum", "hop") for tactic in made.tactics])
    assert placed.sum() > 30 and not clipping[placed].any() and not rest[placed].any()
    assert np.all(relocation[placed] != 0) and rest[~placed].any()


def test_a_policy_without_some_tactics_agrees_too_and_never_uses_them():
    policy = Policy().without("separable sum", "turned axes", "sample", "pair model")
    x0, bounds = starts(SMALL, "rastrigin")
    host, there = (run(rastrigin, x0, CALLS, policy=policy, **bounds) for run in (run_on_host, run_on_device))
    agree(host, there)
    assert set(host.tactics) <= {"start", "refine", "hop", "noise check", "fit forces"} and "hop" in host.tactics


class CentreMemory(NamedTuple):
    """How often the centre was read."""

    read: int


@dataclass(frozen=True)
class Centre(AbstractTactic):
    """A user's own tactic: after each basin, as often as asked, it reads the middle of the box."""

    times: int = 2

    name: ClassVar[str] = "centre"
    mode: ClassVar[Mode] = Mode.ESCAPE

    def blank(self, ops, spec):
        return CentreMemory(ops.whole(0))

    def offer(self, ops, memory, board):
        return bid(ops, board.scored & (memory.read < self.times), 20.0)

    def open(self, ops, memory, board, plant, draws):
        return CentreMemory(memory.read + 1)

    def observe(self, ops, memory, board, plant):
        return memory, ends(ops, ops.flag(True), Cause.DONE)

    def propose(self, ops, memory, board, plant, step):
        return memory, step(Move(0.0 * plant.q)), goes_on(ops)


def test_a_user_s_own_tactic_joins_the_policy_on_both_engines():
    policy = Policy((Centre(), *TACTICS))
    x0, bounds = starts(SMALL, "wells")
    host, there = (run(wells, x0, CALLS, policy=policy, **bounds) for run in (run_on_host, run_on_device))
    agree(host, there)
    assert host.tactics.count("centre") == 2
    np.testing.assert_array_equal(host.x[host.tactics.index("centre")], np.zeros(SMALL))


WITH_PAIRS = pytest.param(
    12, marks=pytest.mark.xfail(reason="missed with the pair model: some 3,040 equations", strict=True)
)


@pytest.mark.parametrize("d", [10, 20, WITH_PAIRS])
def test_a_tell_has_at_most_2500_equations(d):
    import jax
    import jax.numpy as jnp

    from shapeopt.core import Box, Reading

    shape = DeviceShape()
    state = jax.eval_shape(
        lambda x: shape.init(x, Box.around(np.full(d, -5.0), np.full(d, 5.0)), 100, jax.random.key(0)),
        jnp.zeros(d),
    )
    reading = Reading(jnp.zeros(()), jnp.zeros(d), jnp.ones((), jnp.int32))
    assert 500 < equations(jax.make_jaxpr(shape.tell)(state, reading).jaxpr) <= 2500


def equations(jaxpr):
    """All equations of a program, those of its loops and functions included."""
    count = 0
    for equation in jaxpr.eqns:
        count += 1
        for value in equation.params.values():
            for part in value if isinstance(value, tuple | list) else (value,):
                inner = getattr(part, "jaxpr", part)
                count += equations(inner) if hasattr(inner, "eqns") else 0
    return count


@pytest.mark.parametrize("d", [1, 2, SMALL, ALL])
def test_a_tactic_without_a_use_has_no_memory_and_no_offer(d):
    """Where a tactic can't run it is left out of the program, and no run opens it."""
    optimizer = Optimizer(Policy(), Spec(d))
    unused = {t.name for t in optimizer.tactics if t.blank(HOST, Spec(d)) is None}
    assert (
        unused - BY_VALUES - OF_FITS - OF_MANY
        == {
            1: {"pair model", "separable sum", "turned axes", "sample"},
            2: {"pair model", "turned axes", "sample"},
            SMALL: {"pair model", "sample"},
            ALL: set(),
        }[d]
    )
    made = run_on_host(wells, np.full(d, 2.0), 60)
    assert not unused & set(made.tactics) and unused >= BY_VALUES
