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

from ..dynamics import SecantPairs
from ..dynamics.secant import CURVATURE_FLOOR
from .draws import HOPS_FROM, as_normal, hashed_uniform
from .pair_model import PairModel, Places, distances

HOPS = 24  # before a proposal; the last one goes on down from the lowest bottom
STEPS = 60  # of each descent
PAIRS = 8  # secant pairs of a descent
CORE = 0.8  # distance of neighbours, in their mean one, below which phi is not asked for
LONGEST = 0.3  # step of a body in a descent, in that mean distance
SHAKES, MOVES = 0.5, 0.95  # hops that shake all bodies; that do so or move weak ones; others start anew
LEAST_SHAKE, MOST_SHAKE = 0.1, 0.45  # standard deviation of a shake, by coordinate, in the mean distance
MOST_MOVED = 0.2  # share of bodies that are put elsewhere
COOLING = 1.15  # change of the temperature after each hop
FIRST_HEAT = 0.1  # temperature at first, in energies of a body
SAME_ENERGY = 1e-5  # difference of two bottoms, as a share of their energy, that makes them one

Scalar = Float[Array, ""]


class Bottom(eqx.Module):
    """A place in the model and its energy."""

    x: Places
    energy: Scalar


class Chain(eqx.Module):
    """Where a chain stands, its temperature, and the lowest bottom of this round that is not the base's."""

    here: Bottom
    lowest: Bottom
    heat: Scalar


class Field(eqx.Module):
    """A model of pairs in a box, with what is the distance of neighbours in it."""

    model: PairModel
    lower: Places
    upper: Places
    bond: Scalar

    @staticmethod
    def around(model: PairModel, x: Places, lower: Places, upper: Places) -> "Field":
        return Field(model, lower, upper, jnp.mean(jnp.min(distances(x), axis=1)))

    def __call__(self, x: Places) -> tuple[Float[Array, " bodies"], Places]:
        """Energy of every body, each pair shared by two, and the gradient."""
        r = distances(x)
        slope, energy = self.model.slope_and_energy(r, CORE * self.bond)
        pull = slope / jnp.maximum(r, jnp.finfo(r.dtype).tiny)
        return 0.5 * jnp.sum(energy, axis=1), x * jnp.sum(pull, axis=1)[:, None] - pull @ x

    @property
    def repels(self) -> Bool[Array, ""]:
        """Whether bodies that are nearer than neighbours push each other away; else they would fall together."""
        return self.model.slope_and_energy(CORE * self.bond, CORE * self.bond)[0] < 0

    def centred(self, x: Places) -> Places:
        """x in the middle of the box, as far as it fits."""
        middle = 0.5 * (jnp.max(x, axis=0) + jnp.min(x, axis=0))
        return jnp.clip(x + 0.5 * (self.lower + self.upper) - middle, self.lower, self.upper)


class Descent(eqx.Module):
    """A descent under way."""

    x: Places
    energy: Scalar
    g: Places
    pairs: SecantPairs
    gamma: Scalar
    t: Scalar


def descended(field: Field, x: Places) -> Bottom:
    """Where a secant descent from x in the model ends."""
    x = field.centred(x)
    energies, g = field(x)
    one = jnp.ones((), x.dtype)
    gamma = field.bond / jnp.maximum(jnp.max(jnp.abs(g)), jnp.finfo(x.dtype).tiny)
    start = Descent(x, jnp.sum(energies), g, SecantPairs.empty(PAIRS, x.size, x.dtype), gamma, one)
    end = jax.lax.fori_loop(0, STEPS, lambda _, descent: _stepped(field, descent), start)
    return Bottom(end.x, end.energy)


def _stepped(field: Field, now: Descent) -> Descent:
    move = -now.pairs.solve(now.g.ravel(), now.gamma).reshape(now.x.shape)
    length = jnp.sqrt(jnp.max(jnp.sum(move**2, axis=-1)))
    move = now.t * jnp.minimum(1.0, LONGEST * field.bond / jnp.where(length > 0, length, 1.0)) * move
    x = jnp.clip(now.x + move, field.lower, field.upper)
    energies, g = field(x)
    energy = jnp.sum(energies)
    accepted = energy <= now.energy
    s, y = (x - now.x).ravel(), (g - now.g).ravel()
    sy, yy = jnp.dot(s, y), jnp.dot(y, y)
    curved = accepted & (sy > CURVATURE_FLOOR * jnp.sqrt(jnp.dot(s, s) * yy))
    keep = lambda new, old: jnp.where(accepted, new, old)  # noqa: E731
    return Descent(
        x=keep(x, now.x),
        energy=keep(energy, now.energy),
        g=keep(g, now.g),
        pairs=now.pairs.add(s, y, curved),
        gamma=jnp.where(curved, sy / jnp.where(curved, yy, 1.0), now.gamma),
        t=jnp.where(accepted, 1.0, 0.2 * now.t),
    )


class Hopper(eqx.Module):
    """The chain, and how many hops it has made."""

    chain: Chain
    hops: Int[Array, ""]

    @staticmethod
    def blank(x: Places) -> "Hopper":
        nowhere = Bottom(x, jnp.asarray(jnp.inf, x.dtype))
        return Hopper(Chain(nowhere, nowhere, jnp.zeros((), x.dtype)), jnp.zeros((), jnp.int32))

    def hopped(self, field: Field, base: Places, key: UInt32[Array, " 2"]) -> tuple["Hopper", Bottom]:
        """After HOPS more, and the lowest bottom of them; the first hop of a run starts at the base."""
        known = jnp.sum(field(base)[0])

        def hop(i: Int[Array, ""], chain: Chain) -> Chain:
            return _hopped(field, chain, key, HOPS_FROM + self.hops + i, known, i == HOPS - 1)

        chain = jax.lax.fori_loop(0, HOPS, hop, _opened(self.chain, Bottom(base, known)))
        return Hopper(chain, self.hops + HOPS), chain.lowest


def _opened(chain: Chain, base: Bottom) -> Chain:
    """The chain at the start of a round; before its first hop it stands at the base."""
    fresh = ~jnp.isfinite(chain.here.energy)
    here = jax.tree.map(lambda new, old: jnp.where(fresh, new, old), base, chain.here)
    heat = jnp.where(fresh, FIRST_HEAT * jnp.abs(base.energy) / len(base.x), chain.heat)
    return Chain(here, replace(chain.lowest, energy=jnp.full_like(heat, jnp.inf)), heat)


def _hopped(
    field: Field, chain: Chain, key: UInt32[Array, " 2"], number: Int[Array, ""], known: Scalar, last: Bool[Array, ""]
) -> Chain:
    x = chain.here.x
    uniform = hashed_uniform(key, number, x.size + len(x) + 5).astype(x.dtype)
    moved = _moved(field, x, uniform[2:])
    polished = last & jnp.isfinite(chain.lowest.energy)
    found = descended(field, jnp.where(polished, chain.lowest.x, moved))
    rise = found.energy - chain.here.energy
    accepted = (rise < -chain.heat * jnp.log(uniform[0])) & ~polished
    same = jnp.abs(found.energy - known) <= SAME_ENERGY * jnp.abs(known)
    lower = (found.energy < chain.lowest.energy) & ~same
    choose = lambda pick, new, old: jax.tree.map(lambda a, b: jnp.where(pick, a, b), new, old)  # noqa: E731
    heat = jnp.where(polished, chain.heat, chain.heat * jnp.where(accepted, 1.0 / COOLING, COOLING))
    return Chain(choose(accepted, found, chain.here), choose(lower, found, chain.lowest), heat)


def _moved(field: Field, x: Places, uniform: Float[Array, " n"]) -> Places:
    """x after one of the moves."""
    kind, size, share = uniform[0], uniform[1], uniform[2]
    normal = as_normal(uniform[3 : 3 + x.size]).reshape(x.shape)
    rest = uniform[3 + x.size :]
    shaken = x + LEAST_SHAKE * (MOST_SHAKE / LEAST_SHAKE) ** size * field.bond * normal

    middle = jnp.mean(x, axis=0)
    ray = normal / jnp.linalg.norm(normal, axis=-1, keepdims=True)
    radius = jnp.sqrt(jnp.max(jnp.sum((x - middle) ** 2, axis=-1)))
    energies = field(x)[0]
    loose = energies + jnp.std(energies) * size * as_normal(rest)
    count = jnp.floor(1.0 + MOST_MOVED * len(x) * share**2)
    weak = jnp.sum(loose[None, :] > loose[:, None], axis=1) < count
    relocated = jnp.where(weak[:, None], middle + radius * ray, x)

    axes = x.shape[1]
    ball = field.bond * (len(x) * math.gamma(axes / 2 + 1) / (math.pi ** (axes / 2) * 2**0.5)) ** (1.0 / axes)
    anew = middle + ball * rest[:, None] ** (1.0 / axes) * ray
    return jnp.where(kind < SHAKES, shaken, jnp.where(kind < MOVES, relocated, anew))
