"""A tactic of your own in one file: after a basin, read one step along a coordinate from the best one, and descend."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp

import shapeopt
from shapeopt.core import Box, Cause, Mode
from shapeopt.dynamics import Move
from shapeopt.engines.device import DeviceShape
from shapeopt.optimizer import TACTICS
from shapeopt.oracles import ExactOracle
from shapeopt.rollout import rollout
from shapeopt.tactics.base import AbstractTactic, bid, ends, goes_on


@dataclass(frozen=True)
class Compass(AbstractTactic):
    step: float = 2.0  # a setting: distance from the base, where the box is 10 wide
    name, mode = "compass", Mode.ESCAPE

    def blank(self, ops, spec):  # its memory is one number: how often it has polled
        return ops.whole(0)

    def offer(self, ops, polls, board):  # while directions are left; 5: more than a hop bids, less than `sample`
        return bid(ops, board.scored & (polls < 2 * board.base.size), 5.0, cost=1.0)

    def open(self, ops, polls, board, plant, draws):
        return polls + 1

    def observe(self, ops, polls, board, plant):
        return polls, ends(ops, ops.flag(True), Cause.DONE)

    def propose(self, ops, polls, board, plant, step):
        axis = ops.xp.arange(plant.q.size, dtype=ops.xp.int32) == (polls - 1) // 2
        way = ops.pick(polls % 2 == 1, self.step, -self.step)
        return polls, step(Move(ops.where(axis, board.base + way, board.base))), goes_on(ops)


POLICY, X0, BOX = shapeopt.Policy((Compass(), *TACTICS)), [3.3, -2.7, 1.9], Box.around([-5.0] * 3, [5.0] * 3)


def ripples(x):
    return jnp.sum(x**2 / 20 - jnp.cos(3 * x)) + jnp.sin(x[0] * x[1])


def main():
    for event in shapeopt.minimize(ripples, X0, bounds=(-5, 5), budget=150, policy=POLICY).events:
        print(event.call, event.tactic, event.cause, f"{event.value:.4f}")


def on_device():  # of each reading: `tactic`, its place in (start, *POLICY.tactics), with phase, cause and ledger
    return rollout(DeviceShape(POLICY), ExactOracle(ripples), jnp.array(X0), BOX, 150, jax.random.key(0)).steps.info


if __name__ == "__main__":
    main()
    print("device engine:", sum(on_device().tactic == 1), "readings of compass")
