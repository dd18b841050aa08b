"""The probe teacher against a slow version, and what it must and must not know."""

import inspect

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from shapeopt.core import Mode
from shapeopt.paper.base import Plant
from shapeopt.paper.training.teacher import CLEAR, NOVEL, WORST, ProbeTeacher, mode_label, unit_vector

TEACHER, DRAW = ProbeTeacher(), jnp.zeros((), jnp.int32)


def plant(q, p=None, g=None, f=0.0, reach=5.0):
    q = jnp.asarray(q)
    p, g = (jnp.zeros_like(q) if v is None else jnp.asarray(v) for v in (p, g))
    side = jnp.full_like(q, reach)
    return Plant(q, p, jnp.asarray(f), g, jnp.asarray(True), -side, side, jnp.zeros(()))


def nothing_new(q):
    return jnp.ones((), q.dtype)


def ask(where, value, novelty=nothing_new, stalled=False, unit=1.0, key=0, teacher=TEACHER):
    return teacher(where, jnp.asarray(unit), jnp.asarray(stalled), value, novelty, jax.random.key(key), DRAW)


def bowl(q):
    return 0.5 * jnp.sum(q**2)


def test_directions_are_unit_descent_momentum_and_orthogonal_to_the_gradient():
    where = plant([1.0, 2.0, -1.0, 0.5], p=[0.0, 3.0, 0.0, 4.0], g=[2.0, 0.0, 0.0, 0.0])
    directions = np.asarray(TEACHER.directions(where, nothing_new, jax.random.key(1), DRAW))
    np.testing.assert_allclose(np.linalg.norm(directions, axis=1), 1.0, rtol=1e-12)
    np.testing.assert_allclose(directions[0], [-1.0, 0.0, 0.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(directions[1], [0.0, 0.6, 0.0, 0.8], atol=1e-12)
    across = directions[3:]
    np.testing.assert_allclose(across @ directions[0], 0.0, atol=1e-12)
    np.testing.assert_allclose(across @ across.T, np.eye(2), atol=1e-12)


def test_the_novel_direction_leads_to_where_memory_is_emptiest():
    novelty = lambda q: jax.nn.sigmoid(q[0])  # noqa: E731
    where = plant([0.0, 0.0])
    novel = [TEACHER.directions(where, novelty, jax.random.key(k), DRAW)[2, 0] for k in range(5)]
    assert min(novel) > 0.5


def test_the_score_is_the_slow_one():
    where = plant([1.0, -0.5], p=[0.3, 0.1], g=[1.0, -0.5], f=0.625)
    novelty = lambda q: 0.3 + 0.1 * jnp.tanh(q[1])  # noqa: E731
    label = ask(where, bowl, novelty, unit=2.0, key=3)
    directions = np.asarray(TEACHER.directions(where, novelty, jax.random.key(3), DRAW))
    scores, points = [], []
    for radius in TEACHER.radii:
        for direction in directions:
            c = np.clip(np.array([1.0, -0.5]) + radius * direction, -5, 5)
            gain = 0.1 * np.tanh(c[1]) - 0.1 * np.tanh(-0.5)
            improvement = (0.625 - 0.5 * np.sum(c**2)) / (2.0 * np.sqrt(2.0))
            scores.append(improvement + 0.25 * gain - 0.5 * np.sum((c - [1.0, -0.5]) ** 2) / 25.0)
            points.append(c)
    np.testing.assert_allclose(label.score, max(scores), rtol=1e-10)
    np.testing.assert_allclose(label.anchor, points[int(np.argmax(scores))], rtol=1e-10)


def test_on_a_slope_it_says_refine_and_points_downhill():
    label = ask(plant([2.0, 0.0], g=[2.0, 0.0], f=2.0), bowl)
    assert label.mode == Mode.REFINE
    assert float(bowl(label.anchor)) < 2.0


@pytest.mark.parametrize(("stalled", "mode"), [(True, Mode.ESCAPE), (False, Mode.SETTLE)])
def test_at_a_bottom_it_escapes_only_if_the_stage_stalled(stalled, mode):
    assert ask(plant([0.0, 0.0]), bowl, stalled=stalled).mode == mode


@pytest.mark.parametrize(
    ("score", "stalled", "gain", "mode"),
    [
        (2 * CLEAR, True, 1.0, Mode.REFINE),
        (CLEAR / 2, False, 2 * NOVEL, Mode.ESCAPE),
        (CLEAR / 2, True, 0.0, Mode.ESCAPE),
        (CLEAR / 2, False, NOVEL / 2, Mode.SETTLE),
    ],
)
def test_mode_labels(score, stalled, gain, mode):
    assert mode_label(jnp.asarray(score), jnp.asarray(stalled), jnp.asarray(gain)) == mode


@pytest.mark.full
@pytest.mark.parametrize("d", [1, 2, 3, 7])
def test_it_counts_every_value_that_it_reads(d):
    where, read = plant(np.ones(d), g=np.ones(d)), []

    def value(q):
        jax.debug.callback(lambda _: read.append(1), q)
        return bowl(q)

    label = ask(where, value)
    jax.effects_barrier()
    assert label.calls == TEACHER.calls(d) == len(read)


def test_labels_do_not_depend_on_the_scale_of_f():
    where = plant([1.0, 0.3], g=[1.0, 0.3], f=0.545)
    scaled = where._replace(f=1e3 * where.f, g=1e3 * where.g)
    one, other = ask(where, bowl, unit=0.7), ask(scaled, lambda q: 1e3 * bowl(q), unit=700.0)
    np.testing.assert_allclose(one.anchor, other.anchor, rtol=1e-12)
    np.testing.assert_allclose(one.score, other.score, rtol=1e-10)


def test_candidates_stay_in_the_box_and_a_hole_is_the_worst():
    where = plant([4.9, -4.9], g=[-1.0, 1.0])
    probes = TEACHER.probe(where, jnp.asarray(1.0), lambda q: jnp.nan * q[0], nothing_new, jax.random.key(0), DRAW)
    assert np.abs(probes.points).max() <= 5.0
    assert np.all(np.asarray(probes.improvement) == WORST)


def test_labels_carry_no_derivative():
    slope = jax.grad(lambda q: jnp.sum(ask(plant(q, g=q, f=1.0), bowl).anchor))(jnp.array([1.0, 2.0]))
    np.testing.assert_array_equal(slope, 0.0)


def test_it_is_never_handed_a_task():
    assert not {"task", "minimum", "minimiser"} & inspect.signature(ProbeTeacher.__call__).parameters.keys()


def test_unit_vector_of_zero_and_of_a_cliff():
    np.testing.assert_array_equal(unit_vector(jnp.zeros(3)), 0.0)
    np.testing.assert_allclose(unit_vector(jnp.array([3e300, 4e300])), [0.6, 0.8])


def test_wrong_settings_are_refused():
    with pytest.raises(ValueError, match=r"`radii` must be positive, at least one; got \(0.0,\)"):
        ProbeTeacher(radii=(0.0,))
    with pytest.raises(ValueError, match="`orthogonal` must not be negative; got -1"):
        ProbeTeacher(orthogonal=-1)
    with pytest.raises(ValueError, match="`risk_weight` must not be negative; got -2"):
        ProbeTeacher(risk_weight=-2.0)
