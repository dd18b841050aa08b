"""The paper's policy keeps the bounds and the structure for any weights, and derivatives reach all of them."""

import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from shapeopt.core import REACH, Box, Mode, Reading
from shapeopt.paper.dynamics import SemiImplicitStep, ShapedPotential
from shapeopt.paper.memory import spatial_read_size
from shapeopt.paper.networks import BETA_J, BETA_R, CUES, View, anchor_gain, mode_gains, nearest_hidden
from shapeopt.paper.optimizer import ShapeOptimizer
from shapeopt.paper.policy import PaperPolicy

pytestmark = pytest.mark.grid(5)

DIMENSIONS = (1, 2, 5, 20, 100)
DTYPES = ("float32", "float64")


def wild(seed: int, scale: float, **settings) -> PaperPolicy:
    """A policy whose every weight is a normal draw."""
    rng = np.random.default_rng(seed)

    def draw(leaf):
        if not isinstance(leaf, jax.ShapeDtypeStruct):
            return leaf
        return jnp.asarray(scale * rng.normal(size=leaf.shape), leaf.dtype)

    return jax.tree.map(draw, PaperPolicy.skeleton(settings))


@functools.cache
def untrained(seed: int, **settings) -> PaperPolicy:
    return PaperPolicy.create(key=jax.random.key(seed), **settings)


def state_of(policy: PaperPolicy, seed: int, scale: float = 1.0):
    """(q, p, f, g, memory read), drawn."""
    rng, d = np.random.default_rng(seed), policy.planner.d
    p, g = scale * rng.normal(size=(2, d))
    drawn = rng.uniform(-REACH, REACH, d), p, scale * rng.normal(), g, rng.uniform(size=spatial_read_size(d))
    return tuple(jnp.asarray(part, policy.settings["dtype"]) for part in drawn)


def view_of(policy: PaperPolicy, seed: int, state=None) -> View:
    """What the networks would see of a drawn state, with drawn cues, directions and stiffnesses."""
    rng, d, dtype = np.random.default_rng(seed + 1000), policy.planner.d, policy.settings["dtype"]
    directions = rng.normal(size=(2 + policy.use_memory, d))
    drawn = rng.uniform(-2, 2, CUES), directions, rng.uniform(-3, 3, (len(Mode), d)), 2.0, 0.5
    state = state_of(policy, seed) if state is None else state
    return View(state[0], policy.observe(*state), *(jnp.asarray(part, dtype) for part in drawn))


@eqx.filter_jit
def choices(policy: PaperPolicy, view, v):
    """What the policy chooses, and its operators applied to v."""
    action = policy.plan(view)
    control = policy.steer(view, action)
    applied = control.structure.skew(v), control.structure.dissipation(v)
    return action, action.mode_probabilities, control, applied, anchor_gain(control, action)


@pytest.mark.parametrize("scale", [0.1, 3.0, 1e3])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("d", DIMENSIONS)
def test_heads_keep_their_bounds_for_any_weights(d, dtype, scale):
    policy = wild(d, scale, d=d, dtype=dtype)
    view = view_of(policy, d, state_of(policy, d, scale))
    q, v = np.asarray(view.z[:d]), np.random.default_rng(1).normal(size=d).astype(dtype)
    drawn = jax.tree.map(np.asarray, choices(policy, view, v))
    action, probabilities, (structure, kappa_loc, softest), (skewed, damped), kappa = drawn
    assert {leaf.dtype.name for leaf in jax.tree.leaves(drawn)} == {dtype, "int32"}
    assert all(np.all(np.isfinite(leaf)) for leaf in jax.tree.leaves(drawn))

    assert np.all(np.abs(action.anchor) <= REACH)
    assert np.all(np.abs(action.anchor - q) <= (0.0 if action.mode == Mode.REFINE else 1.0 + 1e-6))  # trust radius
    assert 0.0 < action.alpha_J < 1.0
    assert 0.0 < action.alpha_R < 1.0
    assert 0.0 < action.kappa <= 1.0
    assert 0.0 <= kappa_loc <= 1.0
    assert 0.0 < kappa <= softest * (1 + 1e-5)  # so no fully damped step passes the anchor
    assert action.horizon == 6
    assert action.mode in list(Mode)
    assert action.mode == np.argmax(probabilities)
    np.testing.assert_allclose(probabilities.sum(), 1.0, rtol=1e-6)

    eps, factors = np.finfo(dtype).eps, np.linalg.norm(structure.skew.U) * np.linalg.norm(structure.skew.V)
    assert abs(v @ skewed) <= 20 * eps * (v @ v) * factors
    assert v @ damped >= 0.0
    stiffness = 1.0 / (policy.h**2 * structure.metric.inverse)
    ratio = stiffness / np.exp(np.asarray(view.log_stiffness)[action.mode])
    assert np.all((ratio >= 0.999 * np.exp(-3)) & (ratio <= 1.001 * np.exp(3)))
    np.testing.assert_allclose(softest, stiffness.min(), rtol=1e-5)
    diagonal = structure.dissipation.diagonal
    assert np.all((diagonal >= 0.0) & (diagonal <= policy.h * stiffness * (1 + 1e-5)))
    assert np.all(np.abs(structure.u_shp) <= 2.0)  # the unit of force
    assert np.all(np.abs(structure.u_shp) <= 1.0) or action.mode != Mode.REFINE  # and half of it is at hand
    assert structure.K_d >= 0.0
    assert structure.zeta == 0.0
    assert structure.skew.U.shape == structure.dissipation.B.shape == (d, 4)
    low_rank = structure.dissipation.B / np.sqrt(policy.h * stiffness)[:, None]
    assert np.linalg.norm(low_rank) <= 1.0 + 1e-5  # a step dissipates no more than once again, whatever d


def test_operators_of_random_weights_do_something():
    policy = wild(0, 3.0, d=20)
    _, _, _, (skewed, damped), _ = choices(policy, view_of(policy, 0), jnp.ones(20))
    assert np.linalg.norm(skewed) > 1e-3
    assert np.sum(damped) > 0.1


@pytest.mark.full
def test_mode_gains_are_those_of_the_mode():
    policy = untrained(0, d=2)
    action = policy.plan(view_of(policy, 1))
    for mode in Mode:
        logits = jnp.zeros(3).at[mode].set(0.1)
        here = eqx.tree_at(lambda a: (a.mode, a.mode_logits), action, (jnp.int32(mode), logits))
        alpha_J, alpha_R = mode_gains(here)
        assert alpha_J == action.alpha_J * BETA_J[mode]
        assert alpha_R == action.alpha_R * BETA_R[mode]


def test_the_observation_is_the_papers_concatenation():
    policy = wild(0, 1.0, d=2, descriptor_size=1)
    q, p, g, read = jnp.array([1.0, 2.0]), jnp.array([3.0, 4.0]), jnp.array([6.0, 8.0]), jnp.arange(18.0)
    z = policy.observe(q, p, jnp.array(5.0), g, read, jnp.array([7.0]))
    np.testing.assert_array_equal(z, [1, 2, 3, 4, 6, 8, 5, 10, 7, *range(18)])


@pytest.mark.parametrize(
    ("d", "hidden"), [(1, 32), (2, 32), (6, 32), (7, 64), (20, 64), (44, 64), (45, 128), (500, 128)]
)
def test_hidden_width_follows_the_nearest_of_the_papers_dimensions(d, hidden):
    assert nearest_hidden(d) == hidden
    widths = [layer.out_features for layer in PaperPolicy.skeleton({"d": d}).controller.network.layers]
    assert widths == [hidden, hidden, 15 * d + 2]


def rollout(policy: PaperPolicy, x0, steps: int):
    """Steps of the policy on f = |x|^2 / 2; returns the last place and the ledger."""
    optimizer = ShapeOptimizer(policy)
    side = jnp.full_like(x0, REACH)
    state = optimizer.init(x0, Box(-side, side, 0.0 * side, side / REACH), steps, jax.random.key(0))

    def step(state, _):
        x = optimizer.ask(state)
        state = optimizer.tell(state, Reading(0.5 * x @ x, x, jnp.ones((), jnp.int32)))
        return state, state.info.ledger

    state, ledger = jax.lax.scan(step, state, length=steps)
    return optimizer.ask(state), ledger


@pytest.mark.parametrize(("d", "use_controller"), [(2, True), (2, False), (20, True)])
def test_an_untrained_policy_descends_a_bowl_and_only_dissipates(d, use_controller):
    policy = untrained(3, d=d, use_controller=use_controller)
    x0 = jnp.full(d, 3.0)
    x, ledger = jax.jit(lambda: rollout(policy, x0, 60))()
    assert jnp.linalg.norm(x) < (1e-3 if use_controller else 0.3) * jnp.linalg.norm(x0)
    assert jnp.all(ledger.dissipation <= 0.0)
    assert jnp.all(ledger.damping_injection <= 0.0)
    assert ledger.dissipation.sum() < 0.0


def test_an_untrained_policy_settles_and_then_refines():
    policy = untrained(0, d=2)
    view = view_of(policy, 0)
    for spent, mode in ((-0.5, Mode.SETTLE), (0.5, Mode.REFINE)):
        here = view._replace(cues=jnp.zeros(CUES).at[0].set(1.0).at[1].set(spent))
        assert policy.plan(here).mode == mode


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("d", [1, 20])
def test_an_untrained_structure_takes_energy_from_free_motion(d, seed):
    policy = untrained(seed, d=d)
    q, p, *_ = state = state_of(policy, seed)
    structure = choices(policy, view_of(policy, seed, state), p)[2].structure
    still = eqx.tree_at(lambda s: s.u_shp, structure, jnp.zeros(d))
    bound = jnp.full(d, jnp.inf)
    result = SemiImplicitStep(policy.h)(q, p, jnp.zeros(d), ShapedPotential.none(q), still, -bound, bound, jnp.inf)
    assert result.kinetic_after < result.kinetic_before


@eqx.filter_jit
@eqx.filter_grad
def derivatives(policy, start):
    return jnp.sum(rollout(policy, start, 18)[0])


@pytest.mark.full
def test_derivatives_through_a_rollout_are_finite_and_reach_every_array():
    found = derivatives(untrained(0, d=2), jnp.full(2, 2.0))
    for where, leaf in jax.tree_util.tree_leaves_with_path(found):
        assert jnp.all(jnp.isfinite(leaf))
        assert jnp.any(leaf != 0.0) or "shaping" in jax.tree_util.keystr(where)  # no basin was written


def test_the_observation_has_finite_derivatives_where_the_gradient_vanishes():
    policy = untrained(0, d=2)
    q, p, f, g, read = state_of(policy, 0)
    jacobian = jax.jacrev(lambda g: policy.observe(q, p, f, g, read))(jnp.zeros_like(g))
    assert jnp.all(jnp.isfinite(jacobian))


def test_derivatives_reach_the_mode_logits_through_the_gains():
    policy = untrained(0, d=2)
    view = view_of(policy, 1)

    def gain(logits):
        return mode_gains(eqx.tree_at(lambda a: a.mode_logits, policy.plan(view), logits))[1]

    assert jnp.all(jnp.abs(jax.grad(gain)(jnp.array([0.1, 0.2, 0.3]))) > 1e-3)


def test_without_controller_the_structure_is_plain():
    policy = wild(0, 1.0, d=4, use_controller=False, event_horizon=4)
    view = view_of(policy, 1)._replace(log_stiffness=jnp.full((len(Mode), 4), np.log(5.0)))
    action = policy.plan(view)
    structure, kappa_loc, softest = policy.steer(view, action)
    v = jnp.arange(4.0)
    assert policy.controller is None
    assert action.horizon == 4
    assert kappa_loc == 0.0
    np.testing.assert_allclose(softest, 5.0)
    np.testing.assert_allclose(structure.metric.solve(v), v / (5.0 * policy.h**2))
    np.testing.assert_array_equal(structure.skew(v), 0.0)
    np.testing.assert_allclose(structure.dissipation(v), 5.0 * policy.h * v)
    np.testing.assert_array_equal(structure.port_input(v), 0.0)


def test_without_memory_there_is_no_read_and_no_way_back_to_the_best():
    policy = wild(0, 1.0, d=4, use_memory=False)
    z = policy.observe(jnp.ones(4), jnp.ones(4), jnp.array(1.0), jnp.ones(4))
    assert z.shape == (14,)
    view = view_of(policy, 0, (jnp.ones(4), jnp.ones(4), jnp.array(1.0), jnp.ones(4)))
    assert policy.planner.gains.directions.shape == (2,)
    assert jnp.all(jnp.isfinite(policy.plan(view).anchor))


def test_a_planned_horizon_stays_between_one_and_twice_the_clock():
    seen = set()
    for seed in range(20):
        policy = wild(seed, 3.0, d=2, plan_horizon=True)
        seen.add(int(policy.plan(view_of(policy, seed)).horizon))
    assert 1 <= min(seen) < 6 < max(seen) <= 11


@pytest.mark.full
def test_a_sampled_mode_follows_its_probabilities_and_otherwise_the_key_is_ignored():
    policy, sampling = wild(0, 0.1, d=2), wild(0, 0.1, d=2, sample_mode=True)
    view = view_of(policy, 1)
    keys = jax.random.split(jax.random.key(2), 600)
    assert jnp.unique(jax.vmap(lambda k: policy.plan(view, k).mode)(keys)).size == 1
    shares = np.bincount(jax.vmap(lambda k: sampling.plan(view, k).mode)(keys), minlength=3) / 600.0
    np.testing.assert_allclose(shares, sampling.plan(view, keys[0]).mode_probabilities, atol=0.08)


def test_the_anchor_keeps_to_the_box_it_is_given():
    policy = wild(0, 3.0, d=2)
    view = view_of(policy, 2)
    q = view.q
    lower, upper = q - 0.1, q + 0.05
    anchor = policy.plan(view, None, lower, upper).anchor
    assert jnp.all((anchor >= lower) & (anchor <= upper))
    away = view._replace(q=q + 100.0)
    assert jnp.all(policy.plan(away, None, -jnp.inf, jnp.inf).anchor > 90.0)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("d", 0), ("d", 2.0), ("rank", -1), ("event_horizon", 0), ("hidden", 0), ("descriptor_size", -1)),
        *(("h", 0.0), ("h", "0.1"), ("u_max", float("nan")), ("trust_radius", -1.0), ("dtype", "int32")),
    ],
)
def test_wrong_settings_are_named(name, value):
    with pytest.raises(ValueError, match=f"`{name}` must be .*; got"):
        PaperPolicy.create(key=jax.random.key(0), **({"d": 2} | {name: value}))


def test_without_a_place_no_shift_of_the_box_changes_what_is_chosen():
    policy = wild(3, 1.0, d=3, sees_place=False)
    state = state_of(policy, 4)
    view = view_of(policy, 4, state)
    shifted = view_of(policy, 4, (state[0] + 1.5, *state[1:]))
    (here, there), far = (policy.plan(one, None, -jnp.inf, jnp.inf) for one in (view, shifted)), jnp.full(3, 1.5)
    np.testing.assert_allclose(there.anchor, here.anchor + far, rtol=1e-12)
    masses = [policy.steer(one, action).structure.metric.inverse for one, action in ((view, here), (shifted, there))]
    np.testing.assert_allclose(masses[0], masses[1], rtol=1e-9)
    told = wild(3, 1.0, d=3)
    moves = [told.plan(one, None, -jnp.inf, jnp.inf).anchor - one.q for one in (view_of(told, 4, state), shifted)]
    assert not np.allclose(*moves), "the paper's networks see q"
