"""Checkpoints come back bit for bit, or not at all."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from shapeopt.paper.training.checkpoint import CheckpointError, read_progress, restore, save_checkpoint


def tree():
    return {
        "a": jnp.array([1.0, -0.0, jnp.nan]),
        "b": (jnp.arange(3, dtype=jnp.int32), jnp.asarray(True)),
        "key": jax.random.key(7),
        "none": None,
    }


def test_arrays_keys_and_progress_come_back(tmp_path):
    path = tmp_path / "checkpoint.safetensors"
    save_checkpoint(path, tree(), {"updates": 3, "curve": [[0, 0.1]]})
    blank = jax.tree.map(lambda leaf: leaf, tree()) | {"key": jax.random.key(0), "a": jnp.zeros(3)}
    back, progress = restore(path.read_bytes(), path, blank), read_progress(path.read_bytes(), path)
    assert progress == {"updates": 3, "curve": [[0, 0.1]]}
    assert np.asarray(back["a"]).tobytes() == np.asarray(tree()["a"]).tobytes()
    np.testing.assert_array_equal(back["b"][0], [0, 1, 2])
    assert jax.random.normal(back["key"]) == jax.random.normal(tree()["key"])
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def test_a_checkpoint_of_another_run_is_refused(tmp_path):
    path = tmp_path / "checkpoint.safetensors"
    save_checkpoint(path, {"a": jnp.zeros(3)}, {})
    with pytest.raises(CheckpointError, match="has another shape or dtype than in this run"):
        restore(path.read_bytes(), path, {"a": jnp.zeros(4)})
    with pytest.raises(CheckpointError, match="has other arrays than this run"):
        restore(path.read_bytes(), path, {"b": jnp.zeros(3)})


@pytest.mark.parametrize("keep", [0, 4, 60, -1])
def test_a_truncated_checkpoint_is_refused(tmp_path, keep):
    path = tmp_path / "checkpoint.safetensors"
    save_checkpoint(path, tree(), {"updates": 3})
    blob = path.read_bytes()[:keep]
    with pytest.raises(CheckpointError, match="is no valid checkpoint"):
        restore(blob, path, tree())


@pytest.mark.parametrize("blob", [b"", b"abcd", b"\x02\0\0\0\0\0\0\0{}", b"\xff" * 60])
def test_bytes_without_progress_are_refused(tmp_path, blob):
    with pytest.raises(CheckpointError, match="is no valid checkpoint"):
        read_progress(blob, tmp_path / "checkpoint.safetensors")


def test_where_a_checkpoint_can_t_be_written_the_old_one_stays(tmp_path, monkeypatch):
    path = tmp_path / "checkpoint.safetensors"
    save_checkpoint(path, tree(), {"updates": 3})

    def full(handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space left"):
        save_checkpoint(path, tree(), {"updates": 4})
    assert read_progress(path.read_bytes(), path) == {"updates": 3}
    assert [p.name for p in tmp_path.iterdir()] == [path.name]
