"""What a method is run on: a cell, and the protocol that lists cells. Both are frozen, and nothing is left unsaid."""

import dataclasses
import enum
import re
import zlib
from dataclasses import dataclass, field
from typing import Any

import jax
import numpy as np

from ..tasks import AbstractFamily
from .metrics import GAP_HIT, HitRule
from .sensing import EXACT, AbstractSensing

QUICK_CELLS, QUICK_TASKS, QUICK_STARTS, QUICK_BUDGET, QUICK_DIMENSION = 3, 2, 2, 60, 20


@dataclass(frozen=True)
class Cell:
    """A family, how it is read, the calls of a run, and how many tasks and starts are run.

    `setting` is the label of a row of the paper that has one (S1 to S6). `counts_minima` asks which local minima the
    runs were at; for one or two dimensions.
    """

    family: AbstractFamily
    budget: int
    tasks: int
    starts: int = 1
    sensing: AbstractSensing = EXACT
    rule: HitRule = GAP_HIT
    setting: str = ""
    counts_minima: bool = False

    def __post_init__(self) -> None:
        for name in ("budget", "tasks", "starts"):
            if getattr(self, name) < 1:
                raise ValueError(f"`{name}` must be at least 1; got {getattr(self, name)}.")
        if self.counts_minima and self.family.dimension > 2:
            raise ValueError(f"`counts_minima` needs one or two dimensions; got {self.family.dimension}.")

    def __hash__(self) -> int:
        return hash(self.name)  # a family's own hash fails where it holds arrays

    @property
    def runs(self) -> int:
        return self.tasks * self.starts

    @property
    def place(self) -> str:
        """The family with its options: what decides tasks and starts, and nothing else."""
        options = (_word(option, getattr(self.family, option.name)) for option in dataclasses.fields(self.family))
        return "-".join([self.family.name, str(self.family.dimension), *filter(None, options)])

    @property
    def name(self) -> str:
        """Unique within a protocol, and fit for a file's name."""
        parts = (self.place, self.sensing.label, self.setting, str(self.budget))
        return "-".join(part for part in parts if part)

    @property
    def stream(self) -> int:
        """The number from which the keys of this cell's tasks and starts are made.

        Cells that differ in the budget or in how they are read share tasks and starts.
        """
        return zlib.crc32(self.place.encode())

    def quick(self) -> "Cell":
        """The same with few runs and calls."""
        return dataclasses.replace(
            self,
            budget=min(self.budget, QUICK_BUDGET),
            tasks=min(self.tasks, QUICK_TASKS),
            starts=min(self.starts, QUICK_STARTS),
        )

    def describe(self) -> dict[str, Any]:
        """Everything that decides what is run, in plain JSON values."""
        return {
            "name": self.name,
            "family": self.family.name,
            "dimension": self.family.dimension,
            "options": {name: _plain(value) for name, value in vars(self.family).items()},
            "sensing": {"kind": type(self.sensing).__name__, **dataclasses.asdict(self.sensing)},  # type: ignore[call-overload]
            "budget": self.budget,
            "tasks": self.tasks,
            "starts": self.starts,
            "rule": {"quantity": self.rule.quantity.value, "tolerance": self.rule.tolerance},
            "setting": self.setting,
            "counts_minima": self.counts_minima,
        }


@dataclass(frozen=True)
class Protocol:
    """A named list of cells, and the methods that are run if none are named."""

    name: str
    about: str
    cells: tuple[Cell, ...]
    methods: tuple[str, ...]
    seed: int = field(default=0)

    def __post_init__(self) -> None:
        names = [cell.name for cell in self.cells]
        if len(set(names)) < len(names):
            raise ValueError(f"`cells` must have distinct names; got {names}.")
        if not 0 <= self.seed < 2**32:
            raise ValueError(f"`seed` must lie in [0, 2^32); got {self.seed}.")

    def quick(self) -> "Protocol":
        """A minute's worth: the first few cells of low dimension, few runs, few calls."""
        low = [cell for cell in self.cells if cell.family.dimension <= QUICK_DIMENSION] or list(self.cells)
        cells = {cell.quick().name: cell.quick() for cell in low}
        return dataclasses.replace(self, name=f"{self.name}-quick", cells=tuple(cells.values())[:QUICK_CELLS])


def _word(option: dataclasses.Field, value: Any) -> str:
    """An option in the name of a place: the law by its word, a flag that is set by its name, others unless usual."""
    word = re.sub(r"[^\w.+-]+", "_", str(_plain(value))).lower()
    if option.name == "law":
        return word
    if option.name == "dimension" or isinstance(value, type) or _plain(value) == _plain(option.default):
        return ""
    if isinstance(value, bool) and option.default is not True:
        return option.name if value else ""
    return f"{option.name}={word}"


def _plain(value: Any) -> Any:
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, type):
        return value.__name__
    if isinstance(value, np.ndarray | jax.Array):
        return f"{'x'.join(map(str, value.shape))}_{zlib.crc32(np.asarray(value).tobytes()):08x}"
    return value if isinstance(value, bool | int | float | str) or value is None else repr(value)
