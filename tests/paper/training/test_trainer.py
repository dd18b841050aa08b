"""A run: the same weights whatever interrupts it and whatever is known of the minimum."""

import json
from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from shapeopt.paper.training.checkpoint import CheckpointError, read_progress
from shapeopt.paper.training.config import Keep, TrainConfig, from_plain, read_config
from shapeopt.paper.training.trainer import schedule, train
from shapeopt.paper.weights import load_card, read_policy
from shapeopt.tasks import AbstractFamily, AbstractTask

pytestmark = pytest.mark.full  # a training run


class Garbled(AbstractTask):
    """A task that is wrong about its own minimum."""

    inner: AbstractTask
    minimum: jax.Array
    minimiser: jax.Array

    def __call__(self, q):
        return self.inner(q)

    @property
    def box(self):
        return self.inner.box

    def start(self, key):
        return self.inner.start(key)

    def distance(self, q):
        return jnp.linalg.norm(q - self.minimiser)


class GarbledFamily(AbstractFamily):
    inner: AbstractFamily
    garbage: float = eqx.field(static=True)

    @property
    def name(self):
        return self.inner.name

    @property
    def dimension(self):
        return self.inner.dimension

    @property
    def minimum_source(self):
        return "garbage"

    def sample(self, key):
        task = self.inner.sample(key)
        noise = self.garbage * jax.random.normal(key, task.minimiser.shape, task.minimiser.dtype)
        return Garbled(task, jnp.full_like(task.minimum, self.garbage), noise)


class Stop(Exception):
    pass


@pytest.fixture(scope="module")
def finished(tiny, tmp_path_factory):
    """A whole run, told update by update."""
    folder, observed = tmp_path_factory.mktemp("run"), []
    with jax.numpy_dtype_promotion("strict"), jax.enable_x64(True):  # as in a test, so that nothing is traced twice
        return folder, train(tiny.config, folder, observer=observed.append), observed


def weights(folder):
    return (folder / "policy.safetensors").read_bytes()


def test_the_schedule_is_the_paper_s(tiny):
    phases = [update.phase for update in schedule(tiny.config)]
    assert phases == ["controller"] * 2 + ["planner"] * 2 + ["controller", "joint"] * 3
    assert [u.number for u in schedule(tiny.config)] == list(range(10))
    ablated = replace(tiny.config, use_controller=False)
    assert [u.phase for u in schedule(ablated)] == ["planner"] * 2 + ["joint"] * 3


def test_a_run_leaves_log_card_and_the_best_policy(tiny, finished):
    folder, trained, observed = finished
    entries = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    updates = [entry for entry in entries if "phase" in entry]
    assert [entry["update"] for entry in updates] == list(range(10))
    assert all(np.isfinite(entry["loss"]) and entry["calls"] > 0 for entry in updates)
    assert set(updates[-1]["terms"]) == {"term", "best", "prog", "ce", "sg", "ctrl", "jr", "port"}
    scores = [entry["validation"] for entry in entries if "validation" in entry]
    card = load_card(folder / "policy")["about"]
    assert card["best_validation"] == min(scores)
    assert [score for _, score in card["validation"]] == scores
    assert card["calls"] == sum(entry["calls"] for entry in updates)
    assert card["updates"] == 10 and card["skipped_updates"] == 0
    assert [progress.done for progress in observed] == list(range(1, 11))
    assert eqx.tree_equal(read_policy(folder / "policy"), trained.policy)
    with jax.enable_x64(False):
        key = jax.random.fold_in(jax.random.key(tiny.config.seed), 2)
        params = eqx.filter(trained.policy, eqx.is_inexact_array)
        again = tiny.phases.evaluate(params, key, tiny.config.validation_tasks, tiny.config.validation_readings)
    assert float(again) == min(scores)


@pytest.mark.parametrize("after", [3, 7])
def test_a_killed_run_goes_on_to_the_same_bytes(tiny, finished, tmp_path, after):
    def stop(progress):
        if progress.done == after:
            raise Stop

    with pytest.raises(Stop):
        train(tiny.config, tmp_path, observer=stop)
    assert not (tmp_path / "policy.safetensors").exists()
    trained = train(tiny.config, tmp_path)
    assert weights(tmp_path) == weights(finished[0])
    assert (tmp_path / "log.jsonl").read_text() == (finished[0] / "log.jsonl").read_text()
    for one, other in zip(jax.tree.leaves(trained.learner), jax.tree.leaves(finished[1].learner), strict=True):
        assert np.asarray(one).tobytes() == np.asarray(other).tobytes()


def test_the_last_weights_are_kept_where_the_schedule_says_so(tiny, finished, tmp_path):
    trained = train(replace(tiny.config, keep=Keep.LAST), tmp_path)
    assert eqx.tree_equal(eqx.filter(trained.policy, eqx.is_inexact_array), finished[1].learner.params)


def test_training_moves_the_weights(tiny, finished):
    learned = finished[1].learner.params
    with jax.enable_x64(False):
        start = eqx.filter(tiny.config.make_policy(jax.random.fold_in(jax.random.key(0), 0)), eqx.is_inexact_array)
    for part in ("planner", "controller"):
        networks = (jax.tree.leaves(getattr(params, part).network) for params in (learned, start))
        for one, other in zip(*networks, strict=True):
            assert np.any(np.asarray(one) != np.asarray(other))


def test_garbage_in_place_of_the_known_minimum_gives_the_same_bytes(tiny, finished, tmp_path):
    train(tiny.config, tmp_path, family=GarbledFamily(tiny.family, 1e6))
    assert weights(tmp_path) == weights(finished[0])
    assert (tmp_path / "log.jsonl").read_text() == (finished[0] / "log.jsonl").read_text()


def test_a_checkpoint_of_another_configuration_is_refused_with_what_differs(tiny, finished):
    there = r"belongs to a run with another configuration: `dimension` 2 there and 3 here, `seed` 0 there and 1 here\."
    with pytest.raises(CheckpointError, match=there):
        train(replace(tiny.config, seed=1, dimension=3), finished[0])


@pytest.mark.parametrize("state", ["half a line", "lost"])
def test_a_log_that_a_crash_cut_off_is_made_whole(tiny, finished, tmp_path, state):
    def stop(progress):
        if progress.done == 7:
            raise Stop

    with pytest.raises(Stop):
        train(tiny.config, tmp_path, observer=stop)
    log, whole = tmp_path / "log.jsonl", (finished[0] / "log.jsonl").read_text()
    if state == "lost":
        log.unlink()
    else:
        log.write_text(log.read_text() + '{"update": 7, "pha')
    train(tiny.config, tmp_path)
    assert whole.endswith(log.read_text()) if state == "lost" else log.read_text() == whole
    assert weights(tmp_path) == weights(finished[0])


def test_an_observer_can_stop_a_run_between_checkpoints_and_it_goes_on_to_the_same_bytes(tiny, finished, tmp_path):
    config = replace(tiny.config, checkpoint_every=100)
    with pytest.raises(KeyboardInterrupt):
        train(config, tmp_path, observer=lambda progress: progress.done == 6)
    done = read_progress((tmp_path / "checkpoint.safetensors").read_bytes(), tmp_path)["tally"]["updates"]
    assert done == 6
    train(config, tmp_path)
    assert weights(tmp_path) == weights(finished[0])


def test_the_card_says_how_it_was_made(tiny, finished):
    card = load_card(finished[0] / "policy")["about"]
    assert (card["family"], card["dimension"], card["seed"]) == ("rastrigin", 2, 0)
    assert card["protocol"] == {"law": "paper", "readings": tiny.readings}
    assert from_plain(card["schedule"]) == tiny.config == read_config(finished[0] / "policy.json")
    assert card["command"] == "shapeopt train OUT --config policy.json"
    assert card["versions"]["jax"] == jax.__version__ and card["devices"] == 1
    assert card["seconds"] > 0 and card["stopped_early"] is False


def test_weights_to_go_on_from_are_where_a_run_begins(tiny, finished, tmp_path):
    name = str(finished[0] / "policy")
    config = replace(tiny.config, start=name)
    with jax.enable_x64(False):
        begun = config.make_policy(jax.random.key(9))
    assert eqx.tree_equal(begun, finished[1].policy)
    with pytest.raises(
        ValueError, match=r"`start` must be a policy with this run's settings; .* has rank 4 instead of 2"
    ):
        replace(config, rank=2).make_policy(jax.random.key(0))


def test_a_run_without_gains_ends_early(tiny, tmp_path):
    config: TrainConfig = replace(tiny.config, patience=1, epochs=50, validation_readings=2)
    trained = train(config, tmp_path)
    assert trained.card["stopped_early"] is True
    assert trained.card["updates"] < 4 + 2 * 50
