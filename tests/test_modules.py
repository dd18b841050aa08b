"""`import shapeopt.torch` and its like: modules that need a package of their name, and cost nothing until then."""

import importlib.util
import subprocess
import sys

import pytest

MODULES = {
    "ase": "Relax",
    "lmfit": "fit",
    "nevergrad": "Shape",
    "optax": "shape",
    "optimagic": "ShapeValues",
    "optuna": "ShapeSampler",
    "pypesto": "ShapeOptimizer",
    "sklearn": "gp_optimizer",
    "torch": "Shape",
}
ABSENT = """
import sys
from importlib.abc import MetaPathFinder

class Absent(MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == "{0}":
            raise ModuleNotFoundError("No module named {0}", name=name)

sys.meta_path.insert(0, Absent())
"""


def fresh(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("name", MODULES)
def test_a_module_is_imported_by_a_statement_and_is_the_attribute(name):
    if importlib.util.find_spec(name) is None:
        pytest.skip(f"{name} is not installed")
    code = (
        f"import shapeopt.{name} as m, {name}, shapeopt; assert m is shapeopt.{name} is not {name}; m.{MODULES[name]}"
    )
    done = fresh(code)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", sorted(set(MODULES) - {"optax"}))
@pytest.mark.parametrize("statement", ["import shapeopt.{0}", "import shapeopt; shapeopt.{0}"])
def test_without_the_package_the_error_says_what_to_install(name, statement):
    done = fresh(f"{ABSENT.format(name)}\n{statement.format(name)}")
    assert f'shapeopt.{name} needs {name}; pip install "shapeopt[{name}]"' in done.stderr


def test_importing_the_package_is_clean_and_imports_none_of_them():
    done = fresh(
        f"import sys, shapeopt; sys.exit(', '.join({set(MODULES) | {'jax', 'scipy'}} & set(sys.modules)) or 0)"
    )
    assert done.returncode == 0, done.stderr
