"""An optimizer of your own against the others, on objectives of your own: one class each, and a protocol.

shapeopt bench run own_optimizer:PROTOCOL --methods own_optimizer:ShrinkingSteps gd --out records
"""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from shapeopt.bench.cells import Cell, Protocol
from shapeopt.bench.comparison import comparison_table
from shapeopt.bench.digest import digest
from shapeopt.bench.execute import run_cell
from shapeopt.bench.formats import to_markdown
from shapeopt.bench.methods import Traceable, find_method
from shapeopt.bench.records import make_record
from shapeopt.core import AbstractOptimizer, Box, Reading
from shapeopt.tasks import AbstractFamily, AbstractTask, cube


class State(NamedTuple):
    """What the next step needs."""

    key: PRNGKeyArray
    box: Box
    query: Float[Array, " d"]
    base: Float[Array, " d"]
    value: Float[Array, ""]
    gradient: Float[Array, " d"]
    length: Float[Array, ""]


class ShrinkingSteps(AbstractOptimizer):
    """Steps down the gradient, half as long after each that fails; a new start once they are tiny."""

    longest: float = 0.2  # of the box's width
    shortest: float = 1e-4

    def init(self, x0: Float[Array, " d"], box: Box, budget: int, key: PRNGKeyArray) -> State:
        infinite, length = jnp.asarray(jnp.inf, x0.dtype), jnp.asarray(self.longest, x0.dtype)
        return State(key, box, x0, x0, infinite, jnp.zeros_like(x0), length)

    def ask(self, state: State) -> Float[Array, " d"]:
        return state.query

    def tell(self, state: State, reading: Reading) -> State:
        better = reading.value < state.value
        base = jnp.where(better, state.query, state.base)
        gradient = jnp.where(better, reading.gradient, state.gradient)
        value = jnp.minimum(reading.value, state.value)
        length = jnp.where(better, state.length, state.length / 2)

        key, draw = jax.random.split(state.key)
        lower, upper = state.box.lower, state.box.upper
        down = gradient / jnp.maximum(jnp.linalg.norm(gradient), 1e-300)
        step = jnp.clip(base - length * (upper - lower) * down, lower, upper)
        anew = jax.random.uniform(draw, lower.shape, lower.dtype, lower, upper)
        over = length < self.shortest
        return State(
            key,
            state.box,
            jnp.where(over, anew, step),
            base,
            jnp.where(over, jnp.inf, value),
            gradient,
            jnp.where(over, self.longest, length),
        )


class WavesTask(AbstractTask):
    """A bowl with waves on it, lowest at the minimiser."""

    minimiser: Float[Array, " d"]
    minimum: Float[Array, ""]
    waves: Float[Array, ""]

    def __call__(self, q: Float[Array, " d"]) -> Float[Array, ""]:
        z = q - self.minimiser
        return jnp.mean(z**2 + 1 - jnp.cos(self.waves * z))

    @property
    def box(self) -> Box:
        return cube(self.minimiser.size, 5.0, self.minimiser.dtype)

    def start(self, key: PRNGKeyArray) -> Float[Array, " d"]:
        return jax.random.uniform(key, self.minimiser.shape, self.minimiser.dtype, -5, 5)

    def distance(self, q: Float[Array, " d"]) -> Float[Array, ""]:
        return jnp.linalg.norm(q - self.minimiser)


class Waves(AbstractFamily):
    """Bowls whose place, and whose waves' frequency, differ from task to task."""

    dimension: int = eqx.field(static=True)
    name: str = eqx.field(static=True, default="waves")
    minimum_source: str = eqx.field(static=True, default="exact: every term is least at the minimiser")

    def sample(self, key: PRNGKeyArray) -> WavesTask:
        place, waves = jax.random.split(key)
        minimiser = jax.random.uniform(place, (self.dimension,), minval=-4.0, maxval=4.0)
        return WavesTask(minimiser, jnp.zeros((), minimiser.dtype), jax.random.uniform(waves, minval=2.0, maxval=6.0))


PROTOCOL = Protocol(
    name="waves",
    about="bowls with waves, anywhere in the box",
    cells=(Cell(Waves(2), budget=100, tasks=24), Cell(Waves(10), budget=200, tasks=24)),
    methods=("universal", "basinhopping"),
)


def main() -> None:
    """What the commands of docs/own_optimizer.md do, in one process."""
    own, rival = Traceable("ShrinkingSteps", lambda cell: ShrinkingSteps()), find_method("gd")
    digests = [
        digest(make_record(PROTOCOL, cell, method.name, run_cell(cell, method, seed=0)))
        for cell in PROTOCOL.cells
        for method in (own, rival)
    ]
    print(to_markdown(comparison_table(digests, own.name)))


if __name__ == "__main__":
    main()
