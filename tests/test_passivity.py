"""A port that feeds in energy is held to its allowance, on the run that a user's own tactic makes."""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
import pytest

import shapeopt
from shapeopt.core import Mode
from shapeopt.dynamics import Channels, Move
from shapeopt.tactics.base import AbstractTactic, bid, goes_on


class Steps(NamedTuple):
    count: int


@dataclass(frozen=True)
class Pusher(AbstractTactic):
    """Pushes the plant along its velocity."""

    push: float = 40.0
    name: ClassVar[str] = "pusher"
    mode: ClassVar[Mode] = Mode.SETTLE

    def blank(self, ops, spec):
        return Steps(ops.whole(0))

    def offer(self, ops, memory, board):
        return bid(ops, ops.flag(True), 20.0)

    def open(self, ops, memory, board, plant, draws):
        return memory

    def observe(self, ops, memory, board, plant):
        return Steps(memory.count + 1), goes_on(ops)

    def propose(self, ops, memory, board, plant, step):
        none = np.zeros((plant.q.shape[0], 1))
        channels = Channels(none, none, none, self.push * np.sign(plant.p))
        return memory, step(Move(solve=lambda v: v, zeta=0.1, channels=channels)), goes_on(ops)


def bowl(x):
    return float(x @ x), 2.0 * x


def pushed(allowance):
    policy = shapeopt.Policy((Pusher(), *shapeopt.Policy().tactics))
    return shapeopt.minimize(
        bowl, np.full(3, 2.0), bounds=(-5, 5), jac=True, budget=80, policy=policy, port_allowance=allowance
    )


@pytest.mark.parametrize("allowance", [0.0, 0.5, 2.0])
def test_the_port_never_feeds_in_more_than_its_allowance(allowance):
    made = pushed(allowance).passivity
    assert np.all(made.injected <= allowance * made.dissipated + 1e-9) and len(made.cut) > 0


def test_without_a_bound_the_same_port_feeds_in_more():
    made = pushed(float("inf")).passivity
    assert len(made.cut) == 0 and np.any(made.injected > 2.0 * made.dissipated)
    assert pushed(None).passivity is None
