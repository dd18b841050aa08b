"""The two `ops` objects have the same methods and give the same answers."""

import inspect

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from shapeopt.ops import HOST
from shapeopt.ops.device import CHEAP, DEVICE, LONG

ENGINES = pytest.mark.parametrize("ops", [HOST, DEVICE], ids=["host", "device"])


def methods(ops: object) -> set[str]:
    return {name for name, _ in inspect.getmembers(type(ops), callable) if not name.startswith("_")}


def test_both_have_the_same_methods():
    assert methods(HOST) == methods(DEVICE) and HOST.traced is False and DEVICE.traced is True


@ENGINES
def test_pick_takes_whole_structures(ops):
    a, b = (ops.real(1.0), ops.xp.ones(2)), (ops.real(2.0), ops.xp.zeros(2))
    for flag, wanted in ((True, a), (False, b)):
        picked = ops.pick(ops.flag(flag), a, b)
        assert float(picked[0]) == float(wanted[0])
        np.testing.assert_array_equal(picked[1], wanted[1])


@ENGINES
def test_when_and_cond_change_only_where_the_flag_holds(ops):
    for flag, wanted in ((True, 3.0), (False, 2.0)):
        assert float(ops.when(ops.flag(flag), lambda x: x + 1.0, ops.real(2.0))) == wanted
        assert float(ops.cond(ops.flag(flag), lambda: ops.real(3.0), lambda: ops.real(2.0))) == wanted


@ENGINES
@pytest.mark.parametrize("chosen", [0, 1, 2])
def test_dispatch_changes_the_chosen_memory_alone(ops, chosen):
    memories = tuple(ops.real(float(i)) for i in range(3))
    work = lambda i: lambda memory, common: (memory + 10.0, common + memory + i)  # noqa: E731
    after, common = ops.dispatch(ops.whole(chosen), work, memories, ops.real(0.5))
    assert [float(m) for m in after] == [i + 10.0 * (i == chosen) for i in range(3)]
    assert float(common) == 0.5 + 2 * chosen


@ENGINES
def test_loops_count_their_rounds(ops):
    assert float(ops.loop(lambda x: x < 10.0, lambda x: x + 3.0, ops.real(0.0))) == 12.0
    assert float(ops.rounds(lambda x: x < 10.0, lambda x: x + 3.0, ops.real(0.0))) == 12.0
    assert float(ops.repeat(4, lambda i, x: x + ops.real(i), ops.real(0.0))) == 6.0


@ENGINES
@pytest.mark.parametrize("flags", [(3,), (0, 2, 30), (), (1, 31, 39)])
def test_entry_is_that_of_the_table(ops, flags):
    table = tuple(i in flags for i in range(40 if 39 in flags else 31))
    assert [bool(ops.entry(table, ops.whole(i))) for i in range(len(table))] == list(table)


def test_rounds_of_a_batch_are_those_of_each_lane():
    def run(start, step):
        body = lambda x: DEVICE.pick(x < 10.0, x + step, x)  # noqa: E731
        return DEVICE.rounds(lambda x: x < 10.0, body, start)

    starts, steps = jnp.array([0.0, 9.0, 20.0]), jnp.array([3.0, 4.0, 1.0])
    np.testing.assert_array_equal(jax.vmap(run)(starts, steps), [12.0, 13.0, 20.0])
    np.testing.assert_array_equal(jax.vmap(run, in_axes=(None, 0))(jnp.array(0.0), steps), [12.0, 12.0, 10.0])


@ENGINES
@pytest.mark.parametrize("rows", [3, 3000])
def test_put_replaces_one_row(ops, rows):
    table = ops.put(ops.xp.zeros((rows, 4)), ops.whole(2), ops.xp.arange(4.0))
    wanted = np.zeros((rows, 4))
    wanted[2] = np.arange(4.0)
    np.testing.assert_array_equal(table, wanted)


@ENGINES
def test_a_singular_system_has_no_solution_and_raises_nothing(ops):
    assert not np.isfinite(np.asarray(ops.solve(ops.xp.zeros((2, 2)), ops.xp.ones(2)))).any()


@ENGINES
def test_a_reading_is_finite_if_it_and_its_square_are(ops):
    g, largest = ops.xp.asarray([1.0, 2.0]), 1e100
    for f, force, wanted in ((1.0, g, True), (np.nan, g, False), (-np.inf, g, False), (1e120, g, False)):
        assert bool(ops.finite(ops.real(f), force, largest)) is wanted
    assert not ops.finite(ops.real(1.0), g * np.nan, largest) and not ops.finite(ops.real(1.0), g * 1e100, largest)
    assert ops.finite(ops.real(1.0), g * 1e60, largest)


def test_a_branch_that_no_lane_of_a_batch_takes_is_not_run():
    """`when` is a loop of at most one round, so that a rare branch costs nothing in a batch."""
    ran = []

    def rare(x: jax.Array) -> jax.Array:
        jax.debug.callback(lambda: ran.append(1))
        for _ in range(CHEAP + 1):  # shorter ones are computed for all lanes
            x = x + 1.0
        return x

    batch = jax.jit(jax.vmap(lambda flag, x: DEVICE.when(flag, rare, x)))
    jax.block_until_ready(batch(jnp.zeros(3, bool), jnp.zeros(3)))
    jax.effects_barrier()
    assert not ran
    taken = batch(jnp.asarray([False, True, False]), jnp.zeros(3))
    jax.effects_barrier()
    assert ran and taken.tolist() == [0.0, float(CHEAP + 1), 0.0]


def lengthy(x, shared):
    """More operations than a branch has that is computed for all lanes."""
    for _ in range(LONG):
        x = x + shared
    return x


@pytest.mark.parametrize("shape", [(1,), (5,), (40,), (6, 7)], ids=str)
def test_lanes_that_take_a_long_branch_are_gathered_and_the_others_stay(shape):
    drawn = np.random.default_rng(0)
    x, flags = drawn.integers(-9, 9, (*shape, 3)).astype(float), drawn.uniform(size=shape) < 0.4
    run = lambda flag, x: DEVICE.when(flag, lambda held: (lengthy(held[0], x), held[1]), (x, x))  # noqa: E731
    for _ in shape:
        run = jax.vmap(run)
    changed, kept = jax.jit(run)(flags, x)
    np.testing.assert_array_equal(changed, np.where(flags[..., None], (LONG + 1) * x, x))
    np.testing.assert_array_equal(kept, x)
