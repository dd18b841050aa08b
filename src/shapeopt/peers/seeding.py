"""NumPy's global generator, which some libraries draw from."""

import contextlib
from collections.abc import Iterator

import numpy as np


@contextlib.contextmanager
def numpy_seed(seed: int) -> Iterator[None]:
    """Seed NumPy's global generator inside, and leave it outside as it was."""
    before = np.random.get_state()
    np.random.seed(seed % 2**32)
    try:
        yield
    finally:
        np.random.set_state(before)
