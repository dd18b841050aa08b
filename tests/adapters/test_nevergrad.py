"""`shapeopt.nevergrad` puts SHAPE into nevergrad's registry."""

import numpy as np
import pytest

ng = pytest.importorskip("nevergrad")

import shapeopt  # noqa: E402


def bowl(x):
    return float(((x - 0.7) ** 2).sum())


def test_it_is_in_the_registry_and_minimises():
    assert shapeopt.nevergrad.Shape is ng.optimizers.registry["Shape"]
    optimizer = ng.optimizers.registry["Shape"](parametrization=ng.p.Array(shape=(2,)).set_bounds(-3, 3), budget=60)
    optimizer.parametrization.random_state.seed(0)
    best = optimizer.minimize(bowl)
    assert bowl(best.value) < 1e-4 and optimizer.num_ask == 60


def test_workers_may_answer_in_any_order():
    optimizer = shapeopt.nevergrad.Shape(parametrization=2, budget=60, num_workers=4)
    optimizer.parametrization.random_state.seed(0)
    rng = np.random.default_rng(0)
    flying = []
    while optimizer.num_tell < 60:
        while len(flying) < 4 and optimizer.num_ask < 60:
            flying.append(optimizer.ask())
        assert len({candidate.value.tobytes() for candidate in flying}) == len(flying)
        candidate = flying.pop(rng.integers(len(flying)))
        optimizer.tell(candidate, bowl(candidate.value))
    assert bowl(optimizer.provide_recommendation().value) < 1.0
