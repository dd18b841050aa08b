"""The light install: what needs NumPy alone never imports JAX, and what needs JAX says so in one line."""

import importlib.util
import subprocess
import sys

import pytest

BLOCK = """
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("jax", "jaxlib", "equinox", "optax", "jaxtyping"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent())
"""
LIGHT = {
    "core": "arrays attribute board box codes event_log extras fingerprint gradient_fit lazy policy_files problem "
    "reading result tree",
    "workers": "orphans timed",
    "ops": "host random",
    "dynamics": "inverse move",
    "memory": "basins",
    "tactics": "base hop noise_check pair_fit pair_hops pair_model profiles recall refine sample separable_sum settle "
    "start turned_axes",
    "planner": "order",
    "family": "policy regression",
    "training": "agree combine instance jobs journals learn periodic planner run table train",
    "learning": "families measure table",
    "engines": "host",
    "oracles": "batched checks finite_differences flat host journal probes",
    "adapters": "ase command constraints flight hopping lagrangian lmfit minibatches nevergrad optimagic optuna "
    "pypesto scipy scipy_forms sklearn stepped torch",
    "report": "folder rivals run_page saved scenes view words",
    "plots": "energy style",
    "terminal": "environment errors interrupt progress record",
    "paper.commands": "figures policy theory train train_progress",
    "cli": "bench bench_learning bench_tables completion demo listing minimize objective report summary train",
}
NEEDED = {"energy": "matplotlib", "style": "matplotlib"}
NEEDED |= {name: name for name in ("ase", "lmfit", "nevergrad", "optimagic", "optuna", "pypesto", "sklearn", "torch")}


def run(code: str) -> subprocess.CompletedProcess[str]:
    """A fresh process in which JAX and what is built on it are not installed."""
    command = [sys.executable, "-W", "error", "-c", f"{BLOCK}\n{code}"]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("room", LIGHT)
def test_a_light_room_imports_without_jax(room):
    names = [name for name in LIGHT[room].split() if importlib.util.find_spec(NEEDED.get(name, "numpy")) is not None]
    fronts = ["shapeopt", "shapeopt.objective", "shapeopt.optimizer", "shapeopt.values_only", "shapeopt.minimizer"]
    fronts += ["shapeopt.asktell", "shapeopt.policies"]
    modules = [*fronts, f"shapeopt.{room}", *(f"shapeopt.{room}.{name}" for name in names)]
    done = run(f"import importlib\nfor name in {modules}:\n    importlib.import_module(name)")
    assert done.returncode == 0, done.stderr


def test_the_block_would_be_noticed():
    assert "No module named 'jax'" in run("import jax").stderr
    assert run("import shapeopt.core.contract").returncode != 0


def test_a_numpy_objective_is_read_without_jax():
    done = run(
        """
import numpy as np
from shapeopt.core import Box
from shapeopt.core.problem import read_problem
from shapeopt.oracles import FiniteDifferences, HostOracle

problem = read_problem({"a": [1.0, 2.0], "b": np.ones((2, 2))}, (-5, 5), np.random.default_rng(0))
box = Box.around(problem.lower, problem.upper, problem.x0)
np.testing.assert_allclose(box.outward(box.inward(problem.x0)), problem.x0)
fun = lambda x: float(np.sum(np.square(x)))
differences = FiniteDifferences("3-point", problem.lower, problem.upper)
for jac, scheme in ((None, differences), (lambda x: 2 * x, None)):
    oracle = HostOracle(fun, problem.x0, jac, differences=scheme)
    assert not oracle.first_reading(problem.x0)
    np.testing.assert_allclose(oracle.read(problem.x0).gradient, 2 * problem.x0, atol=1e-8)
"""
    )
    assert done.returncode == 0, done.stderr


def test_minimize_and_shape_on_a_numpy_function_never_import_jax():
    """JAX is installed here, and not blocked; it is not asked for."""
    code = """
import sys
import numpy as np
import shapeopt

pair = lambda x: (float(x @ x + np.cos(5 * x).sum()), 2 * x - 5 * np.sin(5 * x))
for d in (2, 12):
    x0, bounds = np.linspace(-2, 3, d), (np.full(d, -5.0), np.full(d, 5.0))
    assert shapeopt.minimize(pair, x0, bounds=bounds, budget=80, jac=True).nfev == 80
    assert shapeopt.minimize(lambda x: pair(x)[0], x0, bounds=bounds, budget=80).nfev == 80
    assert shapeopt.minimize(pair, x0, bounds=bounds, budget=80, jac=True, num_starts=3, stages=True).nfev == 80
shape = shapeopt.Shape(x0, bounds=bounds, budget=30)
while shape.left:
    x = shape.ask()
    shape.tell(x, *pair(x))
loaded = {"jax", "jaxlib", "equinox", "optax", "torch", "matplotlib"} & {name.partition(".")[0] for name in sys.modules}
sys.exit(f"loaded: {loaded}" if loaded else 0)
"""
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_an_error_of_a_numpy_objective_is_not_taken_for_a_wish_for_jax():
    done = run(
        """
import numpy as np
from shapeopt.oracles import HostOracle

def fun(x):
    raise TypeError("of its own")

oracle = HostOracle(fun, np.ones(2))
try:
    oracle.first_reading(np.ones(2))
except TypeError as error:
    assert str(error) == "of its own" and oracle.calls == 1
else:
    raise SystemExit("it did not pass")
"""
    )
    assert done.returncode == 0, done.stderr


def test_constraints_and_their_lagrangian_compute_without_jax():
    done = run(
        """
import numpy as np
from scipy.optimize import Bounds, LinearConstraint
from shapeopt.adapters.constraints import Constraints, read_constraints
from shapeopt.adapters.lagrangian import Lagrangian

x = np.array([0.5, 2.0])
given = [LinearConstraint([[1.0, 1.0]], 3.0, 3.0), {"type": "ineq", "fun": lambda x: x[0] - 1}]
known = Constraints(read_constraints(given), x, Bounds(-5, 5))
np.testing.assert_allclose(known.jacobian(x), [[1, 1], [1, 0]], atol=1e-6)
value = Lagrangian.of(lambda x: x @ x, False, known, [0.0, 0.0], 2.0)(x)
np.testing.assert_allclose(value, 4.25 + 0.25 + 0.25)
"""
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["bench", "run", "paper", "--out", "runs"], "shapeopt bench"),
        (["train", "out", "--preset", "paper-2"], "shapeopt train"),
        (["theory", "out"], "shapeopt theory"),
        (["list"], "shapeopt list"),
        (["figures", "search", "a.png"], "shapeopt figures"),
        (["minimize", "ackley", "--dim", "2"], "the family 'ackley'"),
    ],
    ids=lambda words: words[0] if isinstance(words, list) else "",
)
def test_a_command_that_needs_jax_says_so_in_one_line(words, line):
    done = run(f"from shapeopt.cli import main\nsys.exit(main({words}))")
    assert done.returncode == 2
    assert done.stderr.splitlines() == [f'shapeopt: error: {line} needs jax; pip install "shapeopt[jax]"']


@pytest.mark.parametrize("name", ["tasks", "optax"])
def test_a_room_that_needs_jax_says_so_in_one_line(name):
    done = run(f"import shapeopt.{name}")
    assert done.stderr.splitlines()[-1].endswith(f'shapeopt.{name} needs jax; pip install "shapeopt[jax]"')


def test_help_needs_no_jax():
    done = run("from shapeopt.cli import main\nsys.exit(main(['minimize', '--help']))")
    assert done.returncode == 0 and "--budget" in done.stdout, done.stderr
