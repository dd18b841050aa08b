"""What can be named as a method: SHAPE's policies, the paper's baselines, peers, and what a user brings."""

import abc
import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ..baselines import BASELINES, make_baseline
from ..core import AbstractOptimizer
from ..core.attribute import UnknownNameError, built, load_attribute
from ..dynamics import SemiImplicitStep
from ..peers import PEERS, AbstractPeer, make_peer
from ..policy import cast_policy, find, find_policy, load_card
from ..policy.universal import UniversalPolicy
from ..shape import ShapeOptimizer
from ..values import ValueOptimizer
from .cells import Cell
from .sensing import ValueOnly

# Methods that take the policy shipped for the cell's family and dimension, and how the names of theirs end.
FITTED: Mapping[str, str] = MappingProxyType(
    {
        "paper": "",
        "paper_without_controller": "-no-controller",
        "paper_without_memory": "-no-memory",
        "paper_horizon_4": "-horizon-4",
    }
)


class UnknownMethodError(UnknownNameError):
    """A name that is no method; the message lists what there is."""


class AbstractMethod(abc.ABC):
    """A method with the name that its records carry."""

    name: str

    def version(self, cell: Cell) -> str:
        """What tells it from an earlier method of its name."""
        return ""

    def lacks(self, cell: Cell) -> str:
        """Why it can't be run on a cell; "" if it can."""
        return ""


@dataclass(frozen=True)
class Traceable(AbstractMethod):
    """A method under the optimizer contract; it is compiled and run in batches."""

    name: str
    optimizers: Any  # Cell -> AbstractOptimizer

    def optimizer(self, cell: Cell) -> AbstractOptimizer:
        made = self.optimizers(cell)
        if not isinstance(made, AbstractOptimizer):
            raise UnknownMethodError(f"`methods` must name what makes an optimizer; {self.name!r} made {made!r}.")
        return made


@dataclass(frozen=True)
class Learned(AbstractMethod):
    """SHAPE with a policy, compiled and run in batches; trained anew, it is another version.

    `policies` names the policy of a cell: shipped, or a file.
    """

    name: str
    policies: Callable[[Cell], str]

    def optimizer(self, cell: Cell) -> AbstractOptimizer:
        shape = shape_optimizer(self.policies(cell))
        if isinstance(cell.sensing, ValueOnly) and isinstance(shape.policy, UniversalPolicy):
            return ValueOptimizer(replace(shape, policy=replace(shape.policy, values=True)))
        return shape

    def version(self, cell: Cell) -> str:
        card = _card(self.policies(cell))
        what = json.dumps([card["kind"], card["settings"], card["sha256"]], sort_keys=True)
        return hashlib.sha256(what.encode()).hexdigest()

    def lacks(self, cell: Cell) -> str:
        policy, d = self.policies(cell), cell.family.dimension
        if self.name in FITTED and policy not in find.shipped():
            return f"no policy {policy} is shipped"
        only = _card(policy)["settings"].get("d", d)
        return "" if only == d else f"the policy is for dimension {only}"


@dataclass(frozen=True)
class Hosted(AbstractMethod):
    """A method that calls its objective itself; it is run point by point under the counter."""

    name: str
    peer: AbstractPeer


def list_methods() -> dict[str, str]:
    """Every built-in name, and what kind of method it is; single policies for one dimension are left out."""
    kinds = {name: "policy" for name, dimensions in find.grouped(find.shipped()).items() if not dimensions}
    kinds |= {name: "policy" for name in FITTED}
    return kinds | {name: "baseline" for name in BASELINES} | {name: "peer" for name in PEERS}


def find_method(name: str) -> AbstractMethod:
    """The method called `name`: a shipped policy, a baseline, a peer, a policy's file, or `package.module:Attribute`.

    The attribute is an optimizer or a peer; a class or function that makes one and needs no argument; or a function
    that makes an optimizer for the cell it is given. The working folder is searched, too.
    """
    if name in FITTED:
        return Learned(name, lambda cell: fitted_policy(name, cell))
    if name in find.shipped() or name.endswith((".safetensors", ".json")):
        return _policy(name)
    if name in BASELINES:
        return Traceable(name, lambda cell: make_baseline(name, cell.family.name))
    if name in PEERS:
        return Hosted(name, make_peer(name))
    if ":" in name:
        return _brought(name)
    if Path(f"{name}.safetensors").is_file():
        return _policy(name)
    raise UnknownMethodError(
        f"`methods` must be among {', '.join(list_methods())}; a policy's file; or module:Attribute. Got {name!r}."
    )


def shape_optimizer(policy: str) -> ShapeOptimizer:
    """SHAPE with a policy in double precision, in which every comparison is made; the energy ledger is not kept."""
    found = cast_policy(find_policy(policy), "float64")
    return ShapeOptimizer(found, SemiImplicitStep(found.h), record_energy=False)


def fitted_policy(method: str, cell: Cell) -> str:
    """The name of the policy that a method of `FITTED` takes on a cell: paper-FAMILY-DIMENSION and the ending."""
    return f"paper-{cell.family.name}-{cell.family.dimension}{FITTED[method]}"


def _policy(name: str) -> Learned:
    """SHAPE with one policy for every cell."""
    _card(name)
    return Learned(_label(Path(name).stem, name), lambda cell: name)


def _card(name: str) -> dict[str, Any]:
    """The card of a policy that can be read whole."""
    try:
        find_policy(name)
        return load_card(find.FOLDER / name if name in find.shipped() else name)
    except ValueError as error:
        raise UnknownMethodError(f"`methods` must name policies that can be read; {error}") from error


def _brought(name: str) -> AbstractMethod:
    """A method from a user's own module."""
    found, label = load_attribute(name, "methods"), _label(name.rpartition(":")[2], name)
    made = built(found, (AbstractOptimizer, AbstractPeer))
    if isinstance(made, AbstractPeer):
        return Hosted(label, made)
    if isinstance(made, AbstractOptimizer):
        return Traceable(label, lambda cell: made)
    if callable(made):
        return Traceable(label, made)
    raise UnknownMethodError(f"`methods` must name an optimizer or a peer; {name!r} is {found!r}.")


def _label(label: str, name: str) -> str:
    """`label`, unless a built-in method has it: their records would be taken for each other's."""
    if label in {*list_methods(), *find.shipped()} and label != name:
        raise UnknownMethodError(f"`methods` must not bring a built-in method's name; rename {label!r} of {name!r}.")
    return label
