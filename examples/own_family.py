"""A family of your own in one small class: fit an exponential decay, with a rate and a level that differ per task."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

import shapeopt
from shapeopt.core import Box
from shapeopt.engines.device import DeviceShape
from shapeopt.oracles import ExactOracle
from shapeopt.rollout import rollout
from shapeopt.tasks import AbstractFamily, AbstractTask, cube

TIMES = tuple(0.25 * i for i in range(20))


class DecayTask(AbstractTask):
    """The misfit of level * exp(-rate * t), with q = (log level, log rate), to data without noise."""

    minimiser: Float[Array, " 2"]
    minimum: Float[Array, ""]

    def __call__(self, q: Float[Array, " 2"]) -> Float[Array, ""]:
        return jnp.mean((_decay(q) - _decay(self.minimiser)) ** 2)

    @property
    def box(self) -> Box:
        return cube(2, 3.0, self.minimiser.dtype)

    def start(self, key: PRNGKeyArray) -> Float[Array, " 2"]:
        return jax.random.uniform(key, (2,), self.minimiser.dtype, -3, 3)

    def distance(self, q: Float[Array, " 2"]) -> Float[Array, ""]:
        return jnp.linalg.norm(q - self.minimiser)


def _decay(q: Float[Array, " 2"]) -> Float[Array, " t"]:
    return jnp.exp(q[0] - jnp.exp(q[1]) * jnp.array(TIMES, q.dtype))


class Decay(AbstractFamily):
    """Decays whose logarithmic level and rate are uniform in [-1, 1]."""

    name: str = eqx.field(static=True, default="decay")
    dimension: int = eqx.field(static=True, default=2)
    minimum_source: str = eqx.field(static=True, default="exact: the data have no noise")

    def sample(self, key: PRNGKeyArray) -> DecayTask:
        truth = jax.random.uniform(key, (2,), minval=-1.0, maxval=1.0)
        return DecayTask(truth, jnp.zeros((), truth.dtype))


def main() -> None:
    tasks = jax.vmap(Decay().sample)(jax.random.split(jax.random.key(0), 1000))  # a thousand tasks, one pytree
    keys = jax.random.split(jax.random.key(1), 1000)
    starts = jax.vmap(lambda task, key: task.start(key))(tasks, keys)
    values = jax.vmap(lambda task, q: task(q))(tasks, starts)
    at_truth = jax.vmap(lambda task: task(task.minimiser))(tasks)
    print(f"mean misfit at the start {jnp.mean(values):.3f}, at the truth {jnp.mean(at_truth):.3f}")

    task = Decay().sample(jax.random.key(2))  # a task is an objective like any other
    result = shapeopt.minimize(task, np.asarray(task.start(jax.random.key(3))), bounds=(task.box.lower, task.box.upper))
    print(f"one of them, {result.nfev} calls: misfit {result.fun:.1e}, distance {task.distance(result.x):.1e}")

    def solve(task, q, key):
        return rollout(DeviceShape(), ExactOracle(task), q, task.box, 40, key).best.value

    found = jax.jit(jax.vmap(solve))(tasks, starts, keys)
    print(f"all thousand at once, 40 calls each: median misfit {jnp.median(found):.1e}")


if __name__ == "__main__":
    main()
