"""A learned shape of the inverse Hessian: exact after one pair where it is right, refused by it where it is not."""

import numpy as np

from shapeopt.dynamics.dense import Dense, LearnedShape
from shapeopt.ops import HOST

D = 6
TURN = np.linalg.qr(np.random.default_rng(0).normal(size=(D, D)))[0]
B = TURN @ np.diag(np.geomspace(1.0, 1e4, D)) @ TURN.T
A = np.linalg.inv(B)


def first_pair(shape, s=None):
    """The model after one step on the quadratic with Hessian B, made by the model itself unless given."""
    g, radius = np.random.default_rng(1).normal(size=D), 0.3
    model = Dense.blank(HOST, D, np.float64, shape).opened(HOST, g, radius / np.linalg.norm(g), radius)
    s = -model.H @ g if s is None else s
    y = B @ s
    return model, model.add(HOST, s, y, float(s @ y), float(y @ y), 0.0)


def test_the_first_step_is_as_long_as_the_radius():
    model, _ = first_pair(LearnedShape(7.0 * A, B / 7.0))
    g = np.random.default_rng(1).normal(size=D)
    np.testing.assert_allclose(np.linalg.norm(model.H @ g), 0.3)


def test_one_pair_gives_a_right_shape_its_scale():
    _, after = first_pair(LearnedShape(7.0 * A, B / 7.0))
    np.testing.assert_allclose(after.H, A, rtol=1e-6, atol=1e-9)


def test_a_wrong_shape_is_dropped_for_the_identity():
    wrong = np.diag(np.geomspace(1e4, 1.0, D))
    s = np.random.default_rng(2).normal(size=D)
    _, after = first_pair(LearnedShape(wrong, np.linalg.inv(wrong)), s)
    _, plain = first_pair(None, s)
    np.testing.assert_allclose(after.H, plain.H)


def test_the_model_is_positive_definite_with_either():
    for shape in (
        LearnedShape(A, B),
        LearnedShape(np.diag(np.geomspace(1e4, 1.0, D)), np.diag(np.geomspace(1e-4, 1.0, D))),
    ):
        _, after = first_pair(shape)
        assert np.linalg.eigvalsh(after.H).min() > 0
