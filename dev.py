"""Set up, check and try the project; needs nothing but Python 3.11 or newer.

    python3 dev.py setup            make .venv and install what requirements.lock pins, and the project itself
    python3 dev.py demo [args]      set up, then run the demonstration
    python3 dev.py test [args]      set up, then check formatting, lint, types and tests; args go to pytest, but --all,
                                    which includes the tests that take long
    python3 dev.py gate [args]      set up, then measure what was met once and compare it with the stored record; args
                                    go to benchmarks/gate.py, such as --renew
    python3 dev.py docs [args]      set up, add what requirements-docs.lock pins, then build the site and check its
                                    links and sizes; args go to Sphinx
    python3 dev.py lock [args]      make both locks again; args (such as --upgrade) go to uv

Where packages come from is the business of the user's own pip and uv settings; no address is kept here.
"""

import hashlib
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
PYTHON = VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
LOCK = ROOT / "requirements.lock"
DOCS_LOCK = ROOT / "requirements-docs.lock"  # the same pins, and the extra `docs`
STAMP = VENV / "shapeopt-installed"
DOCS_STAMP = VENV / "shapeopt-docs-installed"
OLDEST = (3, 11)
WORKERS = "2"
SITE = "docs/_build/html"

COMPILE = [
    "compile",
    "pyproject.toml",
    "--extra",
    "dev",
    "--extra",
    "jax",
    "--extra",
    "report",
    "--extra",
    "peers",
    "--extra",
    "distributed",
    "--extra",
    "optuna",
    "--extra",
    "suites",
    "--extra",
    "lmfit",
    "--python-version",
    "3.11",
]
COMPILE += ["--python-platform", "linux", "--generate-hashes", "--no-annotate", "--no-header", "--no-emit-index-url"]


def run(*command: object) -> int:
    """The exit code of a command that runs at the repository's root and shares this terminal."""
    return subprocess.run([str(part) for part in command], cwd=ROOT, check=False).returncode


def must(*command: object) -> None:
    code = run(*command)
    if code:
        sys.exit(f"dev.py: `{' '.join(map(str, command))}` failed with exit code {code}.")


def fingerprint() -> str:
    """Changes when the pinned packages, the project's metadata or the place of the checkout change."""
    digest = hashlib.sha256(str(ROOT).encode())
    for path in (LOCK, ROOT / "pyproject.toml"):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def locked(name: str) -> str:
    """The lock's entry for one package: the pin and the hashes on the lines that continue it."""
    entry: list[str] = []
    for line in LOCK.read_text().splitlines():
        if line.startswith(f"{name}==") or entry:
            entry.append(line)
            if not line.endswith("\\"):
                return "\n".join(entry) + "\n"
    raise ValueError(f"`name` must be pinned in requirements.lock; got {name!r}.")


def have_uv() -> bool:
    """Whether the environment has uv, after a try to install the pinned one."""
    if subprocess.run([PYTHON, "-m", "uv", "--version"], capture_output=True, check=False).returncode == 0:
        return True
    with tempfile.TemporaryDirectory() as folder:
        pin = Path(folder, "uv.txt")
        pin.write_text(locked("uv"))
        return run(PYTHON, "-m", "pip", "install", "--quiet", "--require-hashes", "-r", pin) == 0


def install() -> None:
    """Install the lock, then the project in editable form."""
    pinned(LOCK)
    pip("install", "--no-deps", "--no-build-isolation", "--editable", ".")


def pinned(lock: Path) -> None:
    pip("install", "--require-hashes", "-r", lock)


def pip(*words: object) -> None:
    """With uv where it can be had, else with pip."""
    if have_uv() and run(PYTHON, "-m", "uv", "pip", *words, "--python", PYTHON) == 0:
        return
    print("dev.py: uv could not do it; trying pip.", flush=True)
    must(PYTHON, "-m", "pip", "--disable-pip-version-check", *words)


def environment() -> None:
    """Make the virtual environment if there is none; one made by hand serves as well."""
    if sys.version_info < OLDEST:
        sys.exit(f"dev.py: Python 3.11 or newer is needed; this is {sys.version.split()[0]}.")
    if not PYTHON.exists():
        print(f"dev.py: making {VENV.name}", flush=True)
        must(sys.executable, "-m", "venv", VENV)


def setup() -> None:
    """Install into the environment, unless the stamp says that this was done."""
    environment()
    wanted = fingerprint()
    if STAMP.exists() and STAMP.read_text() == wanted:
        return
    start = time.perf_counter()
    STAMP.unlink(missing_ok=True)
    install()
    STAMP.write_text(wanted)
    print(f"dev.py: installed in {time.perf_counter() - start:.1f} s", flush=True)


def demo(arguments: list[str]) -> int:
    setup()
    return run(PYTHON, "-m", "shapeopt.cli", "demo", *arguments)


def test(arguments: list[str]) -> int:
    """Run every check even if an earlier one failed, so that one run tells all there is to mend."""
    setup()
    checks = {
        "format": ["ruff", "format", "--check", "."],
        "lint": ["ruff", "check", "."],
        "types": ["mypy"],
        "tests": ["pytest", "-n", WORKERS, "--dist", "worksteal", *_tier(arguments)],
    }
    outcome = {}
    for name, command in checks.items():
        print(f"\n=== {name}: {' '.join(command)}", flush=True)
        start = time.perf_counter()
        passed = run(PYTHON, "-m", *command) == 0
        outcome[name] = passed
        print(f"=== {name}: {'passed' if passed else 'FAILED'} in {time.perf_counter() - start:.1f} s", flush=True)
    failed = [name for name, passed in outcome.items() if not passed]
    print(f"\n=== {'FAILED: ' + ', '.join(failed) if failed else 'all checks passed'}", flush=True)
    return 1 if failed else 0


def gate(arguments: list[str]) -> int:
    """One BLAS thread, with which small matrices do not wait for each other."""
    setup()
    os.environ.update({"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"})
    return run(PYTHON, "benchmarks/gate.py", *arguments)


def _tier(arguments: list[str]) -> list[str]:
    """pytest's arguments; with --all, tests marked `full` are run too."""
    rest = [word for word in arguments if word != "--all"]
    return [*rest, "-m", "full or not full"] if len(rest) < len(arguments) else rest


def docs(arguments: list[str]) -> int:
    """Build the site with warnings as errors and check it; notebooks whose code has not changed are not run again."""
    setup()
    wanted = fingerprint() + hashlib.sha256(DOCS_LOCK.read_bytes()).hexdigest()
    if not DOCS_STAMP.exists() or DOCS_STAMP.read_text() != wanted:
        pinned(DOCS_LOCK)
        DOCS_STAMP.write_text(wanted)
    options = ["-n", "-W", "--keep-going", "-q", "-b", "html"]
    code = run(PYTHON, "-m", "sphinx", *options, "docs", SITE, *arguments) or run(PYTHON, "docs/check_site.py", SITE)
    print(f"dev.py: {'the site is not in order' if code else f'open {SITE}/index.html'}", flush=True)
    return code


def lock(arguments: list[str]) -> int:
    environment()
    if not have_uv():
        sys.exit("dev.py: making the lock needs uv, and it could not be installed.")
    uv = [PYTHON, "-m", "uv", "pip", *COMPILE, "--quiet"]
    added = ["--extra", "docs", "--constraint", LOCK.name]
    first = run(*uv, "--output-file", LOCK.name, *arguments)
    return first or run(*uv, *added, "--output-file", DOCS_LOCK.name, *arguments)


def main(words: list[str]) -> int:
    commands = {"demo": demo, "test": test, "gate": gate, "docs": docs, "lock": lock}
    if words[:1] == ["setup"] and len(words) == 1:
        setup()
        return 0
    if not words or words[0] not in commands:
        print(__doc__, end="")
        return 0 if words[:1] in (["-h"], ["--help"]) else 2
    return commands[words[0]](words[1:])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
