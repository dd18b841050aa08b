"""Train a policy for a family of your own, and see on tasks that it never saw whether that was worth it.

The family is a fit: the frequency and phase of a tone, from 24 samples. The misfit has many valleys along the
frequency, and only one of them is right. Tones of this instrument lie in a band: a policy that was trained on them
has learned where to look. The same from a shell, in this folder:

    shapeopt train tone --family train_own_family:Tone --readings 40
"""

import tempfile
from dataclasses import replace
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray
from scipy import stats

from shapeopt.core import Box
from shapeopt.oracles import ExactOracle
from shapeopt.paper.optimizer import ShapeOptimizer
from shapeopt.paper.policy import PaperPolicy
from shapeopt.paper.training import PRESETS, TrainConfig, train, untrained
from shapeopt.rollout import rollout
from shapeopt.tasks import AbstractFamily, AbstractTask, cube

TIMES = tuple(0.25 * n for n in range(24))


class ToneTask(AbstractTask):
    """The misfit of sin((3 + q_0) t + q_1) to a tone without noise."""

    minimiser: Float[Array, " 2"]
    minimum: Float[Array, ""]

    def __call__(self, q: Float[Array, " 2"]) -> Float[Array, ""]:
        return jnp.mean((_tone(q) - _tone(self.minimiser)) ** 2)

    @property
    def box(self) -> Box:
        return cube(2, 2.5, self.minimiser.dtype)

    def start(self, key: PRNGKeyArray) -> Float[Array, " 2"]:
        return jax.random.uniform(key, (2,), self.minimiser.dtype, -2.5, 2.5)

    def distance(self, q: Float[Array, " 2"]) -> Float[Array, ""]:
        return jnp.linalg.norm(q - self.minimiser)


def _tone(q: Float[Array, " 2"]) -> Float[Array, " t"]:
    return jnp.sin((3.0 + q[0]) * jnp.array(TIMES, q.dtype) + q[1])


class Tone(AbstractFamily):
    """Tones whose frequency is uniform in [3.8, 4.6] and whose phase is uniform in [-1, 1]."""

    name: str = eqx.field(static=True, default="tone")
    dimension: int = eqx.field(static=True, default=2)
    minimum_source: str = eqx.field(static=True, default="exact: the data have no noise")

    def sample(self, key: PRNGKeyArray) -> ToneTask:
        truth = jax.random.uniform(key, (2,), minval=jnp.array([0.8, -1.0]), maxval=jnp.array([1.6, 1.0]))
        return ToneTask(truth, jnp.zeros((), truth.dtype))


# All that is to be set: some two minutes on one core.
SETTINGS = replace(PRESETS["small-2"], batch=32, readings=40, validation_readings=40, epochs=120, validation_tasks=256)


def misfits(policy: PaperPolicy, tasks: int, readings: int) -> np.ndarray:
    """The best misfit on each of `tasks` held-out tasks; another key than the training's, the same for every policy."""

    def solve(key: PRNGKeyArray) -> Float[Array, ""]:
        task_key, start_key, run_key = jax.random.split(key, 3)
        task = Tone().sample(task_key)
        optimizer = ShapeOptimizer(policy, record_energy=False)
        return rollout(optimizer, ExactOracle(task), task.start(start_key), task.box, readings, run_key).best.value

    return np.asarray(jax.jit(jax.vmap(solve))(jax.random.split(jax.random.key(2**31), tasks)))


def main(settings: TrainConfig = SETTINGS, tasks: int = 1024) -> None:
    with tempfile.TemporaryDirectory() as folder, jax.enable_x64(False):
        trained = train(settings, Path(folder), family=Tone())
        card = trained.card
        print(f"{card['updates']} updates in {card['seconds']:.0f} s, {card['calls']:.2g} calls")
        before = misfits(untrained(settings), tasks, settings.readings)
        after = misfits(trained.policy, tasks, settings.readings)
    print(f"mean misfit on {tasks} held-out tasks: {before.mean():.4f} untrained, {after.mean():.4f} trained")
    low, high = stats.bootstrap((after - before,), np.mean, method="basic", rng=0).confidence_interval
    print(f"paired difference {np.mean(after - before):+.4f}, 95 % interval [{low:+.4f}, {high:+.4f}]")
    print(f"better on {np.mean(after < before):.0%}, worse on {np.mean(after > before):.0%} of the tasks")


if __name__ == "__main__":
    main()
