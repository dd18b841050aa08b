"""Training: half the calls on problems never seen, wherever the optima lie; a wrong family costs little; it goes on."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

import shapeopt
from shapeopt.cli import main
from shapeopt.training import Instance, train_family
from shapeopt.training import run as runs
from shapeopt.training.run import run_instance
from shapeopt.training.table import area, floors

sys.path.insert(0, str(Path(__file__).parent))

from families import Cup, D, Region, Round, Told, Twins

SMALL = {"budget": 60, "instances": 10, "effort": 1}


@pytest.fixture(scope="module")
def trained():
    return train_family(Region(), held_out=12, **SMALL)


def ratio(trained):
    return next(row for row in trained.rows if row.target == 1e-3)


def test_a_trained_policy_needs_half_the_calls_on_held_out_problems(trained):
    row = ratio(trained)
    assert row.ratio <= 0.5 and row.high < 1.0
    assert row.solved_after >= row.solved_before


def test_a_policy_knows_how_far_places_of_its_family_lie_below_a_start(trained):
    """At most what a straight slope would give: f(x0) - f(place) = |g(x0)| |x0 - place|."""
    assert 0 < trained.policy.fall < 1 and 0 < trained.policy.calm < np.inf


def test_moving_all_optima_to_a_corner_changes_nothing_in_the_gain(trained):
    corner = train_family(Region((4.4, 4.4, -4.4)), held_out=12, **SMALL)
    assert ratio(corner).ratio <= 0.5 and ratio(corner).high < 1.0
    assert abs(np.log(ratio(corner).ratio / ratio(trained).ratio)) < np.log(2.5)


def test_a_descriptor_finds_optima_that_lie_anywhere():
    told = train_family(Told(), held_out=12, budget=60, instances=20, effort=2)
    assert ratio(told).ratio <= 0.4 and ratio(told).high < 1.0
    assert told.policy.regression is not None


def test_of_equivalent_minima_the_same_one_is_remembered():
    policy = train_family(Twins(), held_out=0, budget=40, instances=16, effort=1).policy
    ordered = policy.places[:, 0] < policy.places[:, 1]
    assert ordered.all() or not ordered.any()
    assert policy.regression is not None and policy.reach_given.max() < 0.3


def test_where_nothing_is_gained_the_untrained_policy_is_kept_and_training_says_so():
    trained = train_family(Round(), held_out=4, budget=40, instances=8, effort=1)
    assert not trained.policy.pays and "untrained" in str(trained)
    assert [run.improved for run in trained.after] == [run.improved for run in trained.before]


def valley(seed):
    """Another family: a bent valley anywhere, steep where the trained family is flat."""
    rng = np.random.default_rng(seed)
    place, turn = rng.uniform(-3, 3, D), np.linalg.qr(np.random.default_rng(8).normal(size=(D, D)))[0]
    stiff = np.array([300.0, 1.0, 20.0])

    def fun(x):
        u = turn @ (x - place)
        bent = u + np.array([0.2 * u[1] ** 2, 0.0, 0.0])
        slope = stiff * bent
        slope = slope + np.array([0.0, 0.4 * u[1] * slope[0], 0.0])
        return float(0.5 * (stiff * bent**2).sum()), turn.T @ slope

    return Instance(fun, [(-5, 5)] * D, jac=True)


def _raises(x):
    raise KeyError("no such line")


@pytest.mark.parametrize(
    ("fun", "error", "word"),
    [(_raises, KeyError, "no such line"), (lambda x: (np.nan, x), ValueError, "finite values; 20 calls brought none")],
)
def test_an_objective_that_never_answers_ends_training_with_its_own_error(fun, error, word):
    with pytest.raises(error, match=word):
        train_family([fun] * 6, bounds=[(-5, 5)] * 2, jac=True, budget=20, effort=1)


def test_on_a_wrong_family_little_is_lost(trained):
    made = [valley(100 + i) for i in range(24)]
    plain = [run_instance(one, "universal", 100, i) for i, one in enumerate(made)]
    other = [run_instance(one, trained.policy, 100, i) for i, one in enumerate(made)]
    lowest = floors(plain, other)
    assert area(other, lowest, 100) > 0.95 * area(plain, lowest, 100)


def test_a_list_of_objectives_is_a_family():
    objectives = [Region().sample(i).fun for i in range(12)]
    trained = train_family(objectives, bounds=[(-5, 5)] * D, jac=True, budget=50, effort=1)
    assert len(trained.before) == 3 and "held-out" in str(trained)
    fresh = Region().sample(99)
    result = shapeopt.minimize(fresh.fun, bounds=fresh.bounds, jac=True, budget=20, policy=trained.policy)
    assert result.fun < fresh.fun.low + 1e-3


def test_a_folder_of_journals_is_a_family(tmp_path):
    folder = tmp_path / "journals"
    folder.mkdir()
    for i in range(8):
        one = Region().sample(i)
        shapeopt.minimize(one.fun, bounds=one.bounds, jac=True, budget=60, seed=i, journal=folder / f"{i}.journal")
    (folder / "notes.txt").write_text("not a journal")
    trained = train_family(folder)
    assert trained.policy.card["instances"] == 8 and trained.policy.shape is not None
    assert np.linalg.norm(trained.policy.places[0] - [1.0, -2.0, 0.5]) < 1.2


def test_training_goes_on_where_it_was_stopped(tmp_path, monkeypatch):
    whole = train_family(Region(), tmp_path / "whole", held_out=2, budget=30, instances=5, effort=1)
    count = 0

    def stops(*given, **named):
        nonlocal count
        count += 1
        if count == 8:
            raise KeyboardInterrupt
        return runs.run_instance(*given, **named)

    monkeypatch.setattr("shapeopt.training.jobs.run_instance", stops)
    settings = {"held_out": 2, "budget": 30, "instances": 5, "effort": 1}
    with pytest.raises(KeyboardInterrupt):
        train_family(Region(), tmp_path / "part", **settings)
    again = train_family(Region(), tmp_path / "part", **settings)
    assert (tmp_path / "part" / "policy.safetensors").read_bytes() == (
        tmp_path / "whole" / "policy.safetensors"
    ).read_bytes()
    assert [run.fun for run in again.after] == [run.fun for run in whole.after]
    total = len((tmp_path / "part" / "runs.jsonl").read_text().splitlines())
    assert count == total + 1  # the run that was cut short, and no other, was made twice


@pytest.mark.parametrize(
    ("family", "settings", "word"),
    [
        ([Cup(np.zeros(D))], {"bounds": (-5, 5), "jac": True}, "at least 3"),
        ([Cup(np.zeros(D))] * 8, {"jac": True}, "bounds"),
        (3, {}, "family"),
        ("nowhere/at/all", {}, "folder of journals"),
        (Region(), {"budget": 0}, "budget"),
        (Region(), {"workers": 2}, "workers"),
    ],
)
def test_what_is_no_family_is_refused(family, settings, word):
    with pytest.raises(ValueError, match=word):
        train_family(family, **settings)


def test_the_command_trains_reports_and_minimize_takes_the_policy(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(Path(__file__).parent)
    out = tmp_path / "out"
    words = ["--out", str(out), "--budget", "30", "--instances", "6", "--held-out", "4", "--effort", "1"]
    assert main(["train", "families:Region", *words]) == 0
    shown = capsys.readouterr()
    assert "4 held-out problems" in shown.out and "runs" in shown.err
    card = json.loads((out / "policy.json").read_text())
    assert card["kind"] == "family" and card["about"]["instances"] == 6 and len(card["about"]["table"]) == 4
    function = ["minimize", "families:SHOWN", "--jac", "--bounds", "-5", "5", "--dim", "3", "--budget", "20"]
    assert main([*function, "--policy", str(out / "policy"), "--quiet"]) == 0
    assert float(capsys.readouterr().out) < 5.0
    assert main(["train", "families:Region", *words, "--json", "--quiet"]) == 0
    assert json.loads(capsys.readouterr().out)["held_out"] == 4


def test_a_wrong_family_ends_the_command_in_one_line(tmp_path, capsys):
    assert main(["train", "nothing:AtAll", "--out", str(tmp_path)]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_the_picture_of_calls_is_drawn(trained, tmp_path):
    pytest.importorskip("matplotlib")
    trained.draw(tmp_path / "calls.png")
    assert (tmp_path / "calls.png").stat().st_size > 5000
