"""Basin hopping in a model of pairs: no readings are spent.

A hop shakes all bodies, puts the most weakly bound ones elsewhere on the surface, or
starts from a new random ball; it descends in the model by a secant method and is accepted as Metropolis would, at a
temperature at which about every other hop is. What is proposed is the lowest bottom found that is not the base's own.

Departs from the paper: not in it; a proposal is the anchor of one escape (design, the escape limit).
"""

import math
from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, UInt32

from .draws import HOPS_FROM, as_normal, hashed_uniform
from .pair_model import PairModel, Places, distances
from .secant import CURVATURE_FLOOR, SecantPairs

IDLE = 60  # hops, for each body, that lead nowhere before the model is left alone
HOPS = 24  # before a proposal; the last one goes on down from the lowest bottom
STEPS = 60  # of each descent
STILL = 1e-5  # step of a body, in the least distance, at which a descent is at its bottom
SHORTER = 0.2  # of a step that led up, for the next one
PAIRS = 8  # secant pairs of a descent
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

Scalar = Float[Array, ""]


class Bottom(eqx.Module):
    """A place in the model, the energies of its bodies, each pair shared by two, and their sum."""

    x: Places
    energies: Float[Array, " bodies"]
    energy: Scalar

    @staticmethod
    def unknown(x: Places) -> "Bottom":
        return Bottom(x, jnp.zeros(len(x), x.dtype), jnp.asarray(jnp.inf, x.dtype))


class Chain(eqx.Module):
    """Where the chain stands, its temperature, the energy of the base, and the lowest bottom of this round that is not
    the base's."""

    here: Bottom
    heat: Scalar
    known: Scalar
    lowest: Bottom


class Field(eqx.Module):
    """A model of pairs in a box, the distance of neighbours in it, and a wall that keeps them from falling together."""

    model: PairModel
    lower: Places
    upper: Places
    bond: Scalar
    core: Scalar
    wall: Scalar  # slope of phi below the core

    @staticmethod
    def around(model: PairModel, x: Places, lower: Places, upper: Places) -> "Field":
        bond = jnp.maximum(jnp.min(distances(x)), LEAST_BOND * model.length)
        core = CORE * bond
        slopes = model.slope_and_energy(jnp.linspace(1.0, FARTHEST, WALL_POINTS, dtype=x.dtype) * core)[0]
        return Field(model, lower, upper, bond, core, jnp.minimum(slopes[0], -WALL * jnp.max(jnp.abs(slopes[1:]))))

    def __call__(self, x: Places) -> tuple[Float[Array, " bodies"], Places]:
        """Energy of every body, each pair shared by two, and the gradient."""
        r = distances(x)
        slope, energy = self.model.slope_and_energy(jnp.maximum(r, self.core))
        inside = r < self.core
        slope = jnp.where(inside, self.wall, slope)
        energy = energy + jnp.where(inside, self.wall * (r - self.core), 0.0)
        pull = slope / jnp.maximum(r, jnp.finfo(r.dtype).tiny)
        return 0.5 * jnp.sum(energy, axis=1), x * jnp.sum(pull, axis=1)[:, None] - pull @ x

    def centred(self, x: Places) -> Places:
        """x in the middle of the box, as far as it fits."""
        middle = 0.5 * (jnp.max(x, axis=0) + jnp.min(x, axis=0))
        return jnp.clip(x + 0.5 * (self.lower + self.upper) - middle, self.lower, self.upper)


class Descent(eqx.Module):
    """A descent under way, and the energy at which it began."""

    here: Bottom
    g: Places
    pairs: SecantPairs
    gamma: Scalar
    t: Scalar
    top: Scalar
    length: Scalar  # of the last step, by the body that it moved most
    steps: Int[Array, ""]


def descended(field: Field, x: Places) -> Descent:
    """A secant descent in the model from x, in the middle of the box; its first step only reads the start."""
    one, x = jnp.ones((), x.dtype), field.centred(x)
    pairs = SecantPairs.empty(PAIRS, x.size, x.dtype)
    start = Descent(Bottom.unknown(x), jnp.zeros_like(x), pairs, one, one, one, field.bond, jnp.zeros((), jnp.int32))
    goes_on = lambda now: (now.steps < STEPS) & (now.t > STILL) & (now.length > STILL * field.bond)  # noqa: E731
    return jax.lax.while_loop(goes_on, lambda now: _stepped(field, now), start)


def _stepped(field: Field, now: Descent) -> Descent:
    opens, place = jnp.isinf(now.here.energy), now.here.x
    move = -now.pairs.solve(now.g.ravel(), now.gamma).reshape(place.shape)
    length = jnp.sqrt(jnp.max(jnp.sum(move**2, axis=-1)))
    move = now.t * jnp.minimum(1.0, LONGEST * field.bond / jnp.where(length > 0, length, 1.0)) * move
    x = jnp.clip(place + move, field.lower, field.upper)
    energies, g = field(x)
    energy = jnp.sum(energies)
    accepted = energy <= now.here.energy
    s, y = (x - place).ravel(), (g - now.g).ravel()
    sy, yy = jnp.dot(s, y), jnp.dot(y, y)
    curved = accepted & (sy > CURVATURE_FLOOR * jnp.sqrt(jnp.dot(s, s) * yy))
    first = field.bond / jnp.maximum(jnp.max(jnp.abs(g)), jnp.finfo(x.dtype).tiny)
    return Descent(
        here=_chosen(accepted, Bottom(x, energies, energy), now.here),
        g=jnp.where(accepted, g, now.g),
        pairs=now.pairs.add(s, y, curved),
        gamma=jnp.where(opens, first, jnp.where(curved, sy / jnp.where(curved, yy, 1.0), now.gamma)),
        t=jnp.where(accepted, 1.0, SHORTER * now.t),
        top=jnp.where(opens, energy, now.top),
        length=jnp.where(opens, now.length, length),
        steps=now.steps + 1,
    )


class Hopper(eqx.Module):
    """The chain, how many hops it has made, and how many since one led lower than the base."""

    chain: Chain
    hops: Int[Array, ""]
    idle: Int[Array, ""]

    @staticmethod
    def blank(x: Places) -> "Hopper":
        nowhere, zero, none = Bottom.unknown(x), jnp.zeros((), x.dtype), jnp.zeros((), jnp.int32)
        return Hopper(Chain(nowhere, zero, zero, nowhere), none, none)

    @property
    def spent(self) -> Bool[Array, ""]:
        """Whether hops have long led nowhere."""
        return self.idle > IDLE * len(self.chain.here.x)

    def hopped(self, field: Field, base: Places, key: UInt32[Array, " 2"]) -> tuple["Hopper", Bottom]:
        """After HOPS more, and the lowest bottom of them: the first goes down from the base, the last from it."""

        def hop(i: Int[Array, ""], chain: Chain) -> Chain:
            uniform = hashed_uniform(key, HOPS_FROM + self.hops + i, base.size + len(base) + 4).astype(base.dtype)
            x = jnp.where(i == 0, base, _moved(field, chain.here, uniform[1:]))
            ends = (i == HOPS - 1) & jnp.isfinite(chain.lowest.energy)
            return _hopped(chain, descended(field, jnp.where(ends, chain.lowest.x, x)), uniform[0], i == 0, ends)

        began = replace(self.chain, lowest=Bottom.unknown(base))
        chain = jax.lax.fori_loop(jnp.int32(0), jnp.int32(HOPS), hop, began)
        idle = jnp.where(chain.lowest.energy < chain.known, 0, self.idle + HOPS)
        return Hopper(chain, self.hops + HOPS, idle), chain.lowest


def _hopped(chain: Chain, found: Descent, luck: Scalar, begins: Bool[Array, ""], ends: Bool[Array, ""]) -> Chain:
    """The chain after a descent that began a round at the base, ended one, or was a hop."""
    here, there = chain.here, found.here
    opens = jnp.isinf(here.energy)
    accepted = opens | (~(begins | ends) & (there.energy - here.energy < -chain.heat * jnp.log(luck)))
    changed = chain.heat * jnp.where(accepted, 1.0 / COOLING, COOLING)
    first = FIRST_HEAT * jnp.abs(there.energy) / len(there.x)
    known = jnp.where(begins, found.top, chain.known)
    apart = jnp.abs(there.energy - known) > SAME_ENERGY * jnp.abs(known)
    return Chain(
        here=_chosen(accepted, there, here),
        heat=jnp.where(opens, first, jnp.where(begins | ends, chain.heat, changed)),
        known=known,
        lowest=_chosen(apart & (there.energy < chain.lowest.energy), there, chain.lowest),
    )


def _chosen(pick: Bool[Array, ""], new: Bottom, old: Bottom) -> Bottom:
    return jax.tree.map(lambda a, b: jnp.where(pick, a, b), new, old)


def _moved(field: Field, here: Bottom, uniform: Float[Array, " n"]) -> Places:
    """A place after one of the moves."""
    x, energies = here.x, here.energies
    kind, size, share = uniform[0], uniform[1], uniform[2]
    normal = as_normal(uniform[3 : 3 + x.size]).reshape(x.shape)
    rest = uniform[3 + x.size :]
    shaken = x + LEAST_SHAKE * (MOST_SHAKE / LEAST_SHAKE) ** size * field.bond * normal

    middle = jnp.mean(x, axis=0)
    ray = normal / jnp.linalg.norm(normal, axis=-1, keepdims=True)
    radius = jnp.sqrt(jnp.max(jnp.sum((x - middle) ** 2, axis=-1)))
    loose = energies + jnp.std(energies) * size * as_normal(rest)
    count = jnp.floor(1.0 + MOST_MOVED * len(x) * share**2).astype(jnp.int32)
    weak = jnp.sum(loose[None, :] > loose[:, None], axis=1, dtype=jnp.int32) < count
    relocated = jnp.where(weak[:, None], middle + radius * ray, x)

    axes = x.shape[1]
    ball = field.bond * (len(x) * math.gamma(axes / 2 + 1) / (math.pi ** (axes / 2) * 2**0.5)) ** (1.0 / axes)
    anew = middle + ball * rest[:, None] ** (1.0 / axes) * ray
    return jnp.where(kind < SHAKES, shaken, jnp.where(kind < MOVES, relocated, anew))
