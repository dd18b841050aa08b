"""The PyTorch side of benchmarks/training.py does the library's arithmetic: same weights and draws, same loss."""

import sys
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from shapeopt.core import Mode
from shapeopt.paper.memory.summary import COUNT
from shapeopt.paper.training.config import Precision, TrainConfig
from shapeopt.paper.training.losses import PAPER_WEIGHTS, rollout_terms
from shapeopt.paper.training.phases import split_policy
from shapeopt.paper.training.teacher import PROBE_TEACHER, TRIES
from shapeopt.paper.draws import hashed_normal

torch = pytest.importorskip("torch")
BENCHMARKS = Path(__file__).parents[3] / "benchmarks"
BATCH, READINGS = 3, 14


@pytest.fixture
def torch_step(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import torch_step

    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    yield torch_step
    torch.set_default_dtype(before)
    for name in ("torch_step", "torch_memory"):
        sys.modules.pop(name, None)


def decisive(policy):
    """The policy with louder last layers and some gains, so that modes, memory and barriers come into play."""
    heard = lambda p: [p.planner.network.layers[-1].weight, p.controller.network.layers[-1].weight]  # noqa: E731
    policy = eqx.tree_at(heard, policy, [10.0 * weight for weight in heard(policy)])
    gains = lambda p: (p.planner.gains, p.controller.gains)  # noqa: E731
    policy = eqx.tree_at(gains, policy, jax.tree.map(lambda leaf: leaf + 0.1, gains(policy)))
    return eqx.tree_at(lambda p: p.planner.gains.logits, policy, policy.planner.gains.logits.at[Mode.ESCAPE].add(0.9))


def draws(key, d):
    """The teacher's normals at a reading, as the library draws them."""
    keys, shape = jax.random.split(key, BATCH), (TRIES + min(PROBE_TEACHER.orthogonal, d - 1), d)

    def draw(n):
        rows = [hashed_normal(k, jnp.asarray(n + 1), shape, jnp.float64) for k in keys]
        drawn = torch.tensor(np.array(rows))
        return drawn[:, :TRIES], drawn[:, TRIES:]

    return draw


@pytest.mark.parametrize("d", [2, 5])
def test_pytorchs_loss_and_gradient_are_the_librarys(torch_step, d):
    config = TrainConfig(
        family="rastrigin", dimension=d, batch=BATCH, readings=READINGS, hidden=8, precision=Precision.DOUBLE
    )
    policy = decisive(config.make_policy(jax.random.key(0)))
    params, static = split_policy(policy)
    unroll = config.plan(0).unroll()

    @jax.jit
    def of_library(params, key):
        def loss(params):
            policy = eqx.combine(params, static)
            runs = unroll.start(policy, key)
            end, record = unroll.advance(policy, runs)
            terms, _ = rollout_terms(record, runs.before, READINGS)
            return terms.weighted(PAPER_WEIGHTS), (runs, end.states.policy.memory.table[:, 0, COUNT])

        return jax.value_and_grad(loss, has_aux=True)(params)

    (value, (runs, writes)), gradient = of_library(params, jax.random.key(5))
    assert np.sum(writes) > 0  # memory was written, so that its reads are compared too
    landscape, given = runs.tasks.landscape, lambda leaf: torch.tensor(np.asarray(leaf))
    tasks = torch_step.Tasks(
        *map(given, (landscape.bowl, landscape.A, landscape.omega, runs.tasks.minimiser)),
    )
    theirs = torch_step.Policy(policy, torch.float64)
    loss = torch_step.rollout_loss(theirs, tasks, given(runs.states.q), READINGS, draws(runs.key, d))
    loss.backward()
    np.testing.assert_allclose(float(loss.detach()), float(value), rtol=1e-9)
    ours = np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves(gradient)])
    np.testing.assert_allclose(
        np.concatenate([p.grad.ravel() for p in theirs.parameters()]), ours, rtol=1e-6, atol=1e-9
    )
