"""Training the planner of a universal policy: no teacher and no phases, an evolution strategy on whole runs.

The loss of a run is the mean over its readings of the logarithm of the gap of the best so far,

    L = mean_n clip(log10((best_n - f*) / (f_1 - f*)), -8, 0) / 8,

so that early and late progress both count and all families stand on one scale: -L is the share of the targets from 1 to
1e-8 times the first gap that the run had reached, averaged over its readings. Validation is paired: L less that of the
untrained policy on the same task, start and seed. Departs from the paper: not in it.
"""

import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from ..policy.heads import EXPONENTS, Network
from ..policy.universal import UniversalPolicy
from ..rollout import Trace, rollout
from ..shape import ShapeOptimizer
from .estimators import AbstractProblem, EvolutionStrategy, length, shortened
from .parallel import compiled, over_tasks
from .phases import Learner, Outcome, Part, Plan, falling

Scalar = Float[Array, ""]
DEEPEST = 8.0  # decades of the gap that count
FEATURE, EXPONENT, BIAS = 0.1, 0.3, 0.06  # units of the first layer, and of both sorts of outputs; ours


class HeadProblem(AbstractProblem):
    """Runs on a batch of tasks, each a whole episode; the parameters are the policy's, each over its unit."""

    windows: int = eqx.field(static=True)
    static: PyTree = eqx.field(static=True)
    plan: Plan = eqx.field(static=True)

    def start(self, params: PyTree, key: PRNGKeyArray) -> PRNGKeyArray:
        return jax.random.split(key, self.plan.batch)

    def advance(self, params: PyTree, carry: PRNGKeyArray) -> tuple[PRNGKeyArray, Scalar, Float[Array, " batch"]]:
        policy = eqx.combine(jax.tree.map(jnp.multiply, params, units_of(params)), self.static)
        run = lambda policy, keys: losses(self.plan, policy, keys)  # noqa: E731
        found = over_tasks(self.plan.mesh, run, policy, (carry,))
        return carry, jnp.mean(found), found


class HeadPhases:
    """The updates of one plan and one kind of universal policy.

    Training compares theta + eps with theta - eps, validation theta with 0, whose advice is none: half of theta plus
    and minus half of theta. So both share the code of the runs, which takes long to compile.
    """

    def __init__(self, plan: Plan, static: PyTree) -> None:
        if not isinstance(plan.estimator, EvolutionStrategy) or plan.windows != 1:
            raise ValueError(f"`estimator` must be an evolution strategy on whole runs; got {plan.estimator}.")
        self.plan, self.static, self._strategy = plan, static, plan.estimator
        self._problem = HeadProblem(1, static, plan)
        self._adam = optax.adam(falling(plan.joint_rate, plan.decay))
        self._compare = compiled(plan.mesh, self._compared)
        self.init = compiled(plan.mesh, self._init)
        self._draw = compiled(plan.mesh, self._drawn)
        self._step = compiled(plan.mesh, self._stepped)

    def train_jointly(self, learner: Learner, key: PRNGKeyArray) -> tuple[Learner, Outcome]:
        """One step of Adam, in units, unless something is not finite."""
        task_key, noise_key = jax.random.split(key)
        part, noise = self._draw(learner.params, noise_key)
        values, found = self._compare(part, noise, task_key)
        learner, size = self._step(learner, values, noise)
        calls = found.size * self.plan.readings * self.plan.sensing.cost
        return learner, Outcome(jnp.mean(values), size, jnp.asarray(float(calls)), learner.skipped)

    def evaluate(self, params: PyTree, key: PRNGKeyArray, tasks: int, readings: int) -> float:
        """Mean over tasks of the loss less that of the untrained policy: below 0 where training helps."""
        if readings != self.plan.readings:
            raise ValueError(f"`validation_readings` must be `readings`, {self.plan.readings}; got {readings}.")
        return float(np.mean(self.differences(params, key, tasks)))

    def differences(self, params: PyTree, key: PRNGKeyArray, tasks: int) -> Float[np.ndarray, " tasks"]:
        """Task by task, the loss less that of the untrained policy; at least so many tasks, in whole batches."""
        half = jax.tree.map(lambda leaf, unit: 0.5 * leaf / unit, params, units_of(params))
        noise = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (self._strategy.pairs, *leaf.shape)), half)
        rounds = -(-tasks // (self._strategy.pairs * self.plan.batch))
        found = [np.asarray(self._compare(half, noise, k)[1]) for k in jax.random.split(key, rounds)]
        return np.concatenate([(trained - prior).reshape(-1) for trained, prior in found])

    def _compared(self, centre: PyTree, noise: PyTree, key: PRNGKeyArray) -> tuple[Array, Array]:
        """The mean loss of each run of a pair, and the loss on each task: both signs, then pairs, then tasks."""
        carries = self._strategy.starts(self._problem, centre, key)
        _, values, found = self._strategy.advance(self._problem, centre, noise, carries)
        return values, found

    def _init(self, params: PyTree, key: PRNGKeyArray) -> Learner:
        return Learner(params, None, None, self._adam.init(params), None, jnp.zeros((), jnp.int32))

    def _drawn(self, params: PyTree, key: PRNGKeyArray) -> tuple[PyTree, PyTree]:
        part = jax.tree.map(jnp.divide, params, units_of(params))
        noise = self._strategy.draw(part, key)
        if self.plan.trained is Part.GAINS:  # with neither noise nor gradient in the others
            blank = jax.tree.map(jnp.zeros_like, noise)
            noise = eqx.tree_at(_gains, blank, _gains(noise))
        return part, noise

    def _stepped(self, learner: Learner, values: Float[Array, "2 pairs"], noise: PyTree) -> tuple[Learner, Scalar]:
        gradient = shortened(self._strategy.slope(values, noise), self._strategy.clip)
        size, units = length(gradient), units_of(learner.params)
        with jax.numpy_dtype_promotion("standard"):  # Optax raises floats to whole powers
            steps, state = self._adam.update(gradient, learner.joint)
        new = jax.tree.map(lambda leaf, step, unit: leaf + step * unit, learner.params, steps, units)
        sound = jnp.isfinite(size)
        keep = lambda a, b: jnp.where(sound, a, b)  # noqa: E731
        params, joint = jax.tree.map(keep, (new, state), (learner.params, learner.joint))
        skipped = learner.skipped + (~sound).astype(jnp.int32)
        return learner._replace(params=params, joint=joint, skipped=skipped), size


def _gains(params: UniversalPolicy) -> Float[Array, "... outputs"]:
    """What the planner advises whatever it sees: sixteen numbers."""
    assert params.planner is not None
    return params.planner.network.b_out


def losses(plan: Plan, policy: UniversalPolicy, keys: PRNGKeyArray) -> Float[Array, " tasks"]:
    """The loss of one run on each of as many tasks as there are keys, from which task, start and run follow."""
    optimizer = ShapeOptimizer(policy, record_energy=False)

    def one(key: PRNGKeyArray) -> Scalar:
        task_key, start_key, run_key = jax.random.split(key, 3)
        task = plan.family.sample(task_key)
        oracle = plan.sensing.oracle(task)
        trace = rollout(optimizer, oracle, task.start(start_key), task.box, plan.readings * oracle.cost, run_key)
        return loss(trace, task.minimum)

    return jax.vmap(one)(keys)


def loss(trace: Trace, minimum: Scalar) -> Scalar:
    """L of the module's docstring; where the minimum is not known, the mean fall of the best below the first value, as
    a share of its magnitude and 1."""
    best, first = trace.steps.best, trace.steps.best[0]
    ratio = (best - minimum) / jnp.maximum(first - minimum, jnp.finfo(best.dtype).tiny)
    gap = jnp.log10(jnp.clip(ratio, 10.0**-DEEPEST, 1.0)) / DEEPEST
    fall = (best - first) / (jnp.abs(first) + 1.0)
    value = jnp.mean(jnp.where(jnp.isfinite(minimum), gap, fall))
    return jnp.where(jnp.isfinite(value), value, 0.0)


def units_of(params: UniversalPolicy) -> PyTree:
    """The unit of every weight, in which noise and learning rates are measured: about the least change that shows."""

    def of_network(network: Network) -> Network:
        outputs, dtype = network.b_out.size, network.b_out.dtype
        rows = np.where(np.arange(outputs) < EXPONENTS, EXPONENT, BIAS).astype(dtype)
        each = jnp.asarray(np.broadcast_to(0.5 * rows[:, None], network.W_out.shape))
        first = FEATURE * network.W_in.shape[1] ** -0.5
        inner = jnp.full_like(network.W_in, first), jnp.full_like(network.b_in, FEATURE)
        return Network(*inner, each, jnp.asarray(rows))

    return jax.tree.map(of_network, params, is_leaf=lambda node: isinstance(node, Network))


def make_head_phases(plan: Plan, static: PyTree) -> HeadPhases:
    """The updates of a plan; the same object, with its compiled code, for an equal plan."""
    return _shared(plan, static)


_shared = functools.lru_cache(maxsize=64)(HeadPhases)
