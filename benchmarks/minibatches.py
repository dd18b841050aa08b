"""A network of some 200 weights on minibatches: SHAPE through its Optax transformation against Adam with tuned rates.

    python benchmarks/minibatches.py [--out FILE]

Three made regressions (eight inputs, a layer of twenty tanh units, 201 weights), minibatches of 32 of 1,024 rows, 1,000
calls, three seeds each of first weights and batches, the same for all. A call is a value with its gradient on one
minibatch. What counts is the loss over all rows at the parameters that an optimizer stands at: for Adam its last ones,
and for SHAPE (`noise` given) its last ones and those that it returns. Adam's rate is the best of six by the mean loss
over all nine runs, constant or with a cosine to zero.
"""

import json
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import tyro

import shapeopt.optax

OUT = Path(__file__).parent / "records" / "minibatches.json"
INPUTS, UNITS, ROWS, BATCH = 8, 20, 1024, 32
RATES = (1e-3, 3e-3, 1e-2, 3e-2, 1e-1, 3e-1)
EVERY = 20  # calls between looks at the loss over all rows


@dataclass(frozen=True)
class Config:
    """Calls of a run, seeds, and where the record goes."""

    calls: int = 1000
    seeds: int = 3
    out: Path = OUT


def data(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Inputs and standardised targets of a made regression."""
    rng = np.random.default_rng(sum(map(ord, name)))
    x = rng.uniform(-1, 1, (ROWS, INPUTS))
    if name == "waves":
        y = np.sin(3 * x[:, 0] + 2 * x[:, 1]) + x[:, 2] * x[:, 3]
    elif name == "steps":
        y = np.tanh(6 * x[:, 0] - 2 * x[:, 1]) + 0.5 * np.tanh(8 * x[:, 4])
    else:
        y = 10 * np.sin(np.pi * x[:, 0] * x[:, 1]) + 20 * (x[:, 2] - 0.5) ** 2 + 10 * x[:, 3] + 5 * x[:, 4]
    y = y + 0.1 * y.std() * rng.normal(size=ROWS)
    return x, (y - y.mean()) / y.std()


def first_weights(seed: int) -> dict[str, Any]:
    rng = np.random.default_rng([seed, 31])
    W, v = rng.normal(size=(INPUTS, UNITS)) / INPUTS**0.5, rng.normal(size=UNITS) / UNITS**0.5
    return {"W": jnp.array(W), "b": jnp.zeros(UNITS), "v": jnp.array(v), "c": jnp.zeros(())}


def loss(weights: dict[str, Any], x: Any, y: Any) -> Any:
    return jnp.mean((jnp.tanh(x @ weights["W"] + weights["b"]) @ weights["v"] + weights["c"] - y) ** 2)


@partial(jax.jit, static_argnames=("optimizer", "calls"))
def train(optimizer: Any, calls: int, weights: Any, x: Any, y: Any, key: Any) -> tuple[Any, Any]:
    """The last weights, and the loss over all rows as the run went on."""

    def step(carry: Any, key: Any) -> Any:
        weights, state = carry
        rows = jax.random.randint(key, (BATCH,), 0, ROWS)
        value, gradient = jax.value_and_grad(loss)(weights, x[rows], y[rows])
        updates, state = optimizer.update(gradient, state, weights, value=value)
        after = optax.apply_updates(weights, updates)
        return (after, state), loss(weights, x, y)

    (weights, _), losses = jax.lax.scan(step, (weights, optimizer.init(weights)), jax.random.split(key, calls))
    return loss(weights, x, y), losses


def optimizers(calls: int) -> dict[str, Any]:
    found = {}
    for rate in RATES:
        found[f"adam {rate:g}"] = optax.with_extra_args_support(optax.adam(rate))
        cosine = optax.cosine_decay_schedule(rate, calls)
        found[f"adam {rate:g}, cosine"] = optax.with_extra_args_support(optax.adam(cosine))
    return found | {"shape": shapeopt.optax.shape(budget=calls, noise=1.0)}


def main(config: Config) -> None:
    began, rows = time.process_time(), []
    names = ("waves", "steps", "friedman")
    for name, optimizer in optimizers(config.calls).items():
        runs = []
        for which in names:
            x, y = map(jnp.array, data(which))
            for seed in range(config.seeds):
                end, losses = train(optimizer, config.calls, first_weights(seed), x, y, jax.random.key(seed))
                last = float(np.mean(losses[-EVERY:]))
                runs.append({"data": which, "seed": seed, "last": last, "end": float(end)})
                runs[-1]["losses"] = [round(float(one), 5) for one in losses[::EVERY]]
        mean = float(np.mean([one["last"] for one in runs]))
        rows.append({"optimizer": name, "loss": mean, "runs": runs})
        print(f"{name:24} {mean:.4f}  returned {np.mean([one['end'] for one in runs]):.4f}", flush=True)
    best = min((one for one in rows if one["optimizer"] != "shape"), key=lambda one: one["loss"])
    shape = rows[-1]
    ratios = np.log([s["last"] / a["last"] for s, a in zip(shape["runs"], best["runs"], strict=True)])
    drawn = np.random.default_rng(0).integers(len(ratios), size=(2000, len(ratios)))
    low, high = np.exp(np.quantile(ratios[drawn].mean(axis=1), [0.025, 0.975]))
    record = {"config": {"calls": config.calls, "seeds": config.seeds}, "best": best["optimizer"]}
    record |= {"ratio": float(np.exp(ratios.mean())), "low": float(low), "high": float(high)}
    record |= {"reached": int((ratios <= 0).sum()), "runs": len(ratios), "rows": rows}
    record |= {"seconds": round(time.process_time() - began)}
    print({key: value for key, value in record.items() if key != "rows"})
    config.out.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    with jax.enable_x64(True):
        main(tyro.cli(Config, description=__doc__))
