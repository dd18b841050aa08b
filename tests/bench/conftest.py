"""A folder of shipped policies of one's own."""

import shutil

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from shapeopt.policy import PaperPolicy, find, save_policy


def _drawn(seed=0, **settings):
    """A paper policy with small random weights; drawing them in NumPy needs no compilation."""
    rng = np.random.default_rng(seed)
    return jax.tree.map(
        lambda leaf: jnp.asarray(0.1 * rng.normal(size=leaf.shape), leaf.dtype) if hasattr(leaf, "shape") else leaf,
        PaperPolicy.skeleton({"dtype": "float64", "hidden": 4, "rank": 1, **settings}),
    )


@pytest.fixture
def drawn():
    return _drawn


@pytest.fixture
def ship(tmp_path, monkeypatch):
    """Puts a paper policy under a name into the shipped ones, of which `universal` alone is there at first."""
    folder = tmp_path / "shipped"
    folder.mkdir()
    for suffix in (".json", ".safetensors"):
        shutil.copy(find.FOLDER / f"universal{suffix}", folder)
    monkeypatch.setattr(find, "FOLDER", folder)

    def add(name, seed=0, **settings):
        save_policy(folder / name, _drawn(seed, **settings), {})
        find._shipped.cache_clear()

    return add
