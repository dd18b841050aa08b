"""More than one device or process: the same gradients as one, a clean end when a process dies, and a resume."""

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import jax
import numpy as np
import pytest
import safetensors.numpy

from shapeopt.paper.training import parallel

pytestmark = pytest.mark.full  # a training run

HERE = Path(__file__).parent
SETTINGS = """
dimension = 2
hidden = 8
batch = 4
readings = 8
use_controller = false
planner_pretrain = 2
planner_rate = 0.01
joint_rate = 0.01
epochs = 3
joint_updates = 1
estimator = "evolution"
pairs = 1
precision = "float64"
validation_tasks = 4
validation_readings = 8
validate_every = 1
checkpoint_every = 1
"""
UPDATES = 5
QUICK = "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true"  # compile quickly, run slowly
ENVIRONMENT = os.environ | {"XLA_FLAGS": QUICK}
SECONDS = 60  # within which a process ends after another was killed; it takes about one


@pytest.fixture(scope="module")
def config(tmp_path_factory):
    path = tmp_path_factory.mktemp("config") / "tiny.toml"
    path.write_text(SETTINGS)
    return path


def free_address():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{found.getsockname()[1]}"


def run_two(config, folder, killed=None, after=0):
    """Exit codes and standard errors of two processes; `killed` kills itself after `after` updates."""
    address = free_address()

    def start(number):
        words = ["train", folder, "--config", config, "--coordinator", address, "--process", f"{number}/2"]
        command = [sys.executable, HERE / "process.py", str(after if number == killed else -1), *words]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT)

    processes = [start(number) for number in range(2)]
    try:
        if killed is not None:
            processes[killed].wait()
        began = time.monotonic()
        errors = [process.communicate(timeout=None if killed is None else SECONDS)[1] for process in processes]
        assert killed is None or time.monotonic() - began < SECONDS
    finally:
        for process in processes:
            process.kill()
    return [process.returncode for process in processes], errors


def learner(folder):
    """All arrays of the last checkpoint: weights, optimizers, estimator, and the best weights."""
    return safetensors.numpy.load((folder / "checkpoint.safetensors").read_bytes())


@pytest.fixture(scope="module")
def pair(config, tmp_path_factory):
    """The folder of a run of two processes that nothing disturbed."""
    folder = tmp_path_factory.mktemp("pair")
    codes, errors = run_two(config, folder)
    assert codes == [0, 0], errors
    return folder


def test_two_devices_make_the_gradient_of_one(tmp_path):
    sys.path.insert(0, str(HERE))
    try:
        import devices
    finally:
        sys.path.remove(str(HERE))
    flags = os.environ | {"XLA_FLAGS": "--xla_force_host_platform_device_count=2 " + QUICK}
    subprocess.run([sys.executable, HERE / "devices.py", tmp_path / "two"], env=flags, check=True)
    one, two = devices.updated(), safetensors.numpy.load((tmp_path / "two").read_bytes())
    assert one.keys() == two.keys() and one["gradient_norm"] > 0
    for name, array in one.items():
        np.testing.assert_allclose(two[name], array, rtol=0, atol=1e-9, err_msg=name)


def test_two_processes_make_the_weights_of_one(config, pair, tmp_path):
    words = [sys.executable, HERE / "process.py", "-1", "train", tmp_path, "--config", config]
    subprocess.run(words, check=True, env=ENVIRONMENT, capture_output=True)
    one, two = learner(tmp_path), learner(pair)
    weights = [name for name in one if name.startswith("[0].params")]
    assert weights and all(np.any(one[name] != one[name.replace("[0].params", "[1]")]) for name in weights)  # trained
    assert one.keys() == two.keys()
    for name, array in one.items():
        np.testing.assert_allclose(two[name], array, rtol=0, atol=1e-6, err_msg=name)
    assert len((pair / "log.jsonl").read_text().splitlines()) == UPDATES + 5  # validated 1 + 1 + 3 times


def test_when_a_process_is_killed_the_other_ends_and_both_go_on_to_the_same_bytes(config, pair, tmp_path):
    codes, errors = run_two(config, tmp_path, killed=1, after=4)
    assert codes == [1, -9], errors
    assert "shapeopt: error: another process ended or can't be reached" in errors[0] and "Traceback" not in errors[0]
    assert "the same commands go on from the last checkpoint" in errors[0]
    assert not (tmp_path / "policy.safetensors").exists()
    codes, errors = run_two(config, tmp_path)
    assert codes == [0, 0], errors
    one, other = learner(tmp_path), learner(pair)
    assert one.keys() == other.keys() and all(one[name].tobytes() == other[name].tobytes() for name in one)
    for name in ("policy.safetensors", "log.jsonl"):
        assert (tmp_path / name).read_bytes() == (pair / name).read_bytes()


SUMS = """
import os, signal, sys, jax, numpy as np
from shapeopt.paper.training import parallel
parallel.join(sys.argv[1], int(sys.argv[2]), 2)
total = parallel.compiled(parallel.task_mesh(), lambda x: jax.numpy.sum(
    parallel.over_tasks(parallel.task_mesh(), lambda _, x: 2 * x, None, (x,))))
try:
    for n in range(10000):
        assert float(total(np.arange(4.0, dtype="float32"))) == 12.0
        if n == 3 and sys.argv[2] == "0":
            os.kill(os.getpid(), signal.SIGKILL)
except Exception as error:
    sys.exit(7 if parallel.lost(error) else 8)
"""


def test_when_the_coordinator_is_killed_the_other_gets_an_exception():
    address = free_address()
    words = [[sys.executable, "-c", SUMS, address, str(number)] for number in range(2)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(words[0], **pipes) as first, subprocess.Popen(words[1], **pipes) as second:
        try:
            told = second.communicate(timeout=SECONDS)
        finally:
            first.kill()
            second.kill()
    assert (first.returncode, second.returncode) == (-9, 7), told
    assert told[0] == "" and "[Gloo]" in told[1]  # standard output is for results


def test_a_process_that_waits_in_vain_says_so_and_ends():
    code = (
        "from shapeopt.paper.training import parallel; parallel.SECONDS_TO_MEET = 1; parallel.join('127.0.0.1:1', 1, 2)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=SECONDS)
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert "shapeopt: error: not all 2 processes came to 127.0.0.1:1 within 1 s" in done.stderr


def test_a_clock_that_is_rewound_does_not_ring(monkeypatch):
    rung = []
    monkeypatch.setattr(parallel.Clock, "_ring", lambda clock: rung.append(clock.message))
    with parallel.Clock(0.5, "late") as clock:
        for _ in range(4):
            time.sleep(0.2)
            clock.rewind()
        assert rung == []
        time.sleep(1.0)
    assert rung == ["late"]


def test_tasks_that_can_t_be_divided_evenly_are_refused():
    class Mesh:
        size = 3

    with pytest.raises(ValueError, match="`batch` must be a multiple of the number of devices, 3; got 64"):
        parallel.check_divisible(Mesh(), "batch", 64)
    parallel.check_divisible(Mesh(), "batch", 63)
    parallel.check_divisible(None, "batch", 64)


def test_only_the_runtime_s_own_words_stand_for_a_lost_process(monkeypatch):
    gloo = ValueError("UNKNOWN: Gloo all-reduce failed: Connection closed by peer")
    assert not parallel.lost(gloo)  # there is one process
    monkeypatch.setattr(jax, "process_count", lambda: 2)
    assert parallel.lost(gloo)
    assert not parallel.lost(ValueError("`batch` must be at least 1; got 0."))
    assert not parallel.lost(TypeError("UNKNOWN: argument"))
