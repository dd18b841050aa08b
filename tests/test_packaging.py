"""What set-up promises: a lock that fits pyproject.toml, a whole wheel, a `dev.py` that installs when it must."""

import importlib.util
import os
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import jax.numpy as jnp
import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import shapeopt

ROOT = Path(__file__).parents[1]
LOCK = (ROOT / "requirements.lock").read_text()
DOCS_LOCK = (ROOT / "requirements-docs.lock").read_text()
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
PINS, DOCS_PINS = (dict(re.findall(r"^([\w.-]+)==([^\s;\\]+)", text, flags=re.MULTILINE)) for text in (LOCK, DOCS_LOCK))


def test_one_version_is_named_everywhere_and_the_changelog_begins_with_it():
    citation = dict(re.findall(r"^(version|date-released): (\S+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE))
    release, date = re.findall(r"^## ([\d.]+) - (\S+)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)[0]
    assert release == citation["version"] == PROJECT["version"] == shapeopt.__version__
    assert date == citation["date-released"]


@pytest.fixture
def dev(tmp_path, monkeypatch):
    """A fresh `dev` module over an empty checkout whose commands are recorded in `dev.calls` and not run.

    `dev.codes` maps a word to the exit code of each command that has it; all others succeed.
    """
    spec = importlib.util.spec_from_file_location("dev", ROOT / "dev.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for name in ("LOCK", "DOCS_LOCK", "VENV", "PYTHON", "STAMP", "DOCS_STAMP"):
        monkeypatch.setattr(module, name, tmp_path / getattr(module, name).relative_to(ROOT))
    monkeypatch.setattr(module, "ROOT", tmp_path)
    module.PYTHON.parent.mkdir(parents=True)
    module.PYTHON.touch()
    module.LOCK.write_text("uv==1.0 \\\n    --hash=sha256:00\nzoo==2.0 \\\n    --hash=sha256:01\n")
    module.DOCS_LOCK.write_text(module.LOCK.read_text())
    (tmp_path / "pyproject.toml").write_text("[project]\n")
    module.calls, module.codes = [], {}

    def run(*command):
        words = [str(word) for word in command]
        module.calls.append(words)
        return max((code for word, code in module.codes.items() if word in words), default=0)

    monkeypatch.setattr(module, "run", run)
    monkeypatch.setattr(module, "have_uv", lambda: True)
    return module


def requirements(*extras: str) -> list[str]:
    """What the project and its extras ask for, apart from the project itself with another extra."""
    lines = [*PROJECT["dependencies"], *(line for extra in extras for line in PROJECT["optional-dependencies"][extra])]
    return [line for line in lines if Requirement(line).name != PROJECT["name"]]


@pytest.mark.parametrize("line", requirements("dev", "jax", "report", "peers", "distributed"))
def test_the_lock_pins_a_version_that_pyproject_allows(line):
    wanted = Requirement(line)
    assert PINS[canonicalize_name(wanted.name)] in wanted.specifier


@pytest.mark.parametrize("line", requirements("docs"))
def test_the_lock_of_the_docs_pins_what_they_need(line):
    wanted = Requirement(line)
    assert DOCS_PINS[canonicalize_name(wanted.name)] in wanted.specifier


def test_the_lock_of_the_docs_moves_no_other_pin():
    assert {name: DOCS_PINS.get(name) for name in PINS} == PINS


@pytest.mark.parametrize(("text", "pins"), [(LOCK, PINS), (DOCS_LOCK, DOCS_PINS)], ids=["lock", "docs"])
def test_every_pin_of_a_lock_has_a_hash(text, pins):
    entries = re.split(r"^(?=\S)", text.strip(), flags=re.MULTILINE)[1:]
    assert len(entries) == len(pins) > 0
    assert all("--hash=sha256:" in entry for entry in entries)


def test_the_core_needs_neither_jax_nor_what_is_built_on_it():
    needed = {canonicalize_name(Requirement(line).name) for line in requirements()}
    assert needed == {"numpy", "scipy", "safetensors", "tyro", "rich"}


def test_the_lock_leaves_heavy_extras_out():
    heavy = {canonicalize_name(Requirement(line).name) for line in requirements("torch", "nevergrad", "docs")}
    pinned = requirements("dev", "jax", "report", "peers", "distributed")
    heavy -= {canonicalize_name(Requirement(line).name) for line in pinned}
    assert heavy and not heavy & set(PINS)


@pytest.mark.parametrize("name", ["requirements.lock", "requirements-docs.lock", "dev.py", ".ci/run"])
def test_set_up_names_no_address_and_no_machine_path(name):
    assert not re.search(r"://|--(extra-)?index|/(home|root|tmp|opt|usr/local)/", (ROOT / name).read_text())


def test_ci_runs_the_one_command():
    script = ROOT / ".ci" / "run"
    assert os.access(script, os.X_OK)
    assert script.read_text().rstrip().endswith("exec python3 dev.py test")


def test_the_wheel_holds_the_whole_package_and_its_command(tmp_path):
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    assert wheel.stat().st_size < 2e6, "trained weights stay outside"
    with zipfile.ZipFile(wheel) as archive:
        held = set(archive.namelist())
        (commands,) = (archive.read(name).decode() for name in held if name.endswith("entry_points.txt"))
    package = ROOT / "src" / "shapeopt"
    files = [p for p in package.rglob("*") if p.is_file() and "__pycache__" not in p.parts]
    assert {p.relative_to(package.parent).as_posix() for p in files} <= held
    assert "shapeopt = shapeopt.cli:main" in commands


def test_the_source_distribution_is_small_and_holds_what_builds_the_wheel(tmp_path):
    build = [sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (archive,) = tmp_path.glob("*.tar.gz")
    assert archive.stat().st_size < 2e6, "records and pictures stay in the repository"
    with tarfile.open(archive) as held:
        names = {name.partition("/")[2] for name in held.getnames()}
    package = {p.relative_to(ROOT).as_posix() for p in (ROOT / "src" / "shapeopt").rglob("*.py")}
    assert package | {"README.md", "LICENSE", "CITATION.cff", "CHANGELOG.md", "src/shapeopt/py.typed"} <= names


def test_tests_see_float64_and_refuse_mixed_dtypes():
    assert jnp.ones(1).dtype == jnp.float64
    with pytest.raises(ValueError, match="promotion"):
        jnp.ones(1, jnp.float32) + jnp.ones(1)


def test_set_up_installs_the_lock_and_then_the_project_into_an_environment_without_a_stamp(dev):
    dev.setup()
    first, second = dev.calls
    assert "--require-hashes" in first and str(dev.LOCK) in first
    assert "--editable" in second and "--no-deps" in second


def test_a_second_set_up_installs_nothing(dev):
    dev.setup()
    dev.calls.clear()
    dev.setup()
    assert dev.calls == []


@pytest.mark.parametrize("name", ["requirements.lock", "pyproject.toml"])
def test_set_up_installs_again_after_a_change(dev, name):
    dev.setup()
    dev.calls.clear()
    with (dev.ROOT / name).open("a") as file:
        file.write("# changed\n")
    dev.setup()
    assert len(dev.calls) == 2


def test_a_failed_install_leaves_no_stamp(dev):
    dev.setup()
    dev.LOCK.write_text("")
    dev.codes["install"] = 1
    with pytest.raises(SystemExit):
        dev.setup()
    assert not dev.STAMP.exists()


def test_pip_takes_over_where_uv_fails(dev):
    dev.codes["uv"] = 2
    dev.setup()
    by_pip = [call for call in dev.calls if "uv" not in call]
    assert len(by_pip) == 2 and all("pip" in call for call in by_pip)
    assert dev.STAMP.exists()


def test_the_entry_of_one_package_is_read_from_the_lock_with_its_hashes(dev):
    assert dev.locked("uv") == "uv==1.0 \\\n    --hash=sha256:00\n"
    with pytest.raises(ValueError, match="'zo'"):
        dev.locked("zo")


@pytest.mark.parametrize(("broken", "code"), [(None, 0), ("format", 1), ("mypy", 1), ("pytest", 1)])
def test_every_check_runs_and_any_failure_fails_the_whole(dev, broken, code):
    dev.setup()
    dev.calls.clear()
    if broken:
        dev.codes[broken] = 1
    assert dev.test(["-k", "name"]) == code
    assert [call[2] for call in dev.calls] == ["ruff", "ruff", "mypy", "pytest"]
    assert dev.calls[-1][-2:] == ["-k", "name"]


def test_the_docs_are_built_with_warnings_as_errors_and_checked_and_install_their_lock_once(dev):
    dev.setup()
    for installs in (1, 0):
        dev.calls.clear()
        dev.codes["sphinx"] = 2 * (1 - installs)
        assert dev.docs(["-E"]) == dev.codes["sphinx"]
        before, (built, *checked) = dev.calls[:installs], dev.calls[installs:]
        assert all(str(dev.DOCS_LOCK) in call for call in before)
        assert "-W" in built and built[-1] == "-E"
        assert [call[1] for call in checked] == ["docs/check_site.py"] * installs, "what was not built is not checked"
