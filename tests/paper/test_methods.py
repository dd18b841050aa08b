"""The paper's policies as methods: fitted to a cell, by name, by file; and the bench's own methods beside them."""

import shutil
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import equinox as eqx
import jax
import numpy as np
import pytest

from shapeopt.bench import methods
from shapeopt.bench.cells import Cell, Protocol
from shapeopt.bench.records import load_record
from shapeopt.bench.runner import Job, LeftOut, jobs_of, left_out, run_protocol
from shapeopt.bench.sensing import Noisy
from shapeopt.paper.find import load_policy
from shapeopt.paper.methods import FITTED, NEIGHBOUR, UnknownMethodError, find_method, fitted_policy, list_methods
from shapeopt.paper.optimizer import ShapeOptimizer
from shapeopt.paper.training.config import Precision, TrainConfig, to_plain
from shapeopt.paper.training.heads import heads_of
from shapeopt.paper.training.trainer import untrained
from shapeopt.paper.variants import CHANGES
from shapeopt.paper.weights import save_policy
from shapeopt.tasks import StartLaw, make_family

CELL = Cell(make_family("ackley", 2), budget=4, tasks=1)
LEVY = Cell(make_family("levy", 2), budget=4, tasks=1)


def test_every_built_in_name_is_listed_once_with_its_kind():
    assert list(list_methods()) == [*FITTED, NEIGHBOUR.name, *methods.list_methods()]
    assert list_methods()["paper"] == "policy"


def test_methods_of_the_bench_are_found_as_they_are():
    assert find_method("direct") == methods.find_method("direct")
    with pytest.raises(UnknownMethodError, match=r"among paper, .*, gd, .*; a policy's name or path; .* Got 'adamm'"):
        find_method("adamm")


PLAIN = [(name, fitted) for name, fitted in FITTED.items() if fitted.change is None]


@pytest.mark.parametrize(("name", "fitted"), PLAIN)
def test_a_fitted_method_takes_the_policy_of_the_cell_s_family_dimension_and_ablation(store, name, fitted):
    for i, family in enumerate(("ackley", "levy")):
        store(f"{fitted.kind}-{family}-2{fitted.ending}", seed=i, d=2)
    method = find_method(name)
    assert method.name == name and [fitted_policy(name, cell) for cell in (CELL, LEVY)] == [
        f"{fitted.kind}-ackley-2{fitted.ending}",
        f"{fitted.kind}-levy-2{fitted.ending}",
    ]
    for cell in (CELL, LEVY):
        assert method.lacks(cell) == ""
        optimizer = method.optimizer(cell)
        assert isinstance(optimizer, ShapeOptimizer) and not optimizer.record_energy
        assert eqx.tree_equal(optimizer.policy, load_policy(fitted_policy(name, cell)))
    assert method.version(CELL) != method.version(LEVY)
    rotated = replace(CELL, family=make_family("ackley", 2, StartLaw.NEAR, rotated=True), sensing=Noisy(0.5))
    assert method.version(rotated) == method.version(CELL), "start law, rotation and readings choose no policy"


@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_method_takes_the_same_policy_without_a_part_and_is_another_version(weights, drawn, change):
    config = TrainConfig(family="ackley", hidden=4, rank=1)
    save_policy(weights / "tuned-ackley-2", drawn(d=2), {"schedule": to_plain(config)})
    method, whole = find_method(f"tuned_{change}"), find_method("tuned")
    policy, before = method.optimizer(CELL).policy, whole.optimizer(CELL).policy
    assert not eqx.tree_equal(policy, before) and method.version(CELL) != whole.version(CELL)
    zero = all(not np.any(leaf) for leaf in jax.tree.leaves(eqx.filter(policy.planner.network, eqx.is_array)))
    began = untrained(config).planner.network.layers[0].weight
    assert zero == (change == "zero_networks")
    assert (policy.controller is None) == (change == "uncontrolled")
    assert (policy.sees_place, policy.writes) == (change != "blind", change != "forgetful")
    assert np.array_equal(policy.planner.network.layers[0].weight, began) == (change == "initialised")


def test_a_fitted_method_s_version_follows_the_weights_of_its_cell_alone(store):
    store("paper-ackley-2", d=2)
    store("paper-levy-2", d=2)
    before = {cell: find_method("paper").version(cell) for cell in (CELL, LEVY)}
    store("paper-ackley-2", seed=1, d=2)
    assert find_method("paper").version(CELL) != before[CELL] and find_method("paper").version(LEVY) == before[LEVY]


def test_a_cell_without_a_fitted_policy_is_told_and_not_an_error(store):
    store("paper-ackley-2-no-memory", d=2, use_memory=False)
    assert find_method("paper").lacks(CELL) == "there is no policy paper-ackley-2 in a folder `weights`"
    assert find_method("paper_without_memory").lacks(CELL) == ""


def test_heads_of_the_nearest_other_dimension_are_moved_to_an_initialisation(weights, drawn):
    config = TrainConfig(family="ackley", hidden=4, rank=1, precision=Precision.DOUBLE)
    for d in (2, 3, 20):
        save_policy(weights / f"tuned-ackley-{d}", drawn(seed=d, d=d), {"schedule": to_plain(config)})
    cell = replace(CELL, family=make_family("ackley", 4))
    moved = find_method("tuned_neighbour").optimizer(cell).policy
    assert moved.planner.d == 4
    began, source = untrained(replace(config, dimension=4)), load_policy("tuned-ackley-3")
    for mine, theirs in zip(jax.tree.leaves(heads_of(moved)), jax.tree.leaves(heads_of(source)), strict=True):
        np.testing.assert_allclose(mine, theirs, atol=1e-6)
    places = slice(0, 4)  # columns of the first layer that no head has
    assert np.array_equal(
        moved.planner.network.layers[0].weight[:, places], began.planner.network.layers[0].weight[:, places]
    )
    assert NEIGHBOUR.lacks(CELL) == "" and "levy of another dimension" in NEIGHBOUR.lacks(LEVY)


def test_a_single_policy_is_left_out_of_cells_of_another_dimension(store):
    store("paper-ackley-3", d=3)
    method = find_method("paper-ackley-3")
    assert method.name == "paper-ackley-3" and method.lacks(CELL) == "the policy is for dimension 3"
    assert method.lacks(replace(CELL, family=make_family("rastrigin", 3))) == ""
    assert "paper-ackley-3" not in list_methods()


@pytest.mark.parametrize("name", ["mine.safetensors", "mine.json", "./mine.json", "./mine", "mine"])
def test_a_policy_s_file_is_named_by_its_stem(store, weights, name):
    store("../mine", d=2)
    method = find_method(name)
    assert method.name == "mine" and isinstance(method.optimizer(CELL), ShapeOptimizer)


def test_a_policy_s_file_that_is_missing_or_damaged_is_refused_at_once(store, weights):
    with pytest.raises(UnknownMethodError, match=r"got 'nothing\.safetensors'"):
        find_method("nothing.safetensors")
    store("paper-ackley-2", d=2)
    (weights / "paper-ackley-2.safetensors").write_bytes(b"0" * 100)
    with pytest.raises(UnknownMethodError, match=r"`methods` must name policies that can be read; .*paper-ackley-2"):
        find_method("paper-ackley-2")


@pytest.mark.parametrize("label", ["adam", "paper", "paper-ackley-2"])
def test_what_is_called_like_a_built_in_method_is_refused_lest_their_records_be_mixed(store, weights, label):
    store("paper-ackley-2", d=2)
    for suffix in (".json", ".safetensors"):
        shutil.copy(weights / f"paper-ackley-2{suffix}", weights.parent / f"{label}{suffix}")
    with pytest.raises(UnknownMethodError, match=f"not bring a built-in method's name; rename '{label}'"):
        find_method(f"./{label}.json")


@pytest.mark.full
def test_cells_without_a_fitted_policy_are_left_out_and_the_others_are_made_anew_with_their_weights(tmp_path, store):
    cells = (CELL, LEVY)
    protocol, plain = Protocol("tiny", "for tests", cells, ("paper",)), {"use_controller": False, "use_memory": False}
    todo = lambda *names: jobs_of(protocol, names, tmp_path, find_method)  # noqa: E731
    store("paper-ackley-2", d=2, **plain)
    absent = LeftOut(Job(LEVY, "paper"), "there is no policy paper-levy-2 in a folder `weights`")
    assert left_out(protocol, ("paper", "gd"), find_method) == [absent]
    assert todo("paper", "gd") == [Job(CELL, "paper"), *(Job(cell, "gd") for cell in cells)]
    (outcome,) = run_protocol(protocol, ("paper",), tmp_path, lambda: ThreadPoolExecutor(1), find=find_method)
    assert outcome.error is None and load_record(outcome.path).version == find_method("paper").version(CELL)
    assert todo("paper") == []
    store("paper-levy-2", d=2, **plain)
    assert todo("paper") == [Job(LEVY, "paper")]
    store("paper-ackley-2", seed=1, d=2, **plain)
    assert todo("paper") == [Job(cell, "paper") for cell in cells]
