"""Single runs, kept with all their points: where methods went, and what shaped and drove SHAPE.

The paper's figures 2d, multiwell:viz:panel, navigation:display and 2d:example:vector:field:display are drawn from them.
"""

import functools
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ...bench.cells import Cell
from ...bench.execute import InBox, Keys, prepare, read_by, run_keys
from ...bench.methods import AbstractCompiled, Hosted
from ...core import Mode
from ...oracles import ExactOracle, Reader
from ...peers import run_peer
from ...rollout import rollout
from ...tasks import AbstractTask
from ..base import Plant
from ..dynamics import SemiImplicitStep
from ..find import load_policy
from ..methods import find_method, fitted_policy
from ..optimizer import ShapeOptimizer, ShapeState, potential_of
from ..weights import cast_policy
from .sheets import Sheet

CELLS = 160  # of a landscape, along each side
ARROWS = 15  # of a field, along each side


def routes_sheet(cell: Cell, methods: Sequence[str], seed: int = 0) -> Sheet:
    """Points and best values of each method's run from the first start of the first task of `cell`."""
    with jax.enable_x64(True):
        keys = Keys(*(words[0] for words in run_keys(cell, seed)))
        task, x0 = prepare(cell, keys)
        arrays = _landscape(task) | {"start": np.asarray(x0)}
        for name in methods:
            points, values, calls = _route(cell, name, task, x0, keys)
            arrays |= {f"{name}/points": points, f"{name}/values": values, f"{name}/calls": calls}
    return Sheet({"cell": cell.describe(), "methods": list(methods), "seed": seed}, arrays)


def stages_sheet(cell: Cell, calls: Sequence[int], seed: int = 0) -> Sheet:
    """The paper's policy on the first task of `cell`: its points, and f + U_shp of the stages under way at `calls`."""
    with jax.enable_x64(True):
        task, _, steps, _ = _shape_run(cell, seed, cell.budget)
        causes = np.flatnonzero(np.asarray(steps.info.cause))
        begun = np.searchsorted(causes, np.array(calls) - 1, side="right") - 1
        rows = causes[np.maximum(begun, 0)].tolist()
        land = _landscape(task)
        shaped = jax.jit(jax.vmap(lambda potential, q: potential.value(q), in_axes=(None, 0)))
        grid = jax.vmap(task.box.inward)(jnp.asarray(_grid(land).reshape(-1, 2)))
        potentials = [jax.tree.map(lambda leaf, row=row: leaf[row], steps.info.seen) for row in rows]
        added = [np.asarray(shaped(potential, grid)).reshape(land["landscape"].shape) for potential in potentials]
        anchors = [np.asarray(task.box.outward(potential.q_bar)) for potential in potentials]
    arrays = land | {"points": np.asarray(steps.x), "added": np.stack(added), "anchors": np.stack(anchors)}
    arrays |= {"rows": np.array(rows), "modes": np.asarray(steps.info.mode)[np.array(rows) + 1]}
    return Sheet({"cell": cell.describe(), "calls": list(calls), "seed": seed}, arrays)


def field_sheet(cell: Cell, readings: int, seed: int = 0) -> Sheet:
    """The forces on a plant at rest, all over the box, in the stage that the paper's policy is in after `readings`."""
    with jax.enable_x64(True):
        task, optimizer, _, state = _shape_run(cell, seed, readings)
        land = _landscape(task)
        axes = [np.linspace(low, high, ARROWS) for low, high in zip(land["lower"], land["upper"], strict=True)]
        q = jnp.asarray(np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, 2))
        forces = jax.device_get(jax.jit(jax.vmap(functools.partial(_forces, task, optimizer, state)))(q))
        anchor, mode = np.asarray(task.box.outward(state.action.anchor)), Mode(int(state.action.mode)).name.lower()
    arrays = land | {"places": np.asarray(q)} | {name: np.asarray(force) for name, force in forces.items()}
    about = {"cell": cell.describe(), "readings": readings, "mode": mode, "seed": seed}
    return Sheet(about, arrays | {"anchor": anchor})


def _forces(task: AbstractTask, optimizer: ShapeOptimizer, state: ShapeState, q: Float[Array, " d"]) -> dict[str, Any]:
    """Each channel of eq. dp_local_pdot at q and p = 0, and the velocity that they give."""
    f, g = jax.value_and_grad(lambda q: task(task.box.outward(q)))(q)
    share, yes = state.spent / state.budget, jnp.ones((), bool)
    plant = Plant(q, jnp.zeros_like(q), f, g, yes, state.box.q_lower, state.box.q_upper, share)
    drive = optimizer.policy.control(state.policy, plant, state.action)
    made = optimizer.step(q, plant.p, g, drive.potential, drive.structure, plant.lower, plant.upper, jnp.inf)
    anchor = -drive.potential.kappa * (q - drive.potential.q_bar)
    port = drive.structure.port_input(made.e_p)
    return {"velocity": made.v, "descent": -g, "anchor_force": anchor, "port_force": port, "sum": anchor + port}


def _shape_run(cell: Cell, seed: int, budget: int) -> tuple[AbstractTask, ShapeOptimizer, Any, ShapeState]:
    """(task, optimizer, steps, end) of the paper's policy for the cell."""
    keys = Keys(*(words[0] for words in run_keys(cell, seed)))
    task, x0 = prepare(cell, keys)
    policy = cast_policy(load_policy(fitted_policy("paper", cell)), "float64")
    optimizer = ShapeOptimizer(policy, SemiImplicitStep(policy.h), record_energy=False, observer=potential_of)
    run = jax.jit(functools.partial(rollout, optimizer, budget=budget, record_points=True))
    trace = run(ExactOracle(task), x0, task.box, key=jax.random.wrap_key_data(keys.run))
    return task, optimizer, trace.steps, trace.end.state


def _route(
    cell: Cell, name: str, task: AbstractTask, x0: Float[Array, " d"], keys: Keys
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(points, values, calls after each reading) of one run."""
    method, key = find_method(name), jax.random.wrap_key_data(keys.run)
    if isinstance(method, Hosted):
        reader = Reader(cell.sensing.oracle(task, cell.budget), task.box, cell.budget, key)
        run_peer(method.peer, reader, np.asarray(x0), reader.lower, reader.upper, int(keys.run[-1]))
        return reader.points, reader.values, reader.calls_after
    if not isinstance(method, AbstractCompiled):
        raise TypeError(f"`methods` must be compiled or hosted; got {method!r}.")
    optimizer = method.optimizer(cell)
    inside = InBox(optimizer, task.box)
    run = jax.jit(functools.partial(rollout, inside, budget=cell.budget, record_points=True))
    steps = run(read_by(optimizer, cell, task), x0, task.box, key=key).steps
    return np.asarray(steps.x), np.asarray(steps.value), np.asarray(steps.calls)


def _landscape(task: AbstractTask) -> dict[str, np.ndarray]:
    """The box, the known minimum, and the task's values on a grid of one or two dimensions."""
    lower, upper = np.asarray(task.box.lower), np.asarray(task.box.upper)
    land = {
        "lower": lower,
        "upper": upper,
        "minimiser": np.asarray(task.minimiser),
        "minimum": np.asarray(task.minimum),
    }
    grid = _grid(land)
    values = jax.jit(lambda task, x: jax.vmap(task)(x))(task, grid.reshape(-1, lower.size))
    return land | {"landscape": np.asarray(values).reshape(grid.shape[:-1])}


def _grid(land: dict[str, np.ndarray]) -> np.ndarray:
    axes = [np.linspace(low, high, CELLS + 1) for low, high in zip(land["lower"], land["upper"], strict=True)]
    return np.stack(np.meshgrid(*axes), axis=-1)
