"""Places put together from several instances, and coordinates that are periodic."""

from dataclasses import dataclass

import numpy as np

from shapeopt.training import Instance, train_family
from shapeopt.training.combine import combined, profiles
from shapeopt.training.periodic import Seam, find_seam

RNG = np.random.default_rng(0)
ANGLES = np.deg2rad([-60.0, 60.0, 180.0])


def test_all_combinations_of_modes_are_made_and_what_one_instance_has_is_no_mode():
    x = np.array([[1.0, 5.0], [1.1, -5.0], [1.0, 5.1], [1.2, -5.1], [9.0, 5.0]])
    places = combined(x, np.array([20.0, 20.0]))
    assert len(places) == 0  # two are not enough for an order to matter
    more = np.concatenate([x, [[9.1, -5.0]]])
    assert len(combined(more, np.array([20.0, 20.0]))) == 4


def test_the_rarest_modes_are_left_out_where_combinations_are_too_many():
    x = RNG.choice([0.0, 3.0, 6.0], size=(60, 6), p=[0.5, 0.4, 0.1])
    places = combined(x, np.full(6, 10.0))
    assert 2**6 <= len(places) <= 256 and (places == 6.0).any(axis=0).sum() < 6


def test_profiles_have_no_scale_or_level_and_clashes_do_not_drown_the_rest():
    values, places = RNG.normal(size=(5, 8)), RNG.integers(2, size=(8, 3)).astype(float)
    values[:, 3] = 1e9
    made = profiles(values, places, 0)
    np.testing.assert_allclose(profiles(7.0 * values + 3.0, places, 0), made, atol=1e-6)
    assert abs(made).max() < 10.0 and not made[:, 0].any()


def periodic(x):
    return float(np.cos(3.0 * x[0]) + 0.2 * np.sin(x[0]) + (x[1] - 0.3) ** 2 + abs(np.sin(x[2] / 2.0 - 0.6)))


def test_periodic_coordinates_are_found_and_the_seam_is_where_no_minimum_is():
    """The second coordinate is a parabola; the fourth is even: equal values at its bounds, and other slopes."""
    fun = lambda x: periodic(x) + 0.01 * x[3] ** 2  # noqa: E731
    bounds = [(-np.pi, np.pi)] * 4
    x = np.array([[3.1, 0.3, 1.2, 0.0], [-3.1, 0.3, 1.2, 0.0], [1.1, 0.3, 1.2, 0.0]])
    seam = find_seam([Instance(fun, bounds)] * 3, x, np.full(4, -np.pi), np.full(4, np.pi))
    assert np.isnan(seam.at[[1, 3]]).all() and seam.setting[1] is None
    assert np.pi / 3 > abs(seam.at[0] + 1.0)  # between -3.1 and 1.1, the longest part without a minimum
    np.testing.assert_allclose(seam.inside(seam.unrolled(x)), x)
    assert np.ptp(seam.unrolled(x)[:2, 0]) < 0.1


def test_no_periodic_coordinate_is_no_setting():
    assert Seam(np.full(2, np.nan), np.zeros(2), np.ones(2)).setting is None


@dataclass(frozen=True)
class Chains:
    """Angles with three preferred values each, some of them at the bounds; which are preferred differs a little."""

    d: int = 5

    def sample(self, seed):
        rng = np.random.default_rng([seed, 4])
        likes = rng.normal(size=(self.d, 3)) * 0.7
        likes[:, 2] -= 0.6
        pairs = rng.normal(size=(self.d - 1, 3, 3)) * 0.4

        def fun(x):
            shares = np.exp(4.0 * (np.cos(x[:, None] - ANGLES) - 1.0))
            energy = 0.5 * (1.0 + np.cos(3.0 * x)).sum() + (shares * likes).sum()
            return float(energy + sum(a @ p @ b for a, p, b in zip(shares[:-1], pairs, shares[1:], strict=True)))

        return Instance(fun, [(-np.pi, np.pi)] * self.d)


def test_a_family_of_chains_is_solved_more_often_with_combined_places_and_a_seam():
    trained = train_family(Chains(), held_out=12, budget=80, instances=16, effort=1)
    assert trained.policy.seam is not None and trained.policy.profiles is not None and trained.policy.pays
    row = next(row for row in trained.rows if row.target == 1e-2)
    assert row.after <= 0.6 * row.before and row.solved_after > row.solved_before
