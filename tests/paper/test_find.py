"""A policy is found by name, by path or as itself, and runs in `minimize` if it fits the problem."""

from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import shapeopt
from shapeopt.policy import PaperPolicy, PolicyFileError, UniversalPolicy, find, find_policy, save_policy

CALLS = 100
SAVED = {"d": 2, "dtype": "float64", "use_controller": False}


def drawn(**settings) -> PaperPolicy:
    """A policy with small random weights; drawing them in NumPy needs no compilation."""
    rng = np.random.default_rng(0)
    return jax.tree.map(
        lambda leaf: jnp.asarray(0.1 * rng.normal(size=leaf.shape), leaf.dtype) if hasattr(leaf, "shape") else leaf,
        PaperPolicy.skeleton(settings),
    )


@pytest.fixture
def stem(tmp_path):
    save_policy(tmp_path / "pilot", drawn(**SAVED), {})
    return tmp_path / "pilot"


def test_a_saved_policy_is_found_by_its_stem_or_either_file(stem):
    for path in (stem, f"{stem}", f"{stem}.json", f"{stem}.safetensors"):
        found = find_policy(path)
        assert isinstance(found, PaperPolicy)
        assert eqx.tree_equal(found, drawn(**SAVED))
    with jax.enable_x64(False):
        narrow = find_policy(stem)
    assert eqx.tree_equal(narrow, drawn(**SAVED))
    assert isinstance(find_policy("universal"), UniversalPolicy)


def test_what_is_not_a_policy_is_named(stem):
    with pytest.raises(
        ValueError, match=r"`policy` must be one of universal.* or .*; got 'univrsal': univrsal\.json does"
    ):
        find_policy("univrsal")
    with pytest.raises(ValueError, match="`policy` must be a name, a path or a policy; got 3"):
        find_policy(3)
    stem.with_name("pilot.safetensors").write_bytes(b"")
    with pytest.raises(PolicyFileError, match="SHA-256"):
        find_policy(stem)


def test_a_shipped_policy_keeps_its_precision_and_its_name_is_told_with_its_sisters(stem, monkeypatch):
    for name in ("universal", "paper-bowl-20", "paper-bowl-3", "paper-two_bowls-3-no-memory"):
        save_policy(stem.with_name(name), drawn(**SAVED), {})
    monkeypatch.setattr(find, "FOLDER", stem.parent)
    assert set(find.shipped()) == {"pilot", "universal", "paper-bowl-20", "paper-bowl-3", "paper-two_bowls-3-no-memory"}
    with jax.enable_x64(False):
        narrow = find_policy("paper-bowl-3")
    assert eqx.tree_equal(narrow, drawn(**SAVED))
    told = r"pilot, universal, paper-bowl-N \(N = 3, 20\), paper-two_bowls-N-no-memory \(N = 3\) or"
    with pytest.raises(ValueError, match=f"`policy` must be one of {told}"):
        find_policy("paper-bowl-4")


def test_minimize_runs_a_saved_policy_in_the_precision_of_its_start(stem):
    x0 = np.array([2.0, 3.0], np.float32)
    result = shapeopt.minimize(lambda x: (x**2).sum(), x0, bounds=(-4.0, 3.5), budget=CALLS, policy=str(stem))
    assert result.success
    assert result.x.dtype == np.float32
    assert result.nfev == CALLS
    assert result.fun < 0.2 * 13.0
    assert result.events[0].cause == "clock"
    assert result.minima[0].fun == result.fun
    total = sum(result.energy[term] for term in result.energy if term != "delta_H")
    np.testing.assert_allclose(total, result.energy["delta_H"], atol=1e-4)


def test_single_precision_weights_run_in_double_where_that_is_not_jax_s_own(tmp_path):
    save_policy(tmp_path / "single", drawn(**SAVED | {"dtype": "float32"}), {})
    with jax.enable_x64(False):  # as in a program that sets nothing
        result = shapeopt.minimize(lambda x: (x**2).sum(), np.array([2.0, 3.0]), budget=3, policy=tmp_path / "single")
    assert result.x.dtype == np.float64 and result.nfev == 3


def test_a_policy_of_another_dimension_is_refused():
    policy = drawn(**SAVED)
    with pytest.raises(ValueError, match="`policy` must be for the problem's 3 coordinates; got one for 2"):
        shapeopt.minimize(lambda x: (x**2).sum(), np.ones(3), policy=policy)
    with pytest.raises(ValueError, match="`policy` must need no task descriptor"):
        shapeopt.minimize(lambda x: (x**2).sum(), np.ones(2), policy=replace(policy, descriptor_size=1))
