"""For `test_parallel`: `process.py KILLED_AT WORDS...` is `shapeopt WORDS...` that kills itself after an update."""

import os
import signal
import sys

from shapeopt.cli import main
from shapeopt.paper.commands import train
from shapeopt.terminal.progress import Silent


class Deadly(Silent):
    """Shows nothing, and kills the process after a certain update."""

    def __init__(self, update: int) -> None:
        self.update = update

    def show(self, progress):
        if progress.done == self.update:
            os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    train.make_display = lambda quiet: Deadly(int(sys.argv[1]))
    sys.exit(main(sys.argv[2:]))
