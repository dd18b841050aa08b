"""One tiny problem, whose compiled functions all tests of this room share."""

import functools

import jax
import numpy as np
import pytest

from shapeopt.paper.policy import PaperPolicy
from shapeopt.paper.training.config import Precision, TrainConfig
from shapeopt.paper.training.phases import make_phases, split_policy
from shapeopt.tasks import StartLaw, make_family

READINGS, BATCH = 16, 4
TINY = TrainConfig(
    family="rastrigin",
    dimension=2,
    hidden=8,
    batch=BATCH,
    readings=READINGS,
    controller_pretrain=2,
    planner_pretrain=2,
    epochs=3,
    controller_updates=1,
    joint_updates=1,
    controller_rate=1e-2,
    planner_rate=1e-2,
    joint_rate=1e-2,
    validation_tasks=4,
    validation_readings=READINGS,
    validate_every=1,
    checkpoint_every=1,
    precision=Precision.SINGLE,
)


@pytest.fixture
def single():
    """Training's own precision."""
    with jax.enable_x64(False):
        yield


class Tiny:
    """The tiny run's parts, each made once; in training's own precision."""

    config, batch, readings = TINY, BATCH, READINGS
    family = make_family("rastrigin", 2, StartLaw.PAPER)

    @functools.cached_property
    def policy(self) -> PaperPolicy:
        with jax.enable_x64(False):
            return PaperPolicy.create(2, jax.random.key(0), hidden=8, dtype="float32")

    @property
    def params(self):
        return split_policy(self.policy)[0]

    @functools.cached_property
    def phases(self):
        with jax.enable_x64(False):
            return make_phases(TINY.plan(0), split_policy(self.policy)[1])

    @functools.cached_property
    def run(self):
        """(runs at the start, runs at the end, record) of a whole run; NumPy's arrays."""
        unroll, policy = TINY.plan(0).unroll(), self.policy

        def unrolled(key):
            runs = unroll.start(policy, key)
            return runs, *unroll.advance(policy, runs)

        with jax.enable_x64(False):
            start, end, record = jax.jit(unrolled)(jax.random.key(0))
            return jax.tree.map(np.asarray, (start.tasks, start.states, end.ledgers._replace(key=None), record))


@pytest.fixture(scope="session")
def tiny() -> Tiny:
    return Tiny()
