"""Kinds of move: they stay in the box, few means few, and credit goes where it is earned."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from shapeopt.paper.memory import Archive
from shapeopt.policy.draws import draw
from shapeopt.policy.moves import (
    ANYWHERE,
    DIFFERENCE,
    KINDS,
    RECENT,
    SETTLE,
    SWEEP,
    WIDEST,
    Credit,
    Recent,
    next_widening,
    propose,
)

D = 40
LOWER, UPPER = np.full(D, -5.0), np.full(D, 5.0)


def anchors(kind, base, count=200):
    archive = Archive.empty(4, D, jnp.float64)
    for i in range(3):
        true = jnp.ones((), bool)
        archive = archive.write(i * jnp.ones(D), jnp.asarray(float(i)), jnp.asarray(1.0), jnp.asarray(0.1), true)
    one = lambda key: propose(  # noqa: E731
        jnp.asarray(kind),
        draw(jax.random.key_data(key), jnp.zeros((), int), D, len(KINDS), jnp.float64),
        base,
        archive,
        LOWER,
        UPPER,
        jnp.zeros(()),
    )
    return np.asarray(jax.vmap(one)(jax.random.split(jax.random.key(kind), count)))


@pytest.mark.parametrize("kind", range(len(KINDS)))
def test_anchors_stay_in_the_box_from_a_corner(kind):
    points = anchors(kind, 4.9 * jnp.ones(D))
    assert np.all((points >= -5.0) & (points <= 5.0)) and np.isfinite(points).all()
    assert len(np.unique(points, axis=0)) == (1 if kind == SETTLE else len(points))  # settling starts at the base


@pytest.mark.parametrize("kind", [i for i, kind in enumerate(KINDS) if kind.few])
def test_few_means_at_most_about_half_of_the_coordinates_and_at_least_one(kind):
    moved = (anchors(kind, jnp.zeros(D)) != 0.0).sum(axis=1)
    assert moved.min() >= 1 and moved.max() < 0.8 * D and np.median(moved) < 0.3 * D


def test_anywhere_covers_the_box_without_favouring_its_centre():
    points = anchors(ANYWHERE, jnp.zeros(D), 400)
    assert abs(points.mean()) < 0.1 and abs(points.std() - 10.0 / 12**0.5) < 0.1


def test_a_kind_that_pays_is_drawn_more_often():
    credit = Credit.blank(jnp.float64)
    for i in range(40):
        credit = credit.paid(jnp.asarray(i % 4), jnp.asarray(i % 4 == 2), jnp.ones((), bool))
    normals = jax.random.normal(jax.random.key(0), (500, len(KINDS)), jnp.float64)
    no_sweep = jnp.where(jnp.arange(len(KINDS)) == SWEEP, -jnp.inf, 0.0)  # as where f is no sum
    kinds = np.asarray(jax.vmap(lambda n: credit.draw(n, no_sweep))(normals))
    assert np.mean(kinds == 2) > 0.8


def test_a_basin_is_low_if_at_most_half_of_the_last_ones_are_lower():
    recent, low = Recent.none(jnp.float64), []
    for f in (5.0, 6.0, 7.0, 4.0, 5.5, 9.0):
        recent = recent.with_basin(jnp.asarray(f), jnp.ones((), bool))
        low.append(bool(recent.has_low(jnp.asarray(f))))
    assert low == [True, True, False, True, True, False]
    same = recent.with_basin(jnp.asarray(0.0), jnp.zeros((), bool))
    assert jnp.array_equal(same.values, recent.values)
    for _ in range(RECENT):
        recent = recent.with_basin(jnp.asarray(8.0), jnp.ones((), bool))
    assert recent.has_low(jnp.asarray(8.0))  # older ones are forgotten, and equal ones are not lower


@pytest.mark.parametrize("kind", [i for i, kind in enumerate(KINDS) if kind.name not in ("anywhere", "difference")])
def test_moves_are_centred_on_the_base_and_not_on_the_box(kind):
    points = anchors(kind, jnp.linspace(-2.0, 2.0, D))
    offsets = np.median(points, axis=0) - np.linspace(-2.0, 2.0, D)
    assert np.abs(offsets).mean() < 0.3 * KINDS[kind].radius + 1e-12
    assert abs(np.polyfit(np.linspace(-2.0, 2.0, D), offsets, 1)[0]) < 0.15  # no pull that grows with the distance


def test_moves_that_fall_back_widen_the_next_ones_and_others_than_near_and_far_do_not_count():
    def after(kind: int, fell_back: bool, better: bool, start: float = 0.0) -> float:
        flags = jnp.asarray(fell_back), jnp.asarray(better)
        return float(next_widening(jnp.asarray(start), jnp.asarray(kind), *flags))

    assert after(0, True, False) > 0 > after(0, False, False)
    assert after(0, False, True) == 0.0
    assert after(0, True, False, WIDEST) == WIDEST
    assert all(after(kind, True, False) == 0.0 for kind in (-1, DIFFERENCE, ANYWHERE, SETTLE, SWEEP))
