"""Basin hopping in a fitted model of pairs: no readings are spent.

A hop shakes all bodies, puts the most weakly bound ones elsewhere on the surface, or starts from a new random ball;
it descends in the model by a secant method and is accepted as Metropolis would, at a temperature at which about every
other hop is. What is proposed is the lowest bottom found that is not the base's own.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from ..dynamics.inverse import Limited
from ..ops.random import to_normal, uniform
from .pair_fit import AXES, by_body, distances, pair_distances, pair_function, slope_and_energy, spacing

HOPS = 24  # before a proposal; the last one goes on down from the lowest bottom
IDLE = 60  # hops, for each body, that lead nowhere before the model is left alone
STEPS = 60  # of each descent
STILL = 1e-5  # step of a body, in the least distance, at which a descent is at its bottom
SHORTER = 0.2  # of a step that led up, for the next one
PAIRS = 8  # secant pairs of a descent
CURVATURE_FLOOR = 1e-10
CORE = 0.8  # distance, in the least one of the base, below which phi is not asked for: a wall stands there
WALL, FARTHEST, WALL_POINTS = 1.0, 3.0, 24  # its slope, in the steepest of phi at so many distances up to so many cores
LEAST_BOND = 0.2  # that least distance is taken for no less, in the spacing of bodies that fill the box
LONGEST = 0.3  # step of a body in a descent, in that least distance
SHAKES, MOVES = 0.3, 0.97  # hops that shake all bodies; that do so or move weak ones; others start anew
LEAST_SHAKE, MOST_SHAKE = 0.1, 0.45  # standard deviation of a shake, by coordinate, in the least distance
MOST_MOVED = 0.1  # share of bodies that are put elsewhere
COOLING = 1.15  # change of the temperature after each hop
FIRST_HEAT = 0.1  # temperature at first, in energies of a body
SAME_ENERGY = 1e-5  # difference of two bottoms, as a share of their energy, that makes them one
FROM = 3 * 2**29  # counters of hops begin here, above those of stages and samples
INF = float("inf")


class Bottom(NamedTuple):
    """A place in the model, the energies of its bodies, each pair shared by two, and their sum."""

    x: Any
    energies: Any
    energy: Any


class Chain(NamedTuple):
    """Where the chain stands, its temperature, the energy of the base, the lowest bottom of this round that is not the
    base's, how many hops were made, and how many since one led lower than the base."""

    here: Bottom
    heat: Any
    known: Any
    lowest: Bottom
    hops: Any
    idle: Any

    @staticmethod
    def blank(ops: Any, d: int, dtype: Any) -> "Chain":
        zero = ops.real(0.0, dtype)
        nowhere = lambda: unknown(ops, ops.xp.zeros((d // AXES, AXES), dtype))  # noqa: E731
        return Chain(nowhere(), zero, zero, nowhere(), ops.whole(0), ops.whole(0))

    @property
    def spent(self) -> Any:
        """Whether hops have long led nowhere."""
        return self.idle > IDLE * self.here.x.shape[0]


def unknown(ops: Any, x: Any) -> Bottom:
    return Bottom(x, ops.xp.zeros(x.shape[0], x.dtype), ops.real(INF, x.dtype))


class Field(NamedTuple):
    """A model of pairs in a box, the distance of neighbours in it, and a wall that keeps them from falling together."""

    function: Any  # phi' and phi of the model (`pair_function`)
    lower: Any
    upper: Any
    bond: Any
    core: Any
    wall: Any  # slope of phi below the core


def field_around(ops: Any, weights: Any, x: Any, lower: Any, upper: Any) -> Field:
    length = spacing(x.shape[0])
    bond = ops.max(distances(ops, x).min(), LEAST_BOND * length)
    core = CORE * bond
    function = pair_function(ops, weights, length)
    slopes = slope_and_energy(ops, function, np.linspace(1.0, FARTHEST, WALL_POINTS, dtype=x.dtype) * core, length)[0]
    return Field(function, lower, upper, bond, core, ops.min(slopes[0], -WALL * abs(slopes[1:]).max()))


def energies_and_gradient(ops: Any, field: Field, x: Any) -> tuple[Any, Any]:
    """Energy of every body, each pair shared by two, and the gradient."""
    xp, r = ops.xp, pair_distances(ops, x)
    slope, energy = slope_and_energy(ops, field.function, xp.maximum(r, field.core), spacing(x.shape[0]))
    slope = ops.where(r < field.core, field.wall, slope)
    energy = energy + field.wall * xp.minimum(r - field.core, 0.0)
    pull, energy = by_body(ops, xp.stack([slope / xp.maximum(r, 1e-30), energy]), x.shape[0])
    return 0.5 * energy.sum(axis=1), x * pull.sum(axis=1)[:, None] - pull @ x


class Descent(NamedTuple):
    """A descent under way, and the energy at which it began."""

    here: Bottom
    g: Any
    inverse: Limited
    gamma: Any
    t: Any
    top: Any
    length: Any  # of the last step, by the body that it moved most
    steps: Any


def descended(ops: Any, field: Field, x: Any) -> Descent:
    """A secant descent in the model from x, put in the middle of the box; its first step only reads the start."""
    xp, one = ops.xp, ops.real(1.0, x.dtype)
    middle = 0.5 * (x.max(axis=0) + x.min(axis=0))
    x = xp.minimum(xp.maximum(x + 0.5 * (field.lower + field.upper) - middle, field.lower), field.upper)
    inverse = Limited.blank(ops, PAIRS, x.size, x.dtype)
    start = Descent(unknown(ops, x), xp.zeros_like(x), inverse, one, one, one, field.bond, ops.whole(0))
    goes_on = lambda now: (now.steps < STEPS) & (now.t > STILL) & (now.length > STILL * field.bond)  # noqa: E731
    return ops.loop(goes_on, lambda now: _stepped(ops, field, now), start)


def _stepped(ops: Any, field: Field, now: Descent) -> Descent:
    xp, place = ops.xp, now.here.x
    opens = now.here.energy == INF
    move = -now.inverse.solve(ops, now.g.reshape(-1), now.gamma).reshape(place.shape)
    length = ops.sqrt((move * move).sum(axis=-1).max())
    longest = LONGEST * field.bond
    share = ops.pick(length > longest, longest / ops.pick(length > 0, length, 1.0), 1.0)
    x = xp.minimum(xp.maximum(place + now.t * share * move, field.lower), field.upper)
    energies, g = energies_and_gradient(ops, field, x)
    energy = energies.sum()
    accepted = energy <= now.here.energy
    s, y = (x - place).reshape(-1), (g - now.g).reshape(-1)
    sy, yy = s.dot(y), y.dot(y)
    curved = accepted & (sy > CURVATURE_FLOOR * ops.sqrt(s.dot(s) * yy))
    first = field.bond / ops.max(abs(g).max(), 1e-30)
    safe = ops.pick(curved, sy, 1.0)
    scale = safe / ops.pick(curved, yy, 1.0)
    return Descent(
        here=ops.pick(accepted, Bottom(x, energies, energy), now.here),
        g=ops.pick(accepted, g, now.g),
        inverse=ops.cond(curved, lambda: now.inverse.add(ops, s, y, safe), lambda: now.inverse),
        gamma=ops.pick(opens, first, ops.pick(curved, scale, now.gamma)),
        t=ops.pick(accepted, 1.0, SHORTER * now.t),
        top=ops.pick(opens, energy, now.top),
        length=ops.pick(opens, now.length, length),
        steps=now.steps + 1,
    )


def hopped(ops: Any, chain: Chain, field: Field, base: Any, key: Any) -> Chain:
    """The chain after HOPS more: the first goes down from the base, the last from the lowest bottom of them."""
    size, dtype = 2 * base.size + base.shape[0] * 2 + 4, base.dtype

    def hop(i: Any, chain: Chain) -> Chain:
        u = uniform(ops, key, FROM + chain.hops + i, size, dtype)
        ends = (i == HOPS - 1) & (chain.lowest.energy < INF)
        moved = _moved(ops, field, chain.here, u[1:])
        x = ops.pick(i == 0, base, ops.pick(ends, chain.lowest.x, moved))
        return _after(ops, chain, descended(ops, field, x), u[0], ops.flag(i == 0), ends)

    began = chain._replace(lowest=unknown(ops, base))
    chain = ops.repeat(HOPS, hop, began)
    lower = chain.lowest.energy < chain.known
    return chain._replace(hops=chain.hops + HOPS, idle=ops.pick(lower, ops.whole(0), chain.idle + HOPS))


def _after(ops: Any, chain: Chain, found: Descent, luck: Any, begins: Any, ends: Any) -> Chain:
    """The chain after a descent that began a round at the base, ended one, or was a hop."""
    here, there = chain.here, found.here
    opens = here.energy == INF
    hop = ops.no(begins) & ops.no(ends)
    accepted = opens | (hop & (there.energy - here.energy < -chain.heat * ops.xp.log(luck)))
    changed = chain.heat * ops.pick(accepted, 1.0 / COOLING, COOLING)
    first = FIRST_HEAT * abs(there.energy) / there.x.shape[0]
    known = ops.pick(begins, found.top, chain.known)
    apart = abs(there.energy - known) > SAME_ENERGY * abs(known)
    return chain._replace(
        here=ops.pick(accepted, there, here),
        heat=ops.pick(opens, first, ops.pick(hop, changed, chain.heat)),
        known=known,
        lowest=ops.pick(apart & (there.energy < chain.lowest.energy), there, chain.lowest),
    )


def _moved(ops: Any, field: Field, here: Bottom, u: Any) -> Any:
    """A place after one of the moves."""
    xp, x, bodies = ops.xp, here.x, here.x.shape[0]
    kind, size, share = u[0], u[1], u[2]
    z = to_normal(ops, u[3 : 3 + 2 * x.size]).reshape(x.shape)
    rest = u[3 + 2 * x.size :]
    shaken = x + LEAST_SHAKE * (MOST_SHAKE / LEAST_SHAKE) ** size * field.bond * z

    middle = x.mean(axis=0)
    ray = z / xp.sqrt((z * z).sum(axis=-1, keepdims=True))
    radius = ops.sqrt(((x - middle) ** 2).sum(axis=-1).max())
    loose = here.energies + here.energies.std() * size * to_normal(ops, rest[: 2 * bodies])
    count = ops.floor(1.0 + MOST_MOVED * bodies * share**2)
    weak = (loose[None, :] > loose[:, None]).sum(axis=1, dtype=x.dtype) < count
    relocated = ops.where(weak[:, None], middle + radius * ray, x)

    ball = field.bond * (bodies * math.gamma(AXES / 2 + 1) / (math.pi ** (AXES / 2) * 2**0.5)) ** (1.0 / AXES)
    anew = middle + ball * rest[:bodies, None] ** (1.0 / AXES) * ray
    return ops.pick(kind < SHAKES, shaken, ops.pick(kind < MOVES, relocated, anew))
