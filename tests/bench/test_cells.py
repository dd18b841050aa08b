"""Cells and protocols: what their names say, who shares tasks and starts, what decides equality, what is refused."""

import dataclasses
import json
import re

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from shapeopt.bench.cells import Cell, Protocol
from shapeopt.bench.execute import run_keys
from shapeopt.bench.metrics import GAP_HIT, PAPER_HIT
from shapeopt.bench.protocols import PROTOCOLS
from shapeopt.bench.sensing import EXACT, Minibatch, Noisy, ValueOnly
from shapeopt.tasks import AbstractFamily, Multiwell, Rastrigin, StartLaw, make_family

CELL = Cell(make_family("rastrigin", 2, StartLaw.BOX), budget=12, tasks=3, starts=2)
FILE_NAME = re.compile(r"[\w.+=-]+")


class Fit(AbstractFamily):
    """A user's family with an array, a flag that is usually set, and an option that is no word."""

    data: np.ndarray
    smooth: bool = eqx.field(static=True, default=True)
    window: tuple[int, int] = eqx.field(static=True, default=(0, 1))
    dimension: int = eqx.field(static=True, default=2)

    @property
    def name(self):
        return "fit"

    @property
    def minimum_source(self):
        return "none"

    def sample(self, key):
        return make_family("quadratic", 2).sample(key)


def changed(**changes):
    return dataclasses.replace(CELL, **changes)


def starts_of(cell, seed=0):
    """Minimisers and starts of all runs, in the cell's order."""
    keys = run_keys(cell, seed)

    def one(task, start):
        drawn = cell.family.sample(jax.random.wrap_key_data(task))
        return drawn.minimiser, drawn.start(jax.random.wrap_key_data(start))

    return jax.device_get(jax.jit(jax.vmap(one))(keys.task, keys.start))


@pytest.mark.parametrize(
    ("cell", "name"),
    [
        (CELL, "rastrigin-2-box-12"),
        (changed(sensing=Noisy(0.25)), "rastrigin-2-box-noise0.25-12"),
        (changed(sensing=ValueOnly()), "rastrigin-2-box-values-12"),
        (changed(sensing=ValueOnly(3)), "rastrigin-2-box-values3-12"),
        (changed(setting="S4", counts_minima=True), "rastrigin-2-box-S4-12"),
        (changed(family=Rastrigin(3, StartLaw.NEAR, rotated=True)), "rastrigin-3-near-rotated-12"),
        (changed(family=Rastrigin(3, StartLaw.PAPER, varied=True)), "rastrigin-3-paper-varied-12"),
        (changed(family=Multiwell(wells=5, margin=0.7)), "multiwell-1-box-wells=5-margin=0.7-12"),
        (
            changed(family=make_family("phase_retrieval", 8), sensing=Minibatch(0.25)),
            "phase_retrieval-8-box-batch0.25-12",
        ),
    ],
)
def test_a_name_says_family_options_sensing_setting_and_budget(cell, name):
    assert cell.name == name


def test_options_of_any_kind_make_names_that_are_fit_for_files_and_tell_families_apart():
    first, second = np.arange(3.0), np.arange(3.0) + 1e-9
    families = [
        Fit(first),
        Fit(second),
        Fit(first, smooth=False),
        Fit(first, window=(0, 2)),
        Fit(jnp.asarray(second[:2])),
    ]
    names = [changed(family=family).name for family in families]
    assert len(set(names)) == len(names), names
    assert all(FILE_NAME.fullmatch(name) for name in names), names
    assert changed(family=Fit(first.copy())).name == names[0]


def test_a_cell_can_be_hashed_whatever_its_family_holds():
    data = np.arange(3.0)
    one, other = changed(family=Fit(data)), changed(family=Fit(data.copy()))
    assert one == other and hash(one) == hash(other)
    assert one != changed(family=Fit(data + 1)) and len({one, other, CELL, changed()}) == 2


def test_tasks_starts_and_noise_are_shared_by_cells_that_differ_in_budget_or_sensing():
    for change in ({"budget": 99}, {"sensing": Noisy(0.1)}, {"sensing": ValueOnly(1)}, {"rule": PAPER_HIT}):
        for ours, theirs in zip(run_keys(CELL, 0), run_keys(changed(**change), 0), strict=True):
            np.testing.assert_array_equal(theirs, ours)


@pytest.mark.parametrize(
    "other",
    [
        changed(family=Rastrigin(2, StartLaw.NEAR)),
        changed(family=Rastrigin(2, StartLaw.BOX, rotated=True)),
        changed(family=Rastrigin(2, StartLaw.BOX, varied=True)),
        changed(family=make_family("ackley", 2)),
    ],
    ids=lambda cell: cell.name,
)
def test_cells_of_another_family_or_option_have_tasks_and_starts_of_their_own(other):
    assert other.stream != CELL.stream
    ours, theirs = run_keys(CELL, 0), run_keys(other, 0)
    for words, others in zip(ours, theirs, strict=True):
        assert not np.any(np.all(words == others, axis=1))


def test_more_tasks_or_starts_keep_the_ones_that_were_there():
    for tasks, starts in ((5, 2), (3, 4)):
        for ours, more in zip(run_keys(CELL, 0), run_keys(changed(tasks=tasks, starts=starts), 0), strict=True):
            np.testing.assert_array_equal(more.reshape(tasks, starts, -1)[:3, :2], ours.reshape(3, 2, -1))


def test_runs_are_task_major_and_every_key_is_used_once():
    keys = run_keys(CELL, 0)
    tasks = keys.task.reshape(3, 2, -1)
    np.testing.assert_array_equal(tasks[:, 0], tasks[:, 1])
    words = {tuple(row) for row in np.concatenate([keys.task[::2], keys.start, keys.run])}
    assert len(words) == 3 + 6 + 6


def test_another_seed_gives_other_tasks_and_starts():
    for ours, theirs in zip(starts_of(CELL, 0), starts_of(CELL, 1), strict=True):
        assert np.all(ours != theirs)


@pytest.mark.full
@pytest.mark.parametrize("family", [make_family("multiwell", 1), make_family("ackley", 1, StartLaw.BOX, varied=True)])
def test_a_start_tells_nothing_of_its_task(family):
    cell = Cell(family, budget=1, tasks=400)
    keys = run_keys(cell, 0)

    def one(task, start):
        drawn = family.sample(jax.random.wrap_key_data(task))
        return jnp.concatenate([leaf.ravel() for leaf in jax.tree.leaves(drawn)]), drawn.start(
            jax.random.wrap_key_data(start)
        )

    drawn, starts = jax.device_get(jax.jit(jax.vmap(one))(keys.task, keys.start))
    varying = drawn[:, drawn.std(axis=0) > 0]
    assert varying.shape[1] >= 3
    correlation = np.corrcoef(np.concatenate([starts, varying], axis=1), rowvar=False)[0, 1:]
    assert np.abs(correlation).max() < 0.2  # four standard deviations of a chance correlation of 400 pairs


def test_what_describes_a_cell_is_plain_json_and_complete():
    cell = changed(
        family=Rastrigin(2, StartLaw.NEAR, rotated=True), sensing=Noisy(0.5), setting="S1", counts_minima=True
    )
    described = cell.describe()
    assert json.loads(json.dumps(described, allow_nan=False)) == described
    assert described == {
        "name": "rastrigin-2-near-rotated-noise0.5-S1-12",
        "family": "rastrigin",
        "dimension": 2,
        "options": {"dimension": 2, "law": "near", "rotated": True, "varied": False},
        "sensing": {"kind": "Noisy", "sigma": 0.5},
        "budget": 12,
        "tasks": 3,
        "starts": 2,
        "rule": {"quantity": "gap", "tolerance": 0.01},
        "setting": "S1",
        "counts_minima": True,
    }


@pytest.mark.parametrize(
    "change",
    [
        {"family": make_family("levy", 2)},
        {"budget": 13},
        {"tasks": 4},
        {"starts": 3},
        {"sensing": Noisy(0.1)},
        {"rule": PAPER_HIT},
        {"setting": "S1"},
        {"counts_minima": True},
    ],
    ids=lambda change: next(iter(change)),
)
def test_whatever_is_changed_changes_what_describes_a_cell(change):
    assert changed(**change).describe() != CELL.describe()
    assert changed().describe() == CELL.describe()


def test_a_quick_cell_is_the_same_with_few_runs_and_calls():
    large = changed(budget=500, tasks=64, starts=32, sensing=Noisy(0.2), setting="S1")
    assert large.quick() == dataclasses.replace(large, budget=60, tasks=2, starts=2)
    small = changed(budget=7, tasks=1, starts=1)
    assert small.quick() == small


@pytest.mark.parametrize("protocol", PROTOCOLS.values(), ids=lambda protocol: protocol.name)
def test_a_quick_protocol_is_small_and_of_low_dimension(protocol):
    quick = protocol.quick()
    assert quick.name == f"{protocol.name}-quick" and (quick.methods, quick.seed) == (protocol.methods, protocol.seed)
    assert 1 <= len(quick.cells) <= 3
    for cell in quick.cells:
        assert cell.budget <= 60 and cell.runs <= 4 and cell.family.dimension <= 20


def test_a_quick_protocol_of_large_cells_alone_still_has_cells():
    large = Protocol("large", "", (changed(family=make_family("levy", 100)),), ())
    assert [cell.family.dimension for cell in large.quick().cells] == [100]


@pytest.mark.parametrize("value", [0, -3])
@pytest.mark.parametrize("name", ["budget", "tasks", "starts"])
def test_a_cell_without_runs_or_calls_is_refused(name, value):
    with pytest.raises(ValueError, match=f"`{name}` must be at least 1; got {value}"):
        changed(**{name: value})


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Protocol("two", "", (CELL, changed(rule=PAPER_HIT)), ()), "`cells` must have distinct names; got"),
        (lambda: Protocol("one", "", (CELL,), (), seed=-1), r"`seed` must lie in \[0, 2\^32\); got -1"),
        (lambda: Protocol("one", "", (CELL,), (), seed=2**32), r"`seed` must lie in \[0, 2\^32\); got 4294967296"),
        (lambda: changed(family=make_family("levy", 3), counts_minima=True), "`counts_minima` needs .*; got 3"),
    ],
)
def test_what_makes_no_sense_is_refused(build, message):
    with pytest.raises(ValueError, match=message):
        build()


def test_the_usual_cell_is_exact_and_judged_by_its_gap():
    assert CELL.sensing is EXACT and CELL.rule is GAP_HIT and CELL.runs == 6 and CELL.setting == ""
