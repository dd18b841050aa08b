"""What every suite's table promises before anything heavy is imported."""

import ast
import subprocess
import sys
import tomllib
from collections import defaultdict
from multiprocessing.reduction import ForkingPickler
from pathlib import Path

import pytest

from shapeopt.bench.suites import HALVES, SUITES
from shapeopt.bench.suites.base import alternate

ROOT = Path(__file__).parents[3]
LEAST = {  # problems and groups that a suite has at least, dimensions from and to
    "cutest": (120, 100, 2, 200),
    "nist": (54, 19, 2, 9),
    "gp": (60, 10, 4, 15),
    "clusters": (60, 25, 15, 60),
    "molecules": (48, 8, 4, 120),
    "fits": (48, 12, 3, 60),
    "trajectories": (36, 12, 5, 20),
    "bbob": (288, 24, 2, 20),
    "classic": (300, 50, 1, 4),
}
every_suite = pytest.mark.parametrize("suite", SUITES.values(), ids=SUITES)


def test_every_suite_has_its_expected_size_written_down():
    assert set(LEAST) == set(SUITES)


@every_suite
def test_a_suite_has_as_many_problems_and_groups_as_it_should(suite):
    problems, groups, low, high = LEAST[suite.name]
    assert len(suite.problems) >= problems
    assert len({problem.group for problem in suite.problems}) >= groups
    assert all(low <= problem.dimension <= high for problem in suite.problems)


@every_suite
def test_names_are_unique(suite):
    names = [problem.name for problem in suite.problems]
    assert len(set(names)) == len(names)


@every_suite
def test_no_group_lies_in_two_halves(suite):
    halves = defaultdict(set)
    for problem in suite.problems:
        halves[problem.group].add(problem.half)
    assert all(len(found) == 1 for found in halves.values())


@every_suite
def test_both_halves_have_a_fair_share(suite):
    for half in HALVES:
        assert len(suite.half(half)) >= 0.35 * len(suite.problems)


@every_suite
def test_random_starts_come_in_threes(suite):
    seeds = defaultdict(int)
    for problem in suite.problems:
        head, _, last = problem.name.rpartition("/")
        if last.startswith(("seed", "i")) and head:
            seeds[head] += 1
    assert all(count == 3 for count in seeds.values())
    assert bool(seeds) is (suite.name not in ("cutest", "nist"))


@every_suite
def test_problems_can_be_sent_to_another_process(suite):
    for problem in suite.problems:
        back = ForkingPickler.loads(ForkingPickler.dumps(problem))
        assert back.name == problem.name


@every_suite
def test_a_budget_is_among_the_budgets(suite):
    assert all(not p.budgets or p.budget in p.budgets for p in suite.problems)


@every_suite
def test_the_extra_of_a_suite_is_declared(suite):
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert suite.extra in ("", *extras)
    assert bool(suite.packages) is bool(suite.extra)


def test_a_data_set_of_two_suites_lies_in_one_half():
    gp = {problem.group: problem.half for problem in SUITES["gp"].problems}
    fits = {problem.group.removeprefix("breast_"): problem.half for problem in SUITES["fits"].problems}
    shared = gp.keys() & fits.keys()
    assert shared >= {"iris", "wine", "diabetes", "cancer"}
    assert all(gp[name] == fits[name] for name in shared)


def test_bbob_is_split_by_odd_and_even_functions():
    assert {p.group for p in SUITES["bbob"].half("dev")} == {f"f{number}" for number in range(1, 25, 2)}


def test_the_tables_import_nothing_heavy():
    code = (
        "import sys, shapeopt.bench.suites\n"
        "heavy = {'jax', 'sif2jax', 'ase', 'rdkit', 'sklearn', 'ioh', 'equinox'} & set(sys.modules)\n"
        "sys.exit(str(heavy) if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def _imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            found.update(f"{node.module or ''}.{alias.name}" for alias in node.names)
    return found


def test_nothing_that_trains_or_optimises_reads_suites():
    source = ROOT / "src" / "shapeopt"
    rooms = (
        "paper",
        "family",
        "training",
        "tasks",
        "tactics",
        "planner",
        "memory",
        "dynamics",
        "engines",
        "baselines",
        "core",
        "ops",
    )
    files = [path for room in rooms for path in (source / room).rglob("*.py")]
    files += [source / "optimizer.py", source / "minimizer.py", ROOT / "benchmarks" / "train_paper.py"]
    assert len(files) > 50
    assert not [path for path in files if any("suites" in name for name in _imports(path))]


def test_an_unknown_half_or_problem_is_refused():
    with pytest.raises(ValueError, match="half"):
        SUITES["nist"].half("both")
    with pytest.raises(ValueError, match="nobody"):
        SUITES["nist"].problem("nobody")


def test_alternating_counts_each_group_once():
    assert alternate(["a", "a", "b", "a", "c"]) == {"a": "dev", "b": "test", "c": "dev"}


@every_suite
def test_the_page_about_suites_has_the_figures_of_the_table(suite):
    page = (ROOT / "docs" / "suites.md").read_text()
    row = next(line for line in page.splitlines() if line.startswith(f"| `{suite.name}` |"))
    cells = [cell.strip() for cell in row.split("|")[3:-1]]
    groups = len({problem.group for problem in suite.problems})
    sizes = [problem.dimension for problem in suite.problems]
    counts = [len(suite.problems), groups, len(suite.half("dev")), len(suite.half("test"))]
    assert cells[:5] == [*map(str, counts), f"{min(sizes)} to {max(sizes)}"]
