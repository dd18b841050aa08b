"""Several families as one: each task is of one of them, drawn with equal chances.

Every reading evaluates all of them, which is dear; a run on any of them is then one compiled code, which is cheap.
"""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from ..core import Box
from .base import AbstractFamily, AbstractTask


class BlendTask(AbstractTask):
    """The task of `tasks` at the place `choice`.

    Departs from the paper: not in it.
    """

    tasks: tuple[AbstractTask, ...]
    choice: Int[Array, ""]
    minimum: Float[Array, ""]
    minimiser: Float[Array, " d"]

    def _chosen(self, values: list[Any]) -> Array:
        return jnp.stack(values)[self.choice]

    def __call__(self, q: Float[Array, " d"]) -> Float[Array, ""]:
        return self._chosen([task(q) for task in self.tasks])

    @property
    def box(self) -> Box:
        return self.tasks[0].box

    def start(self, key: PRNGKeyArray) -> Float[Array, " d"]:
        return self._chosen([task.start(key) for task in self.tasks])

    def distance(self, q: Float[Array, " d"]) -> Float[Array, ""]:
        return self._chosen([task.distance(q) for task in self.tasks])


class Blend(AbstractFamily):
    """Tasks of families that have one dimension and one box in common.

    Departs from the paper: not in it.
    """

    families: tuple[AbstractFamily, ...]

    def __check_init__(self) -> None:
        if len({family.dimension for family in self.families}) != 1:
            raise ValueError(f"`families` must have one dimension in common; got {self.families}.")

    @property
    def name(self) -> str:
        return "+".join(family.name for family in self.families)

    @property
    def dimension(self) -> int:
        return self.families[0].dimension

    @property
    def minimum_source(self) -> str:
        return "; ".join(dict.fromkeys(family.minimum_source for family in self.families))

    def sample(self, key: PRNGKeyArray) -> BlendTask:
        choice_key, *keys = jax.random.split(key, 1 + len(self.families))
        tasks = tuple(family.sample(k) for family, k in zip(self.families, keys, strict=True))
        choice = jax.random.randint(choice_key, (), 0, len(tasks))
        minimum, minimiser = (jnp.stack(values)[choice] for values in zip(*map(_known, tasks), strict=True))
        return BlendTask(tasks=tasks, choice=choice, minimum=minimum, minimiser=minimiser)


def _known(task: AbstractTask) -> tuple[Float[Array, ""], Float[Array, " d"]]:
    if task.minimiser is None:
        raise ValueError(f"`families` must know their minimisers; {type(task).__name__} does not.")
    return task.minimum, task.minimiser
