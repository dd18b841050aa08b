"""`shapeopt completion`: what a shell needs to complete commands and options."""

from dataclasses import dataclass
from typing import Annotated, Literal

import tyro


@dataclass(frozen=True)
class Completion:
    """Print a completion script: eval "$(shapeopt completion bash)"; zsh wants it as _shapeopt in a folder of fpath."""

    shell: Annotated[tyro.conf.Positional[Literal["bash", "zsh"]], tyro.conf.arg(metavar="bash|zsh")]
    """The shell."""

    def run(self) -> int:
        from . import main

        return main(["--tyro-print-completion", self.shell])
