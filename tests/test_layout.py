"""House rules that the text of the sources is held to: who imports whom, what is declared, how long a file is."""

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "shapeopt"

# From the ground up. A room imports only rooms of earlier lines; rooms on one line don't know each other.
ORDER = (
    ("core", "workers"),
    ("ops", "terminal"),
    ("tasks", "dynamics", "memory"),
    ("oracles", "tactics"),
    ("planner",),
    ("optimizer", "baselines", "peers"),
    ("family",),
    ("values_only", "policies", "rollout"),
    ("engines",),
    ("bench", "objective"),
    ("plots",),
    ("paper",),
    ("report",),
    ("minimizer", "asktell", "sums_of_squares"),
    ("adapters", "solvers", "training"),
    ("learning",),
    ("ase", "lmfit", "nevergrad", "optax", "optimagic", "optuna", "pypesto", "sklearn", "torch"),
    ("cli",),
    ("__main__",),
)
OPEN_TO = {"paper": {"cli"}}  # nothing else imports the paper
LEVEL = {room: level for level, rooms in enumerate(ORDER) for room in rooms}
PICKLES = {"pickle", "_pickle", "cPickle", "cloudpickle", "dill", "joblib", "marshal", "shelve"}
DISTRIBUTION = {  # where the two names differ
    "distributed": "dask",
    "myst_nb": "myst-nb",
    "sklearn": "scikit-learn",
    "xdist": "pytest-xdist",
}
LONGEST = 500

SOURCES = sorted(PACKAGE.rglob("*.py"))
OTHERS = sorted(p for folder in ("tests", "examples", "benchmarks", "docs") for p in (ROOT / folder).rglob("*.py"))


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def imports(tree: ast.Module, package: tuple[str, ...] = ()) -> Iterator[str]:
    """Full dotted names of all that a module imports, wherever in it; relative ones are resolved against `package`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            origin = ".".join([*base, *([node.module] if node.module else [])])
            yield from (f"{origin}.{alias.name}" for alias in node.names)


def imports_of(path: Path) -> list[str]:
    package = path.relative_to(PACKAGE.parent).parent.parts if path.is_relative_to(PACKAGE) else ()
    return list(imports(ast.parse(path.read_text()), package))


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).with_suffix("").parts[0]


def breaches(room: str, names: list[str]) -> list[str]:
    """The imports that `room` may not make."""
    found = []
    for name in names:
        head, _, rest = name.partition(".")
        target = rest.partition(".")[0]
        if head != "shapeopt" or target == room:
            continue
        allowed = room in OPEN_TO[target] if target in OPEN_TO else LEVEL.get(target, len(ORDER)) < LEVEL[room]
        if not allowed:
            found.append(name)
    return found


def declared(*extras: str) -> set[str]:
    """Normalised names of the distributions that pyproject.toml asks for, with those of `extras` ("all" for all)."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    optional = project["optional-dependencies"]
    chosen = optional if extras == ("all",) else {extra: optional[extra] for extra in extras}
    requirements = [*project["dependencies"], *(line for lines in chosen.values() for line in lines)]
    return {re.match(r"[\w.-]+", line)[0].lower().replace("_", "-") for line in requirements}


def third_party(path: Path) -> set[str]:
    """Distributions that a file imports: all that is neither the standard library nor ours."""
    heads = {name.partition(".")[0] for name in imports_of(path)}
    ours = {"shapeopt", "dev", "kinds", *(p.stem for p in OTHERS)}
    return {DISTRIBUTION.get(head, head).replace("_", "-") for head in heads - sys.stdlib_module_names - ours - {""}}


@pytest.mark.parametrize("path", SOURCES, ids=relative)
def test_a_room_imports_only_rooms_above_it(path):
    room = room_of(path)
    if room == "__init__":
        return  # the package's front hall shows what all rooms offer
    assert room in LEVEL, f"{room!r} has no place in ORDER; give it one in tests/test_layout.py."
    assert not breaches(room, imports_of(path))


@pytest.mark.parametrize(
    ("room", "line", "allowed"),
    [
        ("tasks", "from ..core import Box", True),
        ("tasks", "from .levy import Levy", True),
        ("tasks", "import shapeopt.core.box", True),
        ("oracles", "from shapeopt import core", True),
        ("cli", "def f():\n    from ..paper.training import train", True),
        ("report", "from ..paper.theory import check_cell", False),
        ("core", "from ..paper.dynamics import step", False),
        ("core", "from .. import tasks", False),
        ("core", "import shapeopt.rollout", False),
        ("tasks", "from shapeopt import minimize", False),
        ("tasks", "import shapeopt", False),
        ("plots", "def f():\n    from ..minimize import minimize", False),
        ("tasks", "from .. import Anything", False),
    ],
)
def test_the_import_rule_tells_right_from_wrong(room, line, allowed):
    names = list(imports(ast.parse(line), ("shapeopt", room)))
    assert bool(breaches(room, names)) is not allowed


@pytest.mark.parametrize("path", SOURCES, ids=relative)
def test_every_third_party_import_of_the_package_is_declared(path):
    assert third_party(path) <= declared(
        *("jax", "report", "peers", "torch", "distributed", "optuna", "nevergrad", "suites", "lmfit"),
        *("optimagic", "pypesto"),
    )


@pytest.mark.parametrize("path", OTHERS, ids=relative)
def test_every_third_party_import_beside_the_package_is_declared(path):
    assert third_party(path) <= declared("all")


@pytest.mark.parametrize("path", [*SOURCES, *OTHERS, ROOT / "dev.py"], ids=relative)
def test_no_file_is_longer_than_two_files_should_be(path):
    assert len(path.read_text().splitlines()) <= LONGEST


@pytest.mark.parametrize("path", [*SOURCES, *OTHERS, ROOT / "dev.py"], ids=relative)
def test_nothing_is_pickled(path):
    heads = {name.partition(".")[0] for name in imports_of(path)}
    assert not heads & PICKLES


def test_dev_needs_only_the_standard_library():
    assert not third_party(ROOT / "dev.py")


@pytest.mark.skipif(not list(PACKAGE.glob("cli*/__init__.py")) + list(PACKAGE.glob("cli.py")), reason="no cli yet")
def test_importing_the_command_line_does_not_import_jax():
    code = "import sys, shapeopt.cli; sys.exit('jax' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr or "shapeopt.cli imported jax"
