"""For `test_parallel`, which runs this as a process of its own, since JAX counts its devices once.

`devices.py OUT` writes what a joint update and a validation come to, on as many devices as XLA_FLAGS ask for.
"""

import sys
from pathlib import Path

import jax
import numpy as np
import safetensors.numpy

from shapeopt.paper.training.config import Precision, TrainConfig
from shapeopt.paper.training.parallel import task_mesh
from shapeopt.paper.training.phases import make_phases, split_policy

CONFIG = TrainConfig(dimension=2, hidden=8, batch=4, readings=8, joint_rate=1e-2, precision=Precision.DOUBLE)


def updated() -> dict[str, np.ndarray]:
    """Parameters after one update, with its loss, gradient's norm and calls, and the score of a validation."""
    with jax.enable_x64(True):
        params, static = split_policy(CONFIG.make_policy(jax.random.key(0)))
        phases = make_phases(CONFIG.plan(0, mesh=task_mesh()), static)
        learner, outcome = phases.train_jointly(phases.init(params, jax.random.key(1)), jax.random.key(2))
        score = phases.evaluate(learner.params, jax.random.key(3), 4, 8)
    found = {str(n): np.asarray(leaf) for n, leaf in enumerate(jax.tree.leaves(learner.params))}
    sizes = {name: np.asarray(getattr(outcome, name)) for name in ("loss", "gradient_norm", "calls")}
    return found | sizes | {"score": np.asarray(score)}


if __name__ == "__main__":
    assert jax.device_count() == 2
    Path(sys.argv[1]).write_bytes(safetensors.numpy.save(updated()))
