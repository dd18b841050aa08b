"""Training on more than one device: the tasks of a batch are divided over all devices of all processes.

Every process runs the same program on the same keys; a device rolls out its share of the tasks, and what is summed over
tasks (losses, gradients) is summed over devices once an update. So many devices make the same weights as one, up to
round-off. Process 0 alone reads and writes the run's folder; the others get the checkpoint from it.

Processes meet at the coordinator's address, and then let go of it: from there on only the sums tie them together. One
that dies breaks the next sum of all others, which is an exception in Python, where a broken tie to the coordinator
would abort the process. One that hangs is given up by a clock.
"""

import hashlib
import os
import re
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import equinox as eqx
import jax
import numpy as np
from jax.experimental import multihost_utils
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxtyping import PyTree

AXIS = "tasks"
SECONDS_TO_MEET = 120  # for which a process waits for the others at the start
SECONDS_SILENT = 900  # without an update, compilation included, after which the others count as lost
STATUS = re.compile(r"[A-Z_]+: ")  # how the messages of XLA's runtime begin


class LostProcessError(RuntimeError):
    """Another process of the run ended or can't be reached."""


def join(coordinator: str, process: int, processes: int) -> None:
    """Meet the other processes; before anything is computed. `coordinator` is process 0's HOST:PORT."""
    late = f"not all {processes} processes came to {coordinator} within {SECONDS_TO_MEET} s"
    with Clock(SECONDS_TO_MEET, late), _quiet_output():
        jax.distributed.initialize(
            coordinator,
            processes,
            process,
            cluster_detection_method="deactivate",
            initialization_timeout=2 * SECONDS_TO_MEET,  # the clock is to be first: JAX would abort
        )
        multihost_utils.broadcast_one_to_all(np.zeros(1, np.uint8))  # every device is connected now
        jax.distributed.shutdown()


@contextmanager
def _quiet_output() -> Iterator[None]:
    """Send what libraries print to standard output to standard error: Gloo greets there, amid a summary in JSON."""
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)


def task_mesh() -> Mesh | None:
    """All devices in a row; None where there is one."""
    return None if jax.device_count() == 1 else Mesh(np.array(jax.devices()), (AXIS,))


def is_writer() -> bool:
    """Whether this process reads and writes files."""
    return jax.process_index() == 0


def check_divisible(mesh: Mesh | None, name: str, count: int) -> None:
    """Refuse a number of tasks that can't be divided evenly."""
    if mesh is not None and count % mesh.size:
        raise ValueError(f"`{name}` must be a multiple of the number of devices, {mesh.size}; got {count}.")


def over_tasks(
    mesh: Mesh | None, function: Callable[..., Any], shared: PyTree, split: tuple[PyTree, ...], axes: PyTree = 0
) -> Any:
    """function(shared, *split) with the first axis of every leaf of `split` divided over the devices.

    `axes` says, for the result or for each of its parts, which axis is that of the tasks.
    """
    if mesh is None:
        return function(shared, *split)
    arrays, rest = eqx.partition(shared, eqx.is_array)
    part = lambda arrays, split: function(eqx.combine(arrays, rest), *split)  # noqa: E731
    specs = jax.tree.map(lambda axis: PartitionSpec(*[None] * axis, AXIS), axes)
    every, own = PartitionSpec(), PartitionSpec(AXIS)
    return jax.shard_map(part, mesh=mesh, in_specs=(every, own), out_specs=specs, check_vma=False)(arrays, split)


def compiled(mesh: Mesh | None, function: Callable[..., Any], static_argnums: tuple[int, ...] = ()) -> Any:
    """`jax.jit`, whose results every device holds whole."""
    if mesh is None:
        return jax.jit(function, static_argnums=static_argnums)
    return jax.jit(function, static_argnums=static_argnums, out_shardings=NamedSharding(mesh, PartitionSpec()))


def at_hand(tree: PyTree) -> PyTree:
    """The arrays, which every device holds whole, as this process's own."""
    return jax.tree.map(lambda leaf: leaf if leaf.is_fully_addressable else leaf.addressable_data(0), tree)


def told_by_writer(blob: bytes | None) -> bytes | None:
    """What process 0 calls this with, in every process; None stays None."""
    if jax.process_count() == 1:
        return blob
    size = int(multihost_utils.broadcast_one_to_all(np.array(-1 if blob is None else len(blob), np.int32)))
    if size < 0:
        return None
    own = np.frombuffer(blob, np.uint8) if is_writer() and blob is not None else np.zeros(size, np.uint8)
    return np.asarray(multihost_utils.broadcast_one_to_all(own)).tobytes()


def check_agreement(name: str, text: str) -> None:
    """Raise where process 0 was given another value."""
    digest = hashlib.sha256(text.encode()).hexdigest().encode()
    if told_by_writer(digest if is_writer() else b"") != digest:
        raise ValueError(f"`{name}` must be the same in every process; process 0 has another than {text}.")


def lost(error: Exception) -> bool:
    """Whether an exception is XLA's word for a sum that failed, in a run of several processes."""
    told = isinstance(error, ValueError | RuntimeError) and STATUS.match(str(error)) is not None
    return told and jax.process_count() > 1


class Clock:
    """While entered, ends this process if nobody rewinds it for so many seconds: Python can't interrupt a sum."""

    def __init__(self, seconds: float, message: str) -> None:
        self.seconds, self.message = seconds, message
        self._timer: threading.Timer | None = None

    def __enter__(self) -> "Clock":
        self.rewind()
        return self

    def __exit__(self, *exception: object) -> None:
        self._stop()

    def rewind(self) -> None:
        self._stop()
        self._timer = threading.Timer(self.seconds, self._ring)
        self._timer.daemon = True
        self._timer.start()

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _ring(self) -> None:
        print(f"shapeopt: error: {self.message}", file=sys.stderr, flush=True)
        os._exit(1)
