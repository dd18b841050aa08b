"""The paper's policy keeps the bounds and the structure for any weights, and derivatives reach all of them."""

import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from shapeopt.core import REACH, Mode
from shapeopt.dynamics import SemiImplicitStep, ShapedPotential
from shapeopt.memory import make_spatial_memory, spatial_read_size
from shapeopt.policy import PaperPolicy
from shapeopt.policy.paper_networks import BETA_J, BETA_R, mode_gains, nearest_hidden

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


def observation_of(policy: PaperPolicy, seed: int):
    return policy.observe(*state_of(policy, seed))


@eqx.filter_jit
def choices(policy: PaperPolicy, state, v):
    """What the policy chooses, and its operators applied to v."""
    z = policy.observe(*state)
    action = policy.plan(z)
    control = policy.steer(z, action)
    applied = control.structure.skew(v), control.structure.dissipation(v)
    return action, action.mode_probabilities, control, applied


@pytest.mark.parametrize("scale", [0.1, 3.0, 1e3])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("d", DIMENSIONS)
def test_heads_keep_their_bounds_for_any_weights(d, dtype, scale):
    policy = wild(d, scale, d=d, dtype=dtype)
    state = state_of(policy, d, scale)
    q, v = np.asarray(state[0]), np.random.default_rng(1).normal(size=d).astype(dtype)
    drawn = jax.tree.map(np.asarray, choices(policy, state, v))
    action, probabilities, (structure, kappa_loc), (skewed, damped) = drawn
    assert {leaf.dtype.name for leaf in jax.tree.leaves(drawn)} == {dtype, "int32"}
    assert all(np.all(np.isfinite(leaf)) for leaf in jax.tree.leaves(drawn))

    assert np.all(np.abs(action.anchor) <= REACH)
    assert np.all(np.abs(action.anchor - q) <= 1.0 + 1e-6)  # trust radius
    assert 0.0 < action.alpha_J < 1.0
    assert 0.0 < action.alpha_R < 1.0
    assert action.kappa > 0.0
    assert kappa_loc >= 0.0
    assert action.horizon == 6
    assert action.mode in list(Mode)
    assert action.mode == np.argmax(probabilities)
    np.testing.assert_allclose(probabilities.sum(), 1.0, rtol=1e-6)

    eps, factors = np.finfo(dtype).eps, np.linalg.norm(structure.skew.U) * np.linalg.norm(structure.skew.V)
    assert abs(v @ skewed) <= 20 * eps * (v @ v) * factors
    assert v @ damped >= 0.0
    assert np.all(structure.dissipation.diagonal >= 0.0)
    assert np.all((structure.metric.inverse >= 0.999 / np.e) & (structure.metric.inverse <= 1.001 * np.e))
    assert np.all(np.abs(structure.u_shp) <= 1.0)
    assert structure.K_d >= 0.0
    assert structure.zeta == 0.0
    assert structure.skew.U.shape == structure.dissipation.B.shape == (d, 4)
    assert np.linalg.norm(structure.dissipation.B) <= 2.0 + 1e-5  # sqrt(rank), whatever d


def test_operators_of_random_weights_do_something():
    policy = wild(0, 3.0, d=20)
    _, _, _, (skewed, damped) = choices(policy, state_of(policy, 0), jnp.ones(20))
    assert np.linalg.norm(skewed) > 0.1
    assert np.sum(damped) > 0.1


def test_mode_gains_are_those_of_the_mode():
    policy = untrained(0, d=2)
    action = policy.plan(observation_of(policy, 1))
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


def rollout(policy: PaperPolicy, q, steps: int, key):
    """Stages of the policy on f = |q|^2 / 2, in the shape the optimizer will use them; returns (q, p, ledger works)."""
    step = SemiImplicitStep(policy.h)
    bound = jnp.full_like(q, REACH)
    read = (lambda m, q: m.read(q)) if policy.use_memory else (lambda m, q: None)

    def stage(carry, key):
        q, p, memory = carry
        z = policy.observe(q, p, 0.5 * q @ q, q, read(memory, q))
        action = policy.plan(z, key)

        def fast(carry, _):
            q, p = carry
            z = policy.observe(q, p, 0.5 * q @ q, q, read(memory, q))
            structure, kappa_loc = policy.steer(z, action)
            potential = ShapedPotential.anchored(action.anchor, action.kappa + kappa_loc)
            result = step(q, p, q, potential, structure, -bound, bound, 50.0)
            return (result.q, result.p), result.work

        (q, p), works = jax.lax.scan(fast, (q, p), length=6)
        return (q, p, memory.write(q, 0.5 * q @ q, q, active=action.mode == Mode.ESCAPE)), works

    start = (q, jnp.zeros_like(q), make_spatial_memory(q.size, q.dtype))
    (q, p, _), works = jax.lax.scan(stage, start, jax.random.split(key, steps // 6))
    return q, p, works


@pytest.mark.parametrize(("d", "use_controller"), [(2, True), (2, False), (20, True)])
def test_an_untrained_policy_descends_a_bowl_and_only_dissipates(d, use_controller):
    policy = untrained(3, d=d, use_controller=use_controller)
    q0 = jnp.full(d, 3.0)
    q, p, works = jax.jit(lambda: rollout(policy, q0, 360, jax.random.key(0)))()
    assert jnp.linalg.norm(q) < 0.3 * jnp.linalg.norm(q0)
    assert jnp.all(jnp.isfinite(p))
    assert jnp.all(works.dissipation <= 0.0)
    assert jnp.all(works.damping_injection <= 0.0)
    assert works.dissipation.sum() < 0.0


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("d", [1, 20])
def test_an_untrained_structure_takes_energy_from_free_motion(d, seed):
    policy = untrained(seed, d=d)
    q, p, *_ = state = state_of(policy, seed)
    structure = choices(policy, state, p)[2].structure
    still = eqx.tree_at(lambda s: s.u_shp, structure, jnp.zeros(d))
    bound = jnp.full(d, jnp.inf)
    result = SemiImplicitStep(policy.h)(q, p, jnp.zeros(d), ShapedPotential.none(q), still, -bound, bound, jnp.inf)
    assert result.kinetic_after < result.kinetic_before


@eqx.filter_jit
@eqx.filter_grad
def derivatives(policy, start):
    return jnp.sum(rollout(policy, start, 18, jax.random.key(0))[0])


def test_derivatives_through_a_rollout_are_finite_and_reach_every_layer():
    for leaf in jax.tree.leaves(derivatives(untrained(0, d=2), jnp.full(2, 2.0))):
        assert jnp.all(jnp.isfinite(leaf))
        assert jnp.any(leaf != 0.0)


def test_the_observation_has_finite_derivatives_where_the_gradient_vanishes():
    policy = untrained(0, d=2)
    q, p, f, g, read = state_of(policy, 0)
    jacobian = jax.jacrev(lambda g: policy.observe(q, p, f, g, read))(jnp.zeros_like(g))
    assert jnp.all(jnp.isfinite(jacobian))


def test_derivatives_reach_the_mode_logits_through_the_gains():
    policy = untrained(0, d=2)
    z = observation_of(policy, 1)

    def gain(logits):
        return mode_gains(eqx.tree_at(lambda a: a.mode_logits, policy.plan(z), logits))[1]

    assert jnp.all(jnp.abs(jax.grad(gain)(jnp.array([0.1, 0.2, 0.3]))) > 1e-3)


def test_without_controller_the_structure_is_plain():
    policy = wild(0, 1.0, d=4, use_controller=False, event_horizon=4)
    z = observation_of(policy, 1)
    action = policy.plan(z)
    structure, kappa_loc = policy.steer(z, action)
    v = jnp.arange(4.0)
    assert policy.controller is None
    assert action.horizon == 4
    assert kappa_loc == 0.0
    np.testing.assert_array_equal(structure.metric.solve(v), v)
    np.testing.assert_array_equal(structure.skew(v), 0.0)
    np.testing.assert_array_equal(structure.dissipation(v), v)
    np.testing.assert_array_equal(structure.port_input(v), 0.0)


def test_without_memory_the_observation_has_no_read():
    policy = wild(0, 1.0, d=4, use_memory=False)
    z = policy.observe(jnp.ones(4), jnp.ones(4), jnp.array(1.0), jnp.ones(4))
    assert z.shape == (14,)
    assert jnp.all(jnp.isfinite(policy.plan(z).anchor))


def test_a_planned_horizon_stays_between_one_and_twice_the_clock():
    seen = set()
    for seed in range(20):
        policy = wild(seed, 3.0, d=2, plan_horizon=True)
        seen.add(int(policy.plan(observation_of(policy, seed)).horizon))
    assert 1 <= min(seen) < 6 < max(seen) <= 11


def test_a_sampled_mode_follows_its_probabilities_and_otherwise_the_key_is_ignored():
    policy, sampling = wild(0, 0.1, d=2), wild(0, 0.1, d=2, sample_mode=True)
    z = observation_of(policy, 1)
    keys = jax.random.split(jax.random.key(2), 600)
    assert jnp.unique(jax.vmap(lambda k: policy.plan(z, k).mode)(keys)).size == 1
    shares = np.bincount(jax.vmap(lambda k: sampling.plan(z, k).mode)(keys), minlength=3) / 600.0
    np.testing.assert_allclose(shares, sampling.plan(z, keys[0]).mode_probabilities, atol=0.08)


def test_the_anchor_keeps_to_the_box_it_is_given():
    policy = wild(0, 3.0, d=2)
    z = observation_of(policy, 2)
    q = z[:2]
    lower, upper = q - 0.1, q + 0.05
    anchor = policy.plan(z, None, lower, upper).anchor
    assert jnp.all((anchor >= lower) & (anchor <= upper))
    wide = policy.plan(z + jnp.zeros_like(z).at[:2].set(100.0), None, -jnp.inf, jnp.inf).anchor
    assert jnp.all(wide > 90.0)


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
