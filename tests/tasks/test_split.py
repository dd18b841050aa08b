"""The split between what is trained on and what is held out, and that nothing leaks across it."""

import ast
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import pytest

import shapeopt
from shapeopt.tasks import FAMILIES, HELD_OUT, TRAINING, ShiftedTask, make_family
from shapeopt.tasks.generated import GENERATED
from shapeopt.tasks.held_out import HELD_OUT_LANDSCAPES
from shapeopt.tasks.published import PUBLISHED

PACKAGE = Path(shapeopt.__file__).parent
SMALLEST = {"lennard_jones": 6, "shekel": 4, "hartmann_6": 6, "multiwell": 1, "double_well": 1, "powell_singular": 4}
LISTS = {"tasks/table.py", "tasks/__init__.py"}  # where both sides stand together by right
HIDDEN = {"held_out", "published"}


def landscapes(node: Any) -> set[type]:
    """Classes of all modules inside a task."""
    if not isinstance(node, eqx.Module):
        return set()
    return {type(node)}.union(*(landscapes(child) for child in vars(node).values()))


def of_family(name: str) -> set[type]:
    task = jax.eval_shape(make_family(name, SMALLEST.get(name, 2)).sample, jax.random.key(0))
    return landscapes(task)


def imported(path: Path) -> set[str]:
    """Last names of the modules that a file imports from the package, wherever in it."""
    nodes = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ImportFrom | ast.Import)]
    origins = [node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)]
    names = [alias.name for node in nodes for alias in node.names]
    return {name.rpartition(".")[2] for name in (*origins, *names)}


def behind(module: str) -> set[str]:
    """The module and all of its room that it imports, directly or not."""
    found, waiting = set(), {module}
    while waiting:
        found |= waiting
        paths = [PACKAGE / "tasks" / f"{name}.py" for name in waiting]
        waiting = {name for path in paths for name in imported(path) if (PACKAGE / "tasks" / f"{name}.py").exists()}
        waiting -= found
    return found


def test_every_family_is_on_exactly_one_side() -> None:
    assert len(set(TRAINING)) == len(TRAINING) and len(set(HELD_OUT)) == len(HELD_OUT)
    assert not set(TRAINING) & set(HELD_OUT)
    assert set(TRAINING) | set(HELD_OUT) == set(FAMILIES)


def test_the_paper_s_functions_are_not_held_out_and_every_held_out_class_is() -> None:
    assert not {"ackley", "levy", "rastrigin"} & set(HELD_OUT)
    assert {kind.name for kind in GENERATED} < set(TRAINING)


def test_no_class_of_a_held_out_task_is_in_a_training_task() -> None:
    trained = set().union(*map(of_family, TRAINING))
    held = set().union(*map(of_family, HELD_OUT))
    assert set(GENERATED) < trained and {*HELD_OUT_LANDSCAPES, *PUBLISHED} < held
    assert trained & held == {ShiftedTask}  # which moves and turns, and knows no landscape


def test_no_module_of_a_training_family_stands_on_a_held_out_one() -> None:
    trained = {kind.__module__.rpartition(".")[2] for name in TRAINING for kind in of_family(name)}
    assert {"generated", "ackley", "lennard_jones", "plants"} < trained
    assert not HIDDEN & set().union(*map(behind, trained))
    assert "published" in behind("table")  # the search does find what is there


@pytest.mark.parametrize("module", sorted(HIDDEN))
def test_only_the_table_imports_held_out_landscapes(module: str) -> None:
    files = {path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py") if module in imported(path)}
    ours = {file for file in files if not file.startswith("paper/")}  # which has a module `published` of its own
    assert ours - LISTS == set() and "tasks/table.py" in ours


def test_training_never_names_a_held_out_family() -> None:
    for path in (PACKAGE / "paper" / "training").rglob("*.py"):
        words = {n.value for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.Constant)}
        assert not words & set(HELD_OUT), path.name
