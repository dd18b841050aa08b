"""Workers do not outlive the process that started them."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

SCRIPT = """
import multiprocessing
import os
import time
from concurrent.futures import ProcessPoolExecutor

from shapeopt.workers import orphans

if __name__ == "__main__":
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), initializer=INITIALIZER) as pool:
        print(pool.submit(os.getpid).result(), flush=True)
        pool.submit(time.sleep, 600)
        time.sleep(600)
"""


pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")


@pytest.fixture
def started(tmp_path):
    """Starts a process whose worker begins as told; gives both, the worker by its number."""
    begun = []

    def start(initializer):
        script = tmp_path / "starts_a_worker.py"
        script.write_text(SCRIPT.replace("INITIALIZER", initializer))
        parent = subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True)
        begun.append((parent, int(parent.stdout.readline())))
        return begun[-1]

    yield start
    for parent, worker in begun:
        parent.kill()
        parent.wait()
        parent.stdout.close()
        if runs(worker):
            os.kill(worker, signal.SIGKILL)


def runs(pid):
    """Whether a process is there, and not only its number that nobody has asked for."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.parametrize("name", ["begin_worker", "end_by_signal", "end_by_watching"])
def test_a_worker_ends_with_its_killed_parent(started, name):
    parent, worker = started(f"orphans.{name}")
    assert runs(worker)
    parent.kill()
    parent.wait()
    until = time.monotonic() + 20
    while runs(worker) and time.monotonic() < until:
        time.sleep(0.05)
    assert not runs(worker)


def test_a_worker_that_began_otherwise_outlives_its_killed_parent(started):
    parent, worker = started("None")
    parent.kill()
    parent.wait()
    time.sleep(0.5)
    assert runs(worker)
