"""How much the estimators of a rollout's gradient scatter, on calm and on chaotic rollouts of growing length.

    .venv/bin/python benchmarks/estimators.py [--out FILE] [--picture FILE]
    .venv/bin/python benchmarks/estimators.py --draw FILE [--picture FILE]    # the picture alone, from a record

A lightly damped heavy ball runs on Rastrigin's function in two dimensions; its parameters are the logarithms of step
size and damping, its loss the mean value along the run. With a short step it settles in a well. With a long one the
wells' rims throw it about: that rollout is chaotic, its loss a rough function of the parameters. Every estimate is of a
whole episode and has as many rollouts, whatever the estimator; the figure is the total standard deviation over many.
"""

import json
import math
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import tyro
from jaxtyping import Array, Float, PRNGKeyArray

from shapeopt.paper.training.estimators import (
    AbstractEstimator,
    AbstractProblem,
    Backpropagation,
    EvolutionStrategy,
    Reuse,
    Spread,
    gradient_spread,
    length,
)
from shapeopt.plots.style import add_legend, looks, panels, save, styled, tidy

CASES = {"calm": 5e-4, "edge": 6e-3, "chaotic": 2e-2}  # step size; a well's curvature is about 400
DAMPING, SIGMA, ROLLOUTS, SEVERAL = 0.1, 0.03, 16, 8
TOP = 1e9  # of the picture; what backpropagation reaches on chaotic rollouts stands in the record


@dataclass(frozen=True)
class Config:
    """What is run, and where record and picture go."""

    lengths: tuple[int, ...] = (8, 16, 32, 64, 128)
    episodes: int = 256
    out: Path | None = None
    picture: Path | None = None
    draw: Path | None = None


@dataclass(frozen=True)
class Row:
    """One point of the picture."""

    case: str
    estimator: str
    length: int
    deviation: float
    mean: float  # length of the mean gradient


class HeavyBall(AbstractProblem):
    """v' = (1 - damping) v - step grad f(x),  x' = x + v', from random places; the loss is the mean of f."""

    steps: int = eqx.field(static=True)  # of an episode
    windows: int = eqx.field(static=True)
    batch: int = eqx.field(static=True)

    def start(self, params: dict[str, Array], key: PRNGKeyArray) -> tuple[Array, Array]:
        x = jax.random.uniform(key, (self.batch, 2), minval=-3.0, maxval=3.0)
        return x, jnp.zeros_like(x)

    def advance(
        self, params: dict[str, Array], carry: tuple[Array, Array]
    ) -> tuple[tuple[Array, Array], Float[Array, ""], Float[Array, ""]]:
        def step(held: tuple[Array, Array], _: None) -> tuple[tuple[Array, Array], Array]:
            x, v = held
            v = (1.0 - jnp.exp(params["damping"])) * v - jnp.exp(params["step"]) * jax.grad(rastrigin)(x)
            return (x + v, v), rastrigin(x + v)

        carry, values = jax.lax.scan(step, carry, length=self.steps // self.windows)
        return carry, jnp.sum(values) / (self.steps * self.batch), jnp.zeros(())


def rastrigin(x: Float[Array, "batch d"]) -> Float[Array, ""]:
    return jnp.sum(x**2 + 10.0 - 10.0 * jnp.cos(2.0 * jnp.pi * x))


def estimators() -> dict[str, tuple[AbstractEstimator, int, int]]:
    """(estimator, windows, runs that one carry holds) by name: `ROLLOUTS` rollouts each."""
    backward, pairs = Backpropagation(math.inf), ROLLOUTS // 2
    persistent, reused = (
        EvolutionStrategy(sigma=SIGMA, pairs=pairs, reuse=reuse) for reuse in (Reuse.PERSISTENT, Reuse.REUSED)
    )
    return {
        "backpropagation": (backward, 1, ROLLOUTS),
        f"backpropagation, {SEVERAL} windows": (backward, SEVERAL, ROLLOUTS),
        "evolution strategy": (reused, 1, 1),
        f"reused noise, {SEVERAL} windows": (reused, SEVERAL, 1),
        "persistent noise, 2 windows": (persistent, 2, 1),
        f"persistent noise, {SEVERAL} windows": (persistent, SEVERAL, 1),
    }


def measure(config: Config) -> Iterator[Row]:
    key = jax.random.key(0)
    for name, (estimator, windows, batch) in estimators().items():
        for steps in config.lengths:
            problem = HeavyBall(steps, windows, batch)

            @jax.jit
            def spread(step: Array, estimator=estimator, problem=problem) -> Spread:
                params = {"step": jnp.log(step), "damping": jnp.log(jnp.asarray(DAMPING))}
                return gradient_spread(estimator, problem, params, key, config.episodes)

            for case, step in CASES.items():
                mean, deviation = spread(jnp.asarray(step))
                yield Row(case, name, steps, float(deviation), float(length(mean)))


def draw(rows: list[Row], path: Path) -> None:
    """One panel a case: deviation against length."""
    names = list(estimators())
    with styled():
        styles = looks(names)
        figure, axes = panels([len(CASES)], 2.0, len(names))
        for panel, (case, step) in zip(axes, CASES.items(), strict=True):
            for name in reversed(names):  # those that coincide show their dashes on one another
                mine = sorted((row.length, row.deviation) for row in rows if (row.case, row.estimator) == (case, name))
                panel.plot(*zip(*mine, strict=True), **asdict(styles[name]))
            panel.set(
                xscale="log",
                yscale="log",
                ylim=(0.03, TOP),
                title=f"{case}: step {step:g}",
                xlabel="steps of a rollout",
            )
            tidy(panel)
        axes[0].set_ylabel("standard deviation of the gradient")
        add_legend(figure, styles, names, [f"{ROLLOUTS} rollouts an estimate"])
    save(figure, path)


def main(config: Config) -> int:
    if config.draw is not None:
        rows = [Row(**row) for row in json.loads(config.draw.read_text())["rows"]]
    else:
        began, rows = time.perf_counter(), []
        print(f"{'estimator':34}{'case':14}{'steps':>6}{'deviation':>12}{'mean':>12}")
        for row in measure(config):
            rows.append(row)
            print(f"{row.estimator:34}{row.case:14}{row.length:6}{row.deviation:12.3g}{row.mean:12.3g}", flush=True)
        print(f"{time.perf_counter() - began:.0f} s")
    if config.out is not None:
        config.out.parent.mkdir(parents=True, exist_ok=True)
        places = {"out": str(config.out), "picture": None, "draw": None}
        record = {"config": asdict(config) | places, "rows": [asdict(row) for row in rows]}
        config.out.write_text(json.dumps(record, indent=1) + "\n")
    if config.picture is not None:
        draw(rows, config.picture)
    return 0


if __name__ == "__main__":
    with jax.enable_x64(True):
        sys.exit(main(tyro.cli(Config, description=__doc__)))
