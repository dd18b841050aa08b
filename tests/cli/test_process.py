"""The command line as a process: quick help, nothing heavy imported, compiled code kept, Ctrl-C while compiled."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from shapeopt.terminal.environment import cache_folder, keep_compiled_code

COMMAND = [sys.executable, "-m", "shapeopt.cli"]


HEAVY = "{'jax', 'scipy', 'numpy', 'equinox', 'matplotlib', 'shapeopt.minimizer', 'shapeopt.bench'}"


def test_importing_the_command_line_imports_nothing_heavy():
    code = f"import sys, shapeopt.cli; print(*{HEAVY} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_help_comes_at_once_since_it_imports_nothing_heavy():
    code = f"import atexit, sys; atexit.register(lambda: print('loaded:', *{HEAVY} & set(sys.modules)))"
    code += "; from shapeopt.cli import main; sys.exit(main(['--help']))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert all(word in done.stdout for word in ("minimize", "demo", "bench", "list"))
    assert done.stdout.splitlines()[-1].split() == ["loaded:"]


NAMES = (
    "JAX_COMPILATION_CACHE_DIR",
    "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS",
    "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES",
)


@pytest.fixture
def settings(monkeypatch, tmp_path):
    for name in NAMES:
        monkeypatch.setenv(name, "to be restored")
        monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path


def test_compiled_code_is_kept_in_the_users_cache_folder(settings):
    keep_compiled_code()
    assert [os.environ[name] for name in NAMES] == [str(settings / "shapeopt" / "jax"), "0", "-1"]


def test_the_settings_are_names_that_jax_knows():
    import jax

    assert all(name.lower() in jax.config.values for name in NAMES)


def test_what_the_user_has_set_stays(settings, monkeypatch):
    monkeypatch.setenv(NAMES[0], "elsewhere")
    monkeypatch.setenv(NAMES[1], "5")
    keep_compiled_code()
    assert os.environ[NAMES[0]] == "elsewhere" and os.environ[NAMES[1]] == "5"
    assert not list(settings.iterdir())


def test_nothing_is_kept_where_the_folder_cannot_be_made(settings):
    (settings / "shapeopt").write_text("a file in the way")
    keep_compiled_code()
    assert NAMES[0] not in os.environ


@pytest.mark.parametrize("value", ["", "relative"])
def test_an_xdg_folder_that_does_not_count_gives_way_to_the_home_folder(monkeypatch, value):
    monkeypatch.setenv("XDG_CACHE_HOME", value)
    assert cache_folder() == Path.home() / ".cache" / "shapeopt" / "jax"


@pytest.mark.full
def test_ctrl_c_stops_a_compiled_run_and_shows_the_best_so_far(tmp_path):
    # what a background job of a shell starts ignores Ctrl-C, so the child makes it as it is in the foreground
    code = "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler)"
    code += "; from shapeopt.cli import main; sys.exit(main())"
    words = ["minimize", "rastrigin", "--dim", "5", "--budget", "100000000", "--json", "out.json"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", code, *words], cwd=tmp_path, **pipes) as process:
        try:
            first = process.stderr.readline()
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=60)
        finally:
            process.kill()
    assert "calls  best" in first, first + err
    assert process.returncode == 130, err
    assert "stopped by Ctrl-C" in err and "Traceback" not in err
    assert "best value" in out and "distinct" in out and (tmp_path / "out.json").exists()
