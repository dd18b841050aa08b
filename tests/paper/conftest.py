"""Policies of one's own, and a folder `weights` that holds no others."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from shapeopt.paper import find
from shapeopt.paper.policy import PaperPolicy
from shapeopt.paper.weights import save_policy


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
def weights(tmp_path, monkeypatch):
    """The folder `weights` of the working directory, empty at first; that of the checkout is not seen."""
    folder = tmp_path / "weights"
    folder.mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(find, "CHECKOUT", tmp_path / "no checkout")
    return folder


@pytest.fixture
def store(weights):
    """Puts a drawn policy under a name into `weights`."""

    def add(name, seed=0, **settings):
        save_policy(weights / name, _drawn(seed, **settings), {})

    return add
