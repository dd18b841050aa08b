"""The paper's policies as methods of a comparison.

`find_method` knows them and all methods of `shapeopt.bench`; it is handed to the runner in place of the bench's own.
"""

import hashlib
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ..bench import methods
from ..bench.cells import Cell
from ..bench.methods import AbstractCompiled, AbstractMethod, UnknownMethodError
from .dynamics import SemiImplicitStep
from .find import find_stem, load_policy, stored
from .optimizer import ShapeOptimizer
from .training.heads import heads_of, with_heads
from .variants import CHANGES
from .weights import cast_policy, load_card

KINDS = ("paper", "tuned")  # trained as written, and trained otherwise


@dataclass(frozen=True)
class Fitted:
    """A method that takes the policy trained for the cell's family and dimension, KIND-FAMILY-DIMENSION and an ending,
    as it is or with a change of `CHANGES`."""

    kind: str
    ending: str = ""
    change: str | None = None


def _fitted() -> Mapping[str, Fitted]:
    table = {
        "paper": Fitted("paper"),
        "paper_without_controller": Fitted("paper", "-no-controller"),
        "paper_without_memory": Fitted("paper", "-no-memory"),
        "paper_horizon_4": Fitted("paper", "-horizon-4"),
        "paper_described": Fitted("paper", "-described"),
        "tuned": Fitted("tuned"),
        "tuned_without_memory": Fitted("tuned", "-no-memory"),
        "tuned_box": Fitted("tuned", "-box"),
    }
    seeds = {f"{kind}_seed_{number}": Fitted(kind, f"-seed-{number}") for kind in KINDS for number in (1, 2)}
    changed = {f"{kind}_{change}": Fitted(kind, change=change) for kind in KINDS for change in CHANGES}
    return MappingProxyType(table | seeds | changed)


FITTED: Mapping[str, Fitted] = _fitted()


@dataclass(frozen=True)
class Stored(AbstractCompiled):
    """SHAPE with a stored policy of the paper's kind; trained anew, it is another version.

    `policies` gives the name or the path of the policy for a cell; `change` names what is taken from it.
    """

    name: str
    policies: Callable[[Cell], str]
    change: str | None = None

    def optimizer(self, cell: Cell) -> ShapeOptimizer:
        """SHAPE in double precision, in which every comparison is made; the energy ledger is not kept."""
        policy = load_policy(self.policies(cell))
        if self.change is not None:
            policy = CHANGES[self.change](policy, load_card(find_stem(self.policies(cell))))
        policy = cast_policy(policy, "float64")
        return ShapeOptimizer(policy, SemiImplicitStep(policy.h), record_energy=False)

    def version(self, cell: Cell) -> str:
        return _version_of(load_card(find_stem(self.policies(cell))), self.change)

    def lacks(self, cell: Cell) -> str:
        policy, d = self.policies(cell), cell.family.dimension
        if self.name in FITTED and policy not in stored():
            return f"there is no policy {policy} in a folder `weights`"
        only = load_card(find_stem(policy))["settings"].get("d", d)
        return "" if only == d else f"the policy is for dimension {only}"


@dataclass(frozen=True)
class Neighbour(AbstractCompiled):
    """SHAPE with what a policy of the nearest other dimension says to all coordinates alike, in the cell's dimension.

    Its heads take the place of those of an initialisation in the cell's dimension, whose other weights are random.
    """

    name: str
    kind: str

    def optimizer(self, cell: Cell) -> ShapeOptimizer:
        name = self._nearest(cell)
        policy = CHANGES["initialised"](load_policy(name), _in_dimension(load_card(find_stem(name)), cell))
        policy = cast_policy(with_heads(policy, heads_of(load_policy(name))), "float64")
        return ShapeOptimizer(policy, SemiImplicitStep(policy.h), record_energy=False)

    def version(self, cell: Cell) -> str:
        return _version_of(load_card(find_stem(self._nearest(cell))), f"{self.name} {cell.family.dimension}")

    def lacks(self, cell: Cell) -> str:
        return "" if self._nearest(cell) else f"there is no policy {self.kind}-{cell.family.name} of another dimension"

    def _nearest(self, cell: Cell) -> str:
        """The policy whose dimension is nearest on a log scale, of two the lower one; "" if there is none."""
        d, start = cell.family.dimension, f"{self.kind}-{cell.family.name}-"
        ends = [name.removeprefix(start) for name in stored() if name.startswith(start)]
        others = sorted(int(end) for end in ends if end.isdigit() and int(end) != d)
        return f"{start}{min(others, key=lambda other: abs(math.log(other / d)))}" if others else ""


NEIGHBOUR = Neighbour("tuned_neighbour", "tuned")  # only what is trained by heads can be moved


def list_methods() -> dict[str, str]:
    """Every built-in name of the bench and of the paper, and what kind of method it is."""
    return {name: "policy" for name in (*FITTED, NEIGHBOUR.name)} | methods.list_methods()


def find_method(name: str) -> AbstractMethod:
    """The method called `name`.

    Args:
        name: one of `FITTED`, a stored policy's name or path, or a method of `shapeopt.bench.methods.find_method`.

    Raises:
        UnknownMethodError: there is no such method, or its files can't be read.
    """
    if name in FITTED:
        return Stored(name, lambda cell: fitted_policy(name, cell), FITTED[name].change)
    if name == NEIGHBOUR.name:
        return NEIGHBOUR
    if name in stored() or name.endswith((".safetensors", ".json")) or Path(f"{name}.safetensors").is_file():
        return _policy(name)
    try:
        found = methods.find_method(name)
    except UnknownMethodError as error:
        known = f"{', '.join(list_methods())}; a policy's name or path; or module:Attribute"
        raise error if ":" in name else UnknownMethodError(f"`methods` must be among {known}. Got {name!r}.") from error
    return _distinct(found, name)


def fitted_policy(method: str, cell: Cell) -> str:
    """The name of the policy that a method of `FITTED` takes on a cell: KIND-FAMILY-DIMENSION and the ending."""
    fitted = FITTED[method]
    return f"{fitted.kind}-{cell.family.name}-{cell.family.dimension}{fitted.ending}"


def _in_dimension(card: Mapping[str, Any], cell: Cell) -> Mapping[str, Any]:
    """A card whose schedule is that of the cell's dimension."""
    about = card["about"]
    return {**card, "about": {**about, "schedule": {**about["schedule"], "dimension": cell.family.dimension}}}


def _version_of(card: Mapping[str, Any], change: str | None) -> str:
    """What tells a policy, changed or not, from another one, by its card."""
    what = json.dumps([card["kind"], card["settings"], card["sha256"], *filter(None, [change])], sort_keys=True)
    return hashlib.sha256(what.encode()).hexdigest()


def _policy(name: str) -> AbstractMethod:
    """SHAPE with one policy for every cell; its files must be readable."""
    try:
        load_policy(name)
    except ValueError as error:
        raise UnknownMethodError(f"`methods` must name policies that can be read; {error}") from error
    label = Path(name).name.removesuffix(".safetensors").removesuffix(".json")
    if label in methods.list_methods() or (label in stored() and label != name):
        raise UnknownMethodError(f"`methods` must not bring a built-in method's name; rename {label!r} of {name!r}.")
    return _distinct(Stored(label, lambda cell: name), name)


def _distinct(found: AbstractMethod, name: str) -> AbstractMethod:
    """The method, unless its records would be taken for those of a method of `FITTED`."""
    if found.name in (*FITTED, NEIGHBOUR.name):
        raise UnknownMethodError(
            f"`methods` must not bring a built-in method's name; rename {found.name!r} of {name!r}."
        )
    return found
