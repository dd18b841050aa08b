"""`shapeopt.optax.shape`: SHAPE as an Optax transformation."""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Bool, Float, Int, PyTree

from ..core import Box, Reading
from ..engines.device import DeviceShape, DeviceState
from ..engines.host import noise_settings, seed_words, whole
from ..optimizer import Policy
from ..policies import find_policy
from .minibatches import SAME_VALUE, warn


class ShapeOptaxState(NamedTuple):
    """The state of `shapeopt.optax.shape`; `optax.tree_utils.tree_get` finds its fields in that of a chain.

    Args:
        calls: made so far.
        best_params: the parameters with the lowest value; on a stream of minibatches, the last ones.
        best_value: that value.
        two_values: whether the loss had another value there later.
        shape: SHAPE's own state.

    Example:
        best = optax.tree_utils.tree_get(state, "best_params")
    """

    calls: Int[Array, ""]
    best_params: PyTree
    best_value: Float[Array, ""]
    two_values: Bool[Array, ""]
    shape: DeviceState


def shape(
    budget: int = 500,
    *,
    bounds: Any = None,
    policy: str | Policy = "universal",
    noise: float | None = None,
    seed: int = 0,
) -> optax.GradientTransformationExtraArgs:
    """A transformation whose update needs the value and the parameters at which it was read.

    For small deterministic losses, with the whole data in every call, where it also looks for other minima. On a stream
    of minibatches it descends once, without a rate to tune, and as low as Adam with a tuned one. Where the loss has
    another value at the best point than before, and `noise` is not given, a `MinibatchWarning` says so, once.

    Every update is one call. The one that spends the budget, and all after it, lead to `best_params`. In a chain it
    comes last; a transformation that changes its updates moves the place of the next reading.

    Args:
        budget: the number of updates.
        bounds: None, or a pair (lower, upper) of numbers or of trees like the parameters.
        policy, noise, seed: as `shapeopt.minimize` has them.

    Returns:
        An `optax.GradientTransformationExtraArgs`, whose state is a `ShapeOptaxState`.

    Raises:
        ValueError: if an argument is wrong, or if `update` is called without `value` or `params`.

    Example:
        optimizer = shapeopt.optax.shape(budget=300)
        state = optimizer.init(params)
        for _ in range(300):
            value, gradient = jax.value_and_grad(loss)(params)
            updates, state = optimizer.update(gradient, state, params, value=value)
            params = optax.apply_updates(params, updates)
    """
    budget = whole("budget", budget)
    optimizer = DeviceShape(*noise_settings(find_policy(policy), noise))
    key = jax.random.wrap_key_data(jnp.asarray(seed_words(seed, 0)), impl="threefry2x32")  # as `minimize` has it

    def init(params: PyTree) -> ShapeOptaxState:
        x = _flat(params)
        lower, upper = (_side(bounds, i, params, x.dtype) for i in range(2))
        state = optimizer.init(x, Box.around(lower, upper, x), budget, key)
        worst = jnp.asarray(jnp.inf, x.dtype)
        return ShapeOptaxState(jnp.zeros((), jnp.int32), params, worst, jnp.zeros((), bool), state)

    def update(
        updates: PyTree, state: ShapeOptaxState, params: PyTree = None, *, value: Any = None, **extra_args: Any
    ) -> tuple[PyTree, ShapeOptaxState]:
        if value is None:
            raise ValueError("`value` is missing; call update(gradient, state, params, value=value).")
        if params is None:
            raise ValueError("`params` is missing; call update(gradient, state, params, value=value).")
        x = _flat(params)
        f, g = jnp.asarray(value).reshape(()).astype(x.dtype), _flat(updates).astype(x.dtype)
        here = _with_units(_moved_to(state.shape, x, optimizer), x, g, state.calls == 0)
        two_values = state.two_values if noise else _warned(state, f, x)
        after = optimizer.tell(here, Reading(f, g, jnp.ones((), jnp.int32)))
        better = jnp.isfinite(f) & ((f < state.best_value) | optimizer.settles(state.shape))
        best_value = jnp.where(better, f, state.best_value)
        best = jax.tree.map(lambda new, old: jnp.where(better, new, old), params, state.best_params)
        calls = state.calls + 1
        target = jnp.where(calls >= budget, _flat(best), optimizer.ask(after))
        step = _inside(x, target - x, here.box)
        return _like(step, params), ShapeOptaxState(calls, best, best_value, two_values, after)

    return optax.GradientTransformationExtraArgs(init, update)


def _warned(state: ShapeOptaxState, f: Any, x: Float[Array, " d"]) -> Bool[Array, ""]:
    """Whether the loss had two values at the best point so far; the first time, a warning is shown."""
    before = state.best_value
    other = jnp.abs(f - before) > SAME_VALUE * jnp.maximum(jnp.abs(f), jnp.abs(before))
    new = jnp.all(x == _flat(state.best_params)) & jnp.isfinite(before) & jnp.isfinite(f) & other & ~state.two_values
    jax.debug.callback(lambda first: warn("shapeopt.optax.shape") if first else None, new)
    return state.two_values | new


def _moved_to(state: Any, x: Float[Array, " d"], optimizer: DeviceShape) -> DeviceState:
    """The state at x; where x is the query to the last bit, so is the plant's place."""
    box = state.box
    q = jnp.where(x == optimizer.ask(state), state.inner.q, jnp.clip(box.inward(x), box.q_lower, box.q_upper))
    return eqx.tree_at(lambda s: s.inner.q, state, q)


def _with_units(state: Any, x: Float[Array, " d"], g: Float[Array, " d"], first: Any) -> DeviceState:
    """The state with units of unbounded parameters that the first gradient tells, as `minimize` has them."""
    box = state.box.scaled_by(x, g)
    board = state.inner.board._replace(lower=box.q_lower, upper=box.q_upper)
    q = jnp.clip(box.inward(x), box.q_lower, box.q_upper)
    scaled = DeviceState(state.inner._replace(q=q, board=board), box)
    return jax.tree.map(lambda new, old: jnp.where(first, new, old), scaled, state)


def _inside(x: Float[Array, " d"], step: Float[Array, " d"], box: Box) -> Float[Array, " d"]:
    """The step, shortened where round-off of x + step would leave the bounds."""
    past = (x + step) - jnp.clip(x + step, box.lower, box.upper)
    ulps = 2 * jnp.finfo(x.dtype).eps * jnp.abs(step)
    return jnp.where(past == 0, step, step - jnp.sign(past) * (2 * jnp.abs(past) + ulps))


def _flat(tree: PyTree) -> Float[Array, " d"]:
    leaves = [jnp.asarray(leaf) for leaf in jax.tree.leaves(tree)]
    if not leaves:
        raise ValueError("`params` must hold at least one array; got none.")
    dtype = jnp.float64 if all(leaf.dtype == jnp.float64 for leaf in leaves) else jnp.float32
    return jnp.concatenate([leaf.reshape(-1).astype(dtype) for leaf in leaves])


def _like(x: Float[Array, " d"], tree: PyTree) -> PyTree:
    """The flat vector in the structure, shapes and dtypes of `tree`."""
    leaves, treedef = jax.tree.flatten(tree)
    cuts = np.cumsum([jnp.size(leaf) for leaf in leaves])[:-1]
    parts = zip(jnp.split(x, cuts), leaves, strict=True)
    return jax.tree.unflatten(treedef, [part.reshape(jnp.shape(leaf)).astype(leaf.dtype) for part, leaf in parts])


def _side(bounds: Any, i: int, params: PyTree, dtype: Any) -> np.ndarray:
    """The lower (0) or upper (1) bound of every number."""
    if bounds is not None and not (isinstance(bounds, tuple | list) and len(bounds) == 2):
        raise ValueError(f"`bounds` must be None or a pair (lower, upper); got {bounds!r}.")
    side = (-np.inf, np.inf)[i] if bounds is None or bounds[i] is None else bounds[i]
    leaves, like = jax.tree.leaves(params), jax.tree.structure(params)  # type: list[Any], Any
    if np.ndim(side) == 0 and not isinstance(side, dict):
        sides: list[Any] = [side] * len(leaves)
    elif like == jax.tree.structure(side):
        sides = jax.tree.leaves(side)
    else:
        raise ValueError(f"`bounds` must be numbers or trees like the parameters; got {side!r}.")
    wide: Callable[[Any, Any], np.ndarray] = lambda one, leaf: np.broadcast_to(np.asarray(one, dtype), jnp.shape(leaf))  # noqa: E731
    return np.concatenate([wide(one, leaf).ravel() for one, leaf in zip(sides, leaves, strict=True)])
