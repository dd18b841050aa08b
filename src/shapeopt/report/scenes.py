"""What a point of a scientific task is: a cluster of atoms, a trajectory, a signal."""

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from .folder import numbers

if TYPE_CHECKING:
    from ..tasks import AbstractTask, ControlTask, LennardJonesTask

BOND = 1.35  # atoms closer than this many sigma are joined; neighbours of a packing are at 1.12, next ones at 1.59


def make_scene(task: "AbstractTask | None", points: np.ndarray) -> dict[str, Any] | None:
    """What the page needs to show `points` as what they are; None where a point is only numbers."""
    if task is None:
        return None
    from ..tasks import ControlTask, LennardJonesTask, PhaseRetrievalTask

    if isinstance(task, LennardJonesTask):
        return {"kind": "cluster", "frames": [_cluster(task, x) for x in points]}
    if isinstance(task, PhaseRetrievalTask):
        truth = np.asarray(task.minimiser)
        aligned = [x if x @ truth >= 0 else -x for x in points]
        return {"kind": "signal", "truth": numbers(truth), "frames": [{"y": numbers(x)} for x in aligned]}
    if isinstance(task, ControlTask):
        return _control(task, points)
    return None


def _cluster(task: "LennardJonesTask", x: np.ndarray) -> dict[str, Any]:
    atoms = x.reshape(-1, 3)
    apart = np.linalg.norm(atoms[:, None] - atoms[None], axis=-1) / float(task.sigma)
    bonds = np.argwhere(np.triu(apart < BOND, 1))
    return {"atoms": numbers(atoms, 4), "bonds": bonds.tolist()}


def _control(task: "ControlTask", points: np.ndarray) -> dict[str, Any]:
    import jax

    from ..tasks import Navigation

    plant = task.plant
    with jax.enable_x64(True):
        states = np.asarray(_trajectories()(plant, points))
    if isinstance(plant, Navigation):
        hills = np.column_stack([plant.centres, plant.heights / plant.dt, plant.widths])
        frames = [{"path": numbers(path, 5)} for path in states]
        return {"kind": "path", "hills": numbers(hills), "goal": numbers(np.asarray(plant.goal)), "frames": frames}
    time = numbers(np.arange(states.shape[1]) * plant.dt)  # type: ignore[attr-defined]
    names = ["angle", "rate"] if hasattr(plant, "gravity") else ["position", "velocity"]
    target = numbers(np.asarray(plant.target)) if hasattr(plant, "target") else [float(np.pi), 0.0]
    frames = [{"states": numbers(s.T, 5), "controls": numbers(x, 5)} for s, x in zip(states, points, strict=True)]
    return {"kind": "motion", "time": time, "names": names, "target": target, "frames": frames}


@functools.cache
def _trajectories() -> Callable[[Any, Any], Any]:
    """(plant, controls) -> (runs, T + 1, state): the states that each row of controls leads through (eq.
    control_dynamics)."""
    import jax

    def one(plant: Any, q: Any) -> Any:
        def forward(x: Any, u: Any) -> Any:
            after = plant.step(x, u)
            return after, after

        _, states = jax.lax.scan(forward, plant.x0, q.reshape(-1, plant.control_size))
        return jax.numpy.concatenate([plant.x0[None], states])

    return jax.jit(jax.vmap(one, in_axes=(None, 0)))
