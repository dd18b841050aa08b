"""`shapeopt.optuna.ShapeSampler`: floats, integers, logarithms and grids; failures; several trials in flight."""

import numpy as np
import pytest

optuna = pytest.importorskip("optuna")

import shapeopt  # noqa: E402

optuna.logging.set_verbosity(optuna.logging.ERROR)


def study(budget, direction="minimize", **settings):
    return optuna.create_study(sampler=shapeopt.optuna.ShapeSampler(budget, **settings), direction=direction)


def bowl(trial):
    x = trial.suggest_float("x", -5, 5)
    rate = trial.suggest_float("rate", 1e-4, 1.0, log=True)
    return (x - 1) ** 2 + np.log10(rate / 1e-2) ** 2


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_it_finds_what_random_search_does_not(direction):
    sign = 1 if direction == "minimize" else -1
    one = study(60, direction)
    one.optimize(lambda trial: sign * bowl(trial), n_trials=60)
    assert sign * one.best_value < 1e-6
    assert one.best_params["x"] == pytest.approx(1, abs=1e-3)
    assert all(1e-4 <= trial.params["rate"] <= 1 for trial in one.trials)


def test_integers_and_grids_get_values_of_their_own_and_categories_are_drawn():
    def objective(trial):
        n = trial.suggest_int("n", 1, 9)
        step = trial.suggest_float("step", 0.0, 1.0, step=0.25)
        kind = trial.suggest_categorical("kind", ["a", "b"])
        assert isinstance(n, int) and step in (0.0, 0.25, 0.5, 0.75, 1.0)
        return (n - 4) ** 2 + step + (kind == "b")

    one = study(60)
    one.optimize(objective, n_trials=60)
    assert {trial.params["kind"] for trial in one.trials} == {"a", "b"} and one.best_value <= 5


def test_failed_and_pruned_trials_are_told_and_more_trials_than_the_budget_go_on():
    def objective(trial):
        if trial.number % 7 == 3:
            raise ValueError("no mesh")
        if trial.number % 7 == 5:
            raise optuna.TrialPruned
        return bowl(trial)

    one = study(20)
    one.optimize(objective, n_trials=45, catch=ValueError)
    assert len(one.trials) == 45 and one.best_value < bowl(optuna.trial.FixedTrial({"x": -5.0, "rate": 1.0}))


def test_several_trials_in_flight_get_different_points():
    one = study(40, num_starts=3)
    one.optimize(bowl, n_trials=1)
    trials = [one.ask() for _ in range(4)]
    values = [bowl(trial) for trial in trials]
    assert len({tuple(trial.params.values()) for trial in trials}) == 4
    for trial, value in reversed(list(zip(trials, values, strict=True))):
        one.tell(trial, value)
    one.optimize(bowl, n_trials=30)
    assert one.best_value <= min(values)
