"""The planner of a universal policy is trained on whole runs, against the untrained policy on the same tasks."""

from dataclasses import replace
from types import SimpleNamespace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from shapeopt.policy import UniversalPolicy, find_policy, load_card
from shapeopt.policy.heads import EXPONENTS, Network
from shapeopt.policy.moves import KINDS
from shapeopt.tasks import HELD_OUT, TRAINING, VALIDATION
from shapeopt.training import PRESETS, Estimation, TrainConfig, train
from shapeopt.training.heads import BIAS, EXPONENT, loss, make_head_phases, units_of
from shapeopt.training.mixture import MIXTURES, in_words
from shapeopt.training.phases import Part, split_policy

TINY = TrainConfig(
    family="scattered_wells",
    start="universal",
    batch=2,
    pairs=2,
    readings=24,
    controller_pretrain=0,
    planner_pretrain=0,
    epochs=3,
    controller_updates=0,
    joint_updates=1,
    joint_rate=0.1,
    estimator=Estimation.EVOLUTION,
    noise_scale=1.0,
    validation_tasks=4,
    validation_readings=24,
    validate_every=1,
    checkpoint_every=1,
)


class Stop(Exception):
    pass


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    with jax.numpy_dtype_promotion("strict"), jax.enable_x64(True):  # as in a test, so that nothing is traced twice
        return folder, train(TINY, folder)


def traced(*best):
    return SimpleNamespace(steps=SimpleNamespace(best=jnp.asarray(best)))


def test_the_loss_is_the_mean_decade_of_the_best_gap():
    assert loss(traced(101.0, 2.0, 1.0 + 1e-2), jnp.asarray(1.0)) == pytest.approx(-(0 + 2 + 4) / 3 / 8)
    assert loss(traced(5.0, 5.0), jnp.asarray(1.0)) == 0.0
    assert loss(traced(5.0, 1.0), jnp.asarray(1.0)) == pytest.approx(-0.5)  # 8 decades count and no more
    assert loss(traced(7.0, -1.0), jnp.asarray(jnp.nan)) == pytest.approx(-0.5)
    moved = loss(traced(75.0, 27.0, 15.0), jnp.asarray(11.0))  # 8 f + 3
    assert moved == pytest.approx(float(loss(traced(9.0, 3.0, 1.5), jnp.asarray(1.0))))


def test_a_planner_that_says_nothing_differs_in_nothing_and_one_that_speaks_does():
    with jax.enable_x64(False):
        params, static = split_policy(TINY.make_policy(jax.random.key(0)))
        phases, asked = make_head_phases(TINY.plan(0), static), (jax.random.key(3), 32, 24)
        assert float(phases.evaluate(params, *asked)) == 0.0
        loud = eqx.tree_at(lambda p: p.planner.network.b_out, params, replace_fn=jnp.ones_like)
        assert float(phases.evaluate(loud, *asked)) != 0.0


def test_a_run_trains_the_planner_alone_and_ends_in_a_policy_for_any_dimension(finished):
    folder, trained = finished
    begun = TINY.make_policy(jax.random.key(0)).planner.network
    learned = trained.learner.params.planner.network
    for name in ("W_in", "W_out", "b_out"):
        assert np.any(np.asarray(getattr(learned, name)) != np.asarray(getattr(begun, name)))
    found = find_policy(folder / "policy")
    assert isinstance(found, UniversalPolicy)
    assert found.controller is None and found.settings["rank"] == 0
    about = load_card(folder / "policy")["about"]
    assert about["validation"][0] == [0, 0.0] and about["best_validation"] <= 0.0
    assert about["calls"] == 3 * 2 * TINY.pairs * TINY.batch * TINY.readings
    assert about["command"] == "shapeopt train OUT --config policy.json"


def test_a_killed_run_goes_on_to_the_same_bytes(finished, tmp_path):
    def stop(progress):
        if progress.done == 2:
            raise Stop

    with pytest.raises(Stop):
        train(TINY, tmp_path, onlooker=stop)
    train(TINY, tmp_path)
    for name in ("policy.safetensors", "log.jsonl"):
        assert (tmp_path / name).read_bytes() == (finished[0] / name).read_bytes()


def test_noise_is_measured_in_units_of_what_an_output_does():
    units = units_of(split_policy(UniversalPolicy.create(jax.random.key(0), rank=0))[0]).planner.network
    assert isinstance(units, Network)
    np.testing.assert_allclose(units.b_out, [EXPONENT] * EXPONENTS + [BIAS] * (units.b_out.size - EXPONENTS), rtol=1e-6)
    np.testing.assert_allclose(units.W_out, 0.5 * np.outer(units.b_out, np.ones(16)), rtol=1e-6)


def test_gains_alone_are_what_the_planner_says_whatever_it_sees():
    with jax.enable_x64(False):
        params, static = split_policy(TINY.make_policy(jax.random.key(0)))
        phases = make_head_phases(replace(TINY, trained=Part.GAINS).plan(0), static)
        _, noise = phases._drawn(params, jax.random.key(1))
    moved = {name: bool(np.any(np.asarray(leaf))) for name, leaf in vars(noise.planner.network).items()}
    assert moved == {"W_in": False, "b_in": False, "W_out": False, "b_out": True}
    assert noise.planner.network.b_out.shape == (TINY.pairs, EXPONENTS + len(KINDS))


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"planner_pretrain": 3}, "`planner_pretrain` must be 0 for a universal policy; got 3"),
        ({"estimator": Estimation.BACKPROPAGATION}, "`estimator` must be evolution for a universal policy"),
        ({"start": None, "family": "mixture"}, "`start` must be a universal policy for the family 'mixture'; got None"),
    ],
)
def test_a_schedule_that_a_universal_policy_can_t_have_is_refused(wrong, words):
    with pytest.raises(ValueError, match=words):
        replace(TINY, **wrong).make_policy(jax.random.key(0))


def test_the_broad_mixture_trains_on_nothing_that_it_is_chosen_or_judged_by():
    trained, validated = ({name for grade in part for name in grade.family.split("+")} for part in MIXTURES["mixture"])
    assert set(VALIDATION) < set(TRAINING)
    assert trained <= set(TRAINING) - set(VALIDATION) - set(HELD_OUT)
    assert validated <= set(VALIDATION)


@pytest.mark.parametrize("name", MIXTURES)
def test_every_round_of_a_mixture_has_every_sort_of_tasks_once(name):
    config = replace(PRESETS["universal"], family=name)
    count = len(MIXTURES[name].trained)
    rounds = [[config.grade(epoch) for epoch in range(start, start + count)] for start in (0, count)]
    assert all(sorted(map(in_words, one)) == sorted(map(in_words, MIXTURES[name].trained)) for one in rounds)
    assert [grade for grade, _ in config.validation_grades] == list(MIXTURES[name].validated)
    for grade in rounds[0]:
        assert config.make_family(grade).dimension == grade.dimension
