"""Settings of the process that must stand before JAX is imported."""

import os
from pathlib import Path


def keep_compiled_code() -> None:
    """Let JAX keep what it compiles in the user's cache folder, so that a second run starts quickly.

    What the user has set stays; where the folder can't be written nothing is kept.
    """
    if "JAX_COMPILATION_CACHE_DIR" not in os.environ:
        folder = cache_folder()
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError:
            return
        if not os.access(folder, os.W_OK):
            return
        os.environ["JAX_COMPILATION_CACHE_DIR"] = str(folder)
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")


def cache_folder() -> Path:
    """`shapeopt/jax` in the user's cache folder (an empty or relative XDG_CACHE_HOME does not count)."""
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (base if base.is_absolute() else Path("~/.cache").expanduser()) / "shapeopt" / "jax"


def one_thread_for_small_matrices() -> None:
    """Let OpenBLAS use one thread, unless the user has said otherwise: SciPy's methods wait for more of them."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
