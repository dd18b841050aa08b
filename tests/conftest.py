"""What every test stands on: float64, strict promotion, a repeatable search for counterexamples, warm compilation."""

import gc
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import jax
import pytest

sys.path.insert(0, str(Path(__file__).parent))  # for optimizer_runs

# Most of a test's time is compilation; kept executables made a second run of a small sample of the step five times
# quicker. Processes that a test starts inherit the settings; a developer's own choice of folder wins.
CACHE = {
    "jax_compilation_cache_dir": str(Path(__file__).parents[1] / ".pytest_cache" / "jax"),
    "jax_persistent_cache_min_compile_time_secs": 0.0,
}
if "JAX_COMPILATION_CACHE_DIR" not in os.environ:
    for name, value in CACHE.items():
        jax.config.update(name, value)
        os.environ[name.upper()] = str(value)

# LLVM's optimizer takes half of that time, and the runs of a test are too short to pay for it. XLA reads the variable
# when it starts, here and in the processes that a test starts.
QUICK = "--xla_backend_optimization_level=0"
if "xla_backend_optimization_level" not in os.environ.get("XLA_FLAGS", ""):
    os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {QUICK}".strip()

hypothesis.settings.register_profile(
    "shapeopt",
    deadline=None,  # the first example of a shape pays for its compilation
    derandomize=True,
    max_examples=25,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile("shapeopt")


@pytest.fixture(autouse=True)
def float64() -> Iterator[None]:
    """Tests see float64 by default; those about float32 pass float32 arrays."""
    with jax.enable_x64(True):
        yield


@pytest.fixture(autouse=True)
def strict_promotion() -> Iterator[None]:
    """Mixing two dtypes is an error, so that a stray cast can't hide."""
    with jax.numpy_dtype_promotion("strict"):
        yield


# Every executable that JAX keeps holds a few of the 65,530 memory maps that Linux grants a process by default; a
# worker that used them up crashed, late in a run of all tests. Compiling afresh comes from CACHE.
MANY_MAPS = 20_000


@pytest.fixture(autouse=True, scope="module")
def bounded_executables() -> Iterator[None]:
    yield
    maps = Path("/proc/self/maps")
    if maps.exists() and len(maps.read_bytes().splitlines()) > MANY_MAPS:
        jax.clear_caches()
        gc.collect()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Of a grid, each so manieth case stays in the quick tier: another one in each test function of a file."""
    cases: dict[str, int] = {}
    for item in items:
        grid = item.get_closest_marker("grid")
        if grid is None or not hasattr(item, "callspec"):
            continue
        name = item.nodeid.partition("[")[0]
        seen = cases[name] = cases.get(name, sum(map(ord, name)) % grid.args[0]) + 1
        if seen % grid.args[0]:
            item.add_marker(pytest.mark.full)
