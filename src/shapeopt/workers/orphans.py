"""Workers that end with the process that started them, even where that is killed and can tell them nothing."""

import ctypes
import multiprocessing
import os
import signal
import sys
import threading

PR_SET_PDEATHSIG = 1  # linux/prctl.h


def begin_worker() -> None:
    """What a worker does first: Ctrl-C ends it at once, its job being as good as not begun, and so does its parent's
    end."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if sys.platform == "linux":
        end_by_signal()
    else:
        end_by_watching()


def end_by_signal() -> None:
    """Ask Linux for a SIGKILL at the end of the thread that started this process; no code has to run here then."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG) failed")
    parent = multiprocessing.parent_process()
    if parent is not None and not parent.is_alive():  # it ended before we asked
        os._exit(1)


def end_by_watching() -> None:
    """Wait for the parent's end in a thread, and end at once."""
    threading.Thread(target=_watch, daemon=True).start()


def _watch() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
