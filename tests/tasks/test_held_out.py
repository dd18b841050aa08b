"""The held-out classics against their published formulas and minima, and against local searches."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import minimize

from shapeopt.tasks import HELD_OUT, PublishedFamily, make_family
from shapeopt.tasks.published import PUBLISHED

pytestmark = pytest.mark.grid(8)

FIXED = {problem.name: problem.dimension for problem in PUBLISHED if problem.dimension}
KEY = jax.random.key(4)


def griewank(x):
    y = 120 * x
    return 1 + sum(y**2) / 4000 - np.prod([np.cos(yi / np.sqrt(i)) for i, yi in enumerate(y, 1)])


def salomon(x):
    r = np.linalg.norm(20 * x)
    return 1 - np.cos(2 * np.pi * r) + 0.1 * r


def drop_wave(x):
    r = np.linalg.norm(1.024 * x)
    return 1 - (1 + np.cos(12 * r)) / (0.5 * r**2 + 2)


def schaffer_f7(x):
    z = [np.hypot(a, b) for a, b in zip(20 * x[:-1], 20 * x[1:], strict=True)]
    return (sum(np.sqrt(zi) + np.sqrt(zi) * np.sin(50 * zi**0.2) ** 2 for zi in z) / len(z)) ** 2


def zakharov(x):
    t = sum(0.5 * i * xi for i, xi in enumerate(x, 1))
    return sum(x**2) + t**2 + t**4


def powell_singular(x):
    a, b, c, e = x[0::4], x[1::4], x[2::4], x[3::4]
    return sum((a + 10 * b) ** 2 + 5 * (c - e) ** 2 + (b - 2 * c) ** 4 + 10 * (a - e) ** 4)


def trid(x):
    d = len(x)
    i = np.arange(1, d + 1)
    y = i * (d + 1 - i) + d**2 / 5 * x
    return sum((y - 1) ** 2) - sum(y[1:] * y[:-1]) + d * (d + 4) * (d - 1) / 6


def bohachevsky(x):
    y, pi = 3 * x, np.pi
    return sum(
        a**2 + 2 * b**2 - 0.3 * np.cos(3 * pi * a) - 0.4 * np.cos(4 * pi * b) + 0.7 for a, b in itertools.pairwise(y)
    )


def weierstrass(x):
    y, k = x / 20, np.arange(8)
    base = sum(0.5**k * np.cos(2 * np.pi * 3.0**k * 0.5))
    return sum(sum(0.5**k * np.cos(2 * np.pi * 3.0**k * (yi + 0.5))) for yi in y) - len(y) * base


def katsuura(x):
    y, d, k = x / 20, len(x), 2.0 ** np.arange(1, 11)
    rough = [1 + i * sum(np.abs(k * yi - np.round(k * yi)) / k) for i, yi in enumerate(y, 1)]
    return 10 / d**2 * (np.prod(np.power(rough, 10 / d**1.2)) - 1)


def lunacek(x, side):
    d, mu_0 = len(x), 2.5
    y = mu_0 - 2 * side * x
    S = 1 - 1 / (2 * np.sqrt(d + 20) - 8.2)
    mu_1 = -np.sqrt((mu_0**2 - 1) / S)
    bowls = min(sum((y - mu_0) ** 2), d + S * sum((y - mu_1) ** 2))
    return bowls + 10 * (d - sum(np.cos(2 * np.pi * (y - mu_0))))


def gallagher(x, centres, C):
    heights = [10.0, *(1.1 + 8 * i / 99 for i in range(100))]
    peaks = zip(heights, centres, C, strict=True)
    return (10 - max(w * np.exp(-((x - y) @ np.diag(c) @ (x - y)) / (2 * len(x))) for w, y, c in peaks)) ** 2


def styblinski_tang(x, side):
    y = -2.903534027771177 + side * x
    return 0.5 * sum(y**4 - 16 * y**2 + 5 * y) + 39.16616570377141 * len(x)


def happy_cat(x):
    y, d = 0.4 * x - 1, len(x)
    return abs(sum(y**2) - d) ** 0.25 + (0.5 * sum(y**2) + sum(y)) / d + 0.5


MOVABLE = (
    griewank,
    salomon,
    drop_wave,
    schaffer_f7,
    zakharov,
    powell_singular,
    trid,
    bohachevsky,
    weierstrass,
    katsuura,
)
MOVABLE += (lunacek, gallagher, styblinski_tang, happy_cat)

PUBLISHED_MINIMA = {  # family, dimension: value, to the digits that are published
    ("schwefel", 10): (-4189.829, 1e-3),
    ("michalewicz", 2): (-1.8013, 5e-5),
    ("michalewicz", 5): (-4.687658, 5e-7),
    ("michalewicz", 10): (-9.66015, 5e-6),
    ("goldstein_price", 2): (np.log(3), 1e-12),
    ("six_hump_camel", 2): (-1.0316285, 5e-8),
    ("branin", 2): (0.397887, 5e-7),
    ("eggholder", 2): (-959.6407, 5e-5),
    ("holder_table", 2): (-19.2085, 5e-5),
    ("shekel", 4): (-10.5364, 5e-5),
    ("hartmann_6", 6): (-3.32237, 5e-6),
}


def draw(name: str, dimension: int, **options):
    return jax.jit(make_family(name, dimension, **options).sample)(KEY)


def test_every_held_out_family_has_a_formula_or_a_published_minimum_here() -> None:
    assert {slow.__name__ for slow in MOVABLE} | {name for name, _ in PUBLISHED_MINIMA} == set(HELD_OUT)


@pytest.mark.parametrize("slow", MOVABLE, ids=lambda slow: slow.__name__)
def test_landscape_equals_its_published_formula(slow) -> None:
    landscape = draw(slow.__name__, 8).landscape
    drawn = {name: np.asarray(value) for name, value in vars(landscape).items()}
    for x in np.random.default_rng(0).uniform(-8, 8, (5, 8)):
        np.testing.assert_allclose(landscape(jnp.asarray(x)), slow(x, **drawn), rtol=1e-9)
    assert landscape(jnp.zeros(8)) == 0.0


@pytest.mark.parametrize(("name", "dimension"), PUBLISHED_MINIMA)
def test_minimum_is_the_published_one_and_every_minimiser_takes_it(name: str, dimension: int) -> None:
    task = draw(name, dimension)
    value, digits = PUBLISHED_MINIMA[name, dimension]
    np.testing.assert_allclose(task.minimum, value, rtol=0, atol=digits)
    np.testing.assert_allclose(jax.vmap(task)(task.minimisers), task.minimum, rtol=1e-12)
    assert np.abs(task.minimisers).max() <= 5 + 1e-12


@pytest.mark.parametrize("name", HELD_OUT)
def test_local_searches_from_random_starts_find_nothing_lower(name: str) -> None:
    dimension = FIXED.get(name, 4)
    task = draw(name, dimension)
    read = jax.jit(jax.value_and_grad(task))
    bounds = [(-5.0, 5.0)] * dimension

    def fun(q):
        value, gradient = read(jnp.asarray(q))
        return float(value), np.asarray(gradient)

    starts = np.random.default_rng(1).uniform(-5, 5, (11, dimension))
    nearby = np.clip(np.asarray(task.minimiser) + 0.01, -5, 5)
    ends = [minimize(fun, q, jac=True, bounds=bounds, options={"maxfun": 100}).fun for q in (*starts, nearby)]
    slack = 1e-12 * max(1.0, abs(float(task.minimum)))
    assert min(ends) >= task.minimum - slack
    assert min(ends) < fun(nearby)[0]


@pytest.mark.parametrize("name", ["branin", "schwefel", "hartmann_6"])
def test_published_functions_are_mirrored_and_reordered_and_fill_their_box(name: str) -> None:
    d = FIXED.get(name, 3)
    family = make_family(name, d)
    assert isinstance(family, PublishedFamily)
    tasks = jax.jit(jax.vmap(family.sample))(jax.random.split(KEY, 40))
    R = np.asarray(tasks.R)
    np.testing.assert_array_equal(np.abs(R).sum(axis=1), np.ones((40, d)))
    np.testing.assert_array_equal(R @ R.transpose(0, 2, 1), np.broadcast_to(np.eye(d), (40, d, d)))
    assert len(np.unique(R.reshape(40, -1), axis=0)) > 7  # of the 8 of two coordinates, or of more
    task = jax.tree.map(lambda leaf: leaf[0], tasks)
    lower, upper = (np.broadcast_to(side, d) for side in family.problem.box)
    ends = [np.full(d, side) - np.asarray(task.s) for side in (-5.0, 5.0)]
    corners = [task.landscape.y_star + task.landscape.scale * (R[0] @ end) for end in ends]
    np.testing.assert_allclose(np.sort(corners, axis=0), np.stack([lower, upper]), atol=1e-9)


def test_side_wells_lie_inside_the_box_more_often_than_not() -> None:
    tasks = jax.jit(jax.vmap(make_family("styblinski_tang", 1).sample))(jax.random.split(KEY, 200))
    second = np.asarray(tasks.s + 5.650336796 * tasks.landscape.side)
    assert np.mean(np.abs(second) <= 5) > 0.5


@pytest.mark.parametrize(
    ("name", "dimension", "rotated", "message"),
    [
        ("branin", 3, None, "`dimension` must be 2 for branin; got 3"),
        ("powell_singular", 6, None, "`dimension` must be a multiple of 4; got 6"),
        ("trid", 1, None, "`dimension` must be an integer of at least 2; got 1"),
        ("weierstrass", 4, True, "`rotated` is not an option of the family 'weierstrass'; got True"),
        ("eggholder", 2, True, "`rotated` is not an option of the family 'eggholder'; got True"),
    ],
)
def test_wrong_settings_are_refused_by_name_and_value(name, dimension, rotated, message) -> None:
    with pytest.raises(ValueError, match=message):
        make_family(name, dimension, rotated=rotated)
