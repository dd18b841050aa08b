"""Weights come back bit for bit, and every way in which the files can be wrong has its own clear error."""

import hashlib
import json
import os
from types import MappingProxyType

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import safetensors.numpy

from shapeopt.paper.kinds import POLICY_KINDS
from shapeopt.paper.policy import PaperPolicy
from shapeopt.paper.weights import PolicyFileError, cast_policy, load_card, read_policy, save_policy


def drawn(**settings) -> PaperPolicy:
    """A policy with random weights; drawing them in NumPy needs no compilation."""
    rng = np.random.default_rng(0)
    skeleton = PaperPolicy.skeleton(settings)
    return jax.tree.map(
        lambda leaf: jnp.asarray(rng.normal(size=leaf.shape), leaf.dtype) if hasattr(leaf, "shape") else leaf, skeleton
    )


@pytest.fixture
def policy() -> PaperPolicy:
    return drawn(d=3, event_horizon=4, plan_horizon=True, trust_radius=0.7)


@pytest.fixture
def stem(tmp_path, policy):
    save_policy(tmp_path / "pilot-v1.2", policy, {"trained_on": ["ackley"]})
    return tmp_path / "pilot-v1.2"


def card_of(stem):
    return stem.with_name(stem.name + ".json")


def weights_of(stem):
    return stem.with_name(stem.name + ".safetensors")


def edit_card(stem, **changes):
    card = json.loads(card_of(stem).read_text()) | changes
    card_of(stem).write_text(json.dumps(card))


def edit_weights(stem, **changes):
    """Change arrays (None removes one) and make the card's hash agree, as a forger would."""
    arrays = safetensors.numpy.load(weights_of(stem).read_bytes()) | changes
    blob = safetensors.numpy.save({name: array for name, array in arrays.items() if array is not None})
    weights_of(stem).write_bytes(blob)
    edit_card(stem, sha256=hashlib.sha256(blob).hexdigest())


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    "settings",
    [{}, {"use_controller": False}, {"use_memory": False, "rank": 2, "hidden": 5, "descriptor_size": 2}],
)
def test_a_policy_comes_back_bit_for_bit(tmp_path, settings, dtype):
    policy = drawn(d=4, dtype=dtype, **settings)
    odd = np.full(policy.planner.network.layers[0].bias.shape, -0.0, dtype)
    odd[:2] = np.nan, np.inf
    policy = eqx.tree_at(lambda p: p.planner.network.layers[0].bias, policy, jnp.asarray(odd))
    save_policy(tmp_path / "p", policy, {})
    loaded = read_policy(tmp_path / "p")
    assert loaded.settings == policy.settings
    assert jax.tree.structure(loaded) == jax.tree.structure(policy)
    for left, right in zip(jax.tree.leaves(loaded), jax.tree.leaves(policy), strict=True):
        if eqx.is_array(right):
            assert (left.dtype, left.shape) == (right.dtype, right.shape)
            assert np.asarray(left).tobytes() == np.asarray(right).tobytes()


def test_the_card_keeps_the_free_fields_and_either_file_names_the_pair(stem, policy):
    assert load_card(stem)["about"] == {"trained_on": ["ackley"]}
    assert load_card(stem)["settings"] == policy.settings
    assert eqx.tree_equal(read_policy(str(card_of(stem))), read_policy(weights_of(stem)))


def test_saving_again_replaces_both_files_and_leaves_no_others(stem, policy):
    other = jax.tree.map(lambda leaf: 2.0 * leaf if eqx.is_array(leaf) else leaf, policy)
    save_policy(stem, other, {})
    assert eqx.tree_equal(read_policy(stem), other)
    assert {path.name for path in stem.parent.iterdir()} == {"pilot-v1.2.json", "pilot-v1.2.safetensors"}


def test_a_failed_save_leaves_the_old_pair_and_no_temporary_file(stem, policy, monkeypatch):
    def refuse(*_):
        raise OSError("disk full")

    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(OSError, match="disk full"):
        save_policy(stem, jax.tree.map(lambda leaf: leaf, policy), {"new": True})
    assert len(list(stem.parent.iterdir())) == 2
    assert load_card(stem)["about"] == {"trained_on": ["ackley"]}
    assert eqx.tree_equal(read_policy(stem), policy)


@pytest.mark.parametrize("value", [float("nan"), object()])
def test_a_card_that_is_not_json_is_refused_before_anything_is_written(tmp_path, policy, value):
    with pytest.raises(ValueError, match="`card` must hold JSON values"):
        save_policy(tmp_path / "p", policy, {"score": value})
    assert not list(tmp_path.iterdir())


def test_every_flipped_byte_is_noticed(stem):
    blob = bytearray(weights_of(stem).read_bytes())
    for position in (0, 9, len(blob) // 2, len(blob) - 1):
        flipped = bytearray(blob)
        flipped[position] ^= 1
        weights_of(stem).write_bytes(flipped)
        with pytest.raises(PolicyFileError, match=r"pilot-v1\.2\.safetensors has SHA-256"):
            read_policy(stem)


@pytest.mark.parametrize("kept", [0, 4, 100, -1])
def test_a_truncated_file_is_refused_even_if_the_hash_was_made_to_agree(stem, kept):
    blob = weights_of(stem).read_bytes()[:kept]
    weights_of(stem).write_bytes(blob)
    with pytest.raises(PolicyFileError, match="has SHA-256"):
        read_policy(stem)
    edit_card(stem, sha256=hashlib.sha256(blob).hexdigest())
    with pytest.raises(PolicyFileError, match=r"pilot-v1\.2\.safetensors is not a valid safetensors file"):
        read_policy(stem)


def test_a_missing_file_is_named(stem, tmp_path):
    weights_of(stem).unlink()
    with pytest.raises(PolicyFileError, match=r"pilot-v1\.2\.safetensors does not exist"):
        read_policy(stem)
    card_of(stem).unlink()
    with pytest.raises(PolicyFileError, match=r"pilot-v1\.2\.json does not exist"):
        read_policy(stem)
    (tmp_path / "folder.json").mkdir()
    with pytest.raises(PolicyFileError, match=r"folder\.json can't be read"):
        read_policy(tmp_path / "folder")


@pytest.mark.parametrize("raw", [b"", b"{", b'{"format": 1,}', b"\xff\xfe", b'{"format": NaN}', b"[" * 100_000])
def test_a_malformed_card_is_refused(stem, raw):
    card_of(stem).write_bytes(raw)
    with pytest.raises(PolicyFileError, match=r"pilot-v1\.2\.json is not valid JSON"):
        read_policy(stem)


def test_a_card_of_the_wrong_form_is_refused(stem):
    original = card_of(stem).read_text()
    changes = {
        '"settings" as dict; got 3': {"settings": 3},
        '"sha256" as str; got None': {"sha256": None},
        '"about" as dict; got ': {"about": []},
        '"kind" as str; got ': {"kind": ["paper"]},
        "format 2; this version reads 1": {"format": 2},
        r'kind "os.system"; known kinds are \[.*paper': {"kind": "os.system"},
    }
    for message, change in changes.items():
        edit_card(stem, **change)
        with pytest.raises(PolicyFileError, match=message):
            read_policy(stem)
        card_of(stem).write_text(original)
    card_of(stem).write_text("[1]")
    with pytest.raises(PolicyFileError, match="must hold a JSON object; got list"):
        read_policy(stem)


@pytest.mark.parametrize(
    "change",
    [{"d": -1}, {"d": "3"}, {"colour": "red"}, {"dtype": "object"}, {"key": 0}, {"hidden": 1e9}, {"d": 10**40}],
)
def test_settings_that_do_not_fit_are_refused_without_allocating(stem, change):
    edit_card(stem, settings=load_card(stem)["settings"] | change)
    with pytest.raises(PolicyFileError, match=r"pilot-v1\.2"):
        read_policy(stem)


def test_a_policy_larger_than_memory_is_refused_by_its_shapes(stem):
    edit_card(stem, settings=load_card(stem)["settings"] | {"hidden": 10**9})
    with pytest.raises(PolicyFileError, match=r"planner\.network\.layers\.0\.weight has shape"):
        read_policy(stem)


def test_a_wrong_shape_dtype_or_name_is_refused_under_a_matching_hash(stem):
    name = "planner.network.layers.0.bias"
    blob, card = weights_of(stem).read_bytes(), card_of(stem).read_text()
    right = safetensors.numpy.load(blob)[name]
    for message, changes in {
        rf"{name} has shape \(31,\); expected \(32,\)": {name: right[:31]},
        rf"{name} has dtype float32; expected float64": {name: right.astype(np.float32)},
        rf"lacks the arrays \['{name}'\]": {name: None},
        r"arrays that the policy does not: \['extra'\]": {"extra": right},
        r"arrays that the policy does not: \['\.\./\.\./escape'\]": {"../../escape": right},
    }.items():
        edit_weights(stem, **changes)
        with pytest.raises(PolicyFileError, match=message):
            read_policy(stem)
        weights_of(stem).write_bytes(blob)
        card_of(stem).write_text(card)
    assert not (stem.parent.parent / "escape").exists()


def test_a_file_above_the_limit_is_refused_by_its_size_alone(stem):
    size = weights_of(stem).stat().st_size
    with pytest.raises(PolicyFileError, match=f"has {size} bytes; the limit is {size - 1}"):
        read_policy(stem, max_bytes=size - 1)
    read_policy(stem, max_bytes=size)
    os.truncate(weights_of(stem), 64 * 2**20 + 1)  # sparse: it takes no room
    with pytest.raises(PolicyFileError, match=f"has {64 * 2**20 + 1} bytes; the limit is {64 * 2**20}"):
        read_policy(stem)
    os.truncate(card_of(stem), 2**20 + 1)
    with pytest.raises(PolicyFileError, match=rf"pilot-v1\.2\.json has {2**20 + 1} bytes; the limit is {2**20}"):
        read_policy(stem)


def test_the_table_of_kinds_is_closed_and_can_be_given(stem):
    assert isinstance(POLICY_KINDS, MappingProxyType)
    with pytest.raises(PolicyFileError, match=r'kind "paper"; known kinds are \[\]'):
        read_policy(stem, kinds={})


def test_wide_weights_say_what_they_need_when_only_narrow_floats_exist(stem):
    with jax.enable_x64(False), pytest.raises(PolicyFileError, match=r"'float64' needs jax\.enable_x64"):
        read_policy(stem)


def test_a_cast_policy_runs_in_the_other_precision(policy):
    narrow = cast_policy(policy, jnp.float32)
    assert narrow.settings == policy.settings | {"dtype": "float32"}
    assert eqx.tree_equal(cast_policy(narrow, jnp.float32), narrow)


def test_the_path_must_name_a_policy():
    with pytest.raises(ValueError, match="`path` must name a policy"):
        read_policy("/")
