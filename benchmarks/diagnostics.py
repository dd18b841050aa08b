"""What diagnostics cost a compiled run of the paper's policies: energy ledger, passivity monitor and anchors.

    .venv/bin/python benchmarks/diagnostics.py [--repeats 60]

Runs with and without take turns; a ratio is the median of those of neighbours, in processor time, which other work on
the machine disturbs least. Exit code 1 if a ratio is above 1.3.
"""

import sys
import time
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import tyro

from shapeopt.oracles import ExactOracle
from shapeopt.paper import load_policy
from shapeopt.paper.dynamics import PassivityMonitor
from shapeopt.paper.optimizer import ShapeOptimizer
from shapeopt.paper.weights import cast_policy
from shapeopt.rollout import rollout
from shapeopt.tasks import make_family

TARGET = 1.3
CELLS = (("paper-ackley-2", 2), ("paper-ackley-20", 20))
BUDGET = 500


@dataclass(frozen=True)
class Diagnostics:
    repeats: int = 60

    def run(self) -> int:
        worst = 0.0
        print("| policy | d | without, us/call | with | ratio |\n|---|---|---|---|---|")
        for name, d in CELLS:
            policy = cast_policy(load_policy(name), jnp.float64)
            off = ShapeOptimizer(policy, record_energy=False)
            on = ShapeOptimizer(policy, monitor=PassivityMonitor(1.0), record_anchor=True)
            plain, told, ratio = self._in_turn(compiled(off, d), compiled(on, d))
            worst = max(worst, ratio)
            print(f"| {name} | {d} | {plain:.2f} | {told:.2f} | {ratio:.2f} |", flush=True)
        print(f"largest ratio {worst:.2f}, target {TARGET}: {'met' if worst <= TARGET else 'missed'}")
        return int(worst > TARGET)

    def _in_turn(self, *actions) -> tuple[float, float, float]:
        """Median microseconds a call of both actions, and the median of their ratios."""
        times = np.zeros((self.repeats + 1, 2))
        for row in times:
            for i, action in enumerate(actions):
                began = time.process_time()
                action()
                row[i] = time.process_time() - began
        times = 1e6 / BUDGET * times[1:]  # the first compiles
        return *np.median(times, axis=0), float(np.median(times[:, 1] / times[:, 0]))


def compiled(optimizer: ShapeOptimizer, d: int):
    """A whole run as one compiled loop, with its trace."""
    task = make_family("ackley", d).sample(jax.random.key(0))
    go = jax.jit(lambda x, key: rollout(optimizer, ExactOracle(task), x, task.box, BUDGET, key))
    x, key = task.start(jax.random.key(1)), jax.random.key(2)
    return lambda: jax.block_until_ready(go(x, key))


if __name__ == "__main__":
    jax.config.update("jax_cpu_enable_async_dispatch", False)
    jax.config.update("jax_enable_x64", True)
    sys.exit(tyro.cli(Diagnostics).run())
