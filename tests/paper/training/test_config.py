"""The run's configuration: the paper's numbers, its file, what it refuses."""

from dataclasses import replace

import pytest

from shapeopt.paper.training.config import (
    PRESETS,
    Estimation,
    TrainConfig,
    from_plain,
    read_config,
    to_plain,
    write_toml,
)
from shapeopt.paper.training.curriculum import Curriculum
from shapeopt.paper.training.estimators import Backpropagation, EvolutionStrategy, Reuse
from shapeopt.tasks import StartLaw


@pytest.mark.parametrize(
    ("name", "epochs", "hidden", "runs"),
    [("paper-2", 500, 32, 128), ("paper-20", 800, 64, 64), ("paper-100", 1000, 128, 32), ("paper-500", 1000, 128, 32)],
)
def test_paper_presets_have_the_paper_s_numbers(name, epochs, hidden, runs):
    config = PRESETS[name]
    assert (config.epochs, config.hidden, config.validation_tasks) == (epochs, hidden, runs)
    assert (config.controller_pretrain, config.controller_updates, config.joint_updates) == (100, 2, 2)
    assert (config.batch, config.readings, config.event_horizon) == (64, 128, 6)


def test_there_is_a_small_preset_beside_each_of_the_paper_s():
    assert {name.removeprefix("paper-") for name in PRESETS if name.startswith("paper-")} == {
        name.removeprefix("small-") for name in PRESETS if name.startswith("small-")
    }
    readings = [PRESETS[f"small-{d}"].readings for d in (2, 20, 100, 500)]
    assert readings == [48, 48, 56, 64]


@pytest.mark.parametrize("name", PRESETS)
def test_a_configuration_comes_back_from_its_file(name, tmp_path):
    config = replace(
        PRESETS[name],
        law=StartLaw.BOX,
        rotated=True,
        reuse=Reuse.PERSISTENT,
        estimator=Estimation.EVOLUTION,
        sigma=0.25,
    )
    write_toml(tmp_path / "config.toml", config)
    assert read_config(tmp_path / "config.toml") == config
    assert from_plain(to_plain(config)) == config


def test_a_file_may_leave_things_out_and_write_whole_numbers(tmp_path):
    (tmp_path / "config.toml").write_text('family = "ackley"\ndimension = 20\nclip = 2\n')
    assert read_config(tmp_path / "config.toml") == TrainConfig(family="ackley", dimension=20, clip=2.0)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"famly": "ackley"}, "A configuration has no `famly`"),
        ({"law": "nearby"}, "`law` must be one of 'paper', 'near', 'box'; got 'nearby'"),
        ({"batch": "64"}, "`batch` must be of type int; got '64'"),
        ({"batch": 0}, "`batch` must be at least 1; got 0"),
        ({"readings": 1}, "`readings` must be at least 2; got 1"),
        ({"seed": -1}, r"`seed` must lie in \[0, 2\^32\); got -1"),
    ],
)
def test_a_wrong_configuration_is_refused(table, message):
    with pytest.raises(ValueError, match=message):
        from_plain(table)


def test_windows_must_divide_the_readings():
    with pytest.raises(ValueError, match="`windows` must divide `readings` = 16; got 3"):
        TrainConfig(readings=16, windows=3).plan(0)


def test_the_estimator_is_the_configured_one():
    assert TrainConfig(clip=3.0).make_estimator().clip == 3.0
    strategy = TrainConfig(estimator=Estimation.EVOLUTION, noise_scale=0.5, pairs=7).make_estimator()
    assert isinstance(TrainConfig().make_estimator(), Backpropagation)
    assert isinstance(strategy, EvolutionStrategy)
    assert (strategy.sigma, strategy.pairs) == (0.5, 7)


def test_without_a_controller_there_is_no_phase_one():
    config = TrainConfig(use_controller=False).ablated
    assert (config.controller_pretrain, config.controller_updates) == (0, 0)
    assert TrainConfig().ablated == TrainConfig()


def test_plans_of_equal_configurations_are_equal():
    assert hash(TrainConfig().plan(3)) == hash(TrainConfig().plan(4))
    assert TrainConfig().plan(3) == TrainConfig().plan(4)


def test_a_curriculum_goes_from_double_wells_to_the_family():
    config = TrainConfig(family="multiwell", dimension=1, curriculum=Curriculum.WELLS, epochs=30)
    assert [config.plan(epoch).family.name for epoch in (-1, 0, 9, 10, 29)] == [
        *["double_well"] * 3,
        *["multiwell"] * 2,
    ]
