"""What can be named as a method: SHAPE's policies, the paper's baselines, peers, and what a user brings."""

import abc
import hashlib
import importlib
import inspect
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..baselines import BASELINES, make_baseline
from ..core import AbstractOptimizer
from ..dynamics import SemiImplicitStep
from ..peers import PEERS, AbstractPeer, make_peer
from ..policy import cast_policy, find_policy, load_card
from ..policy.find import FOLDER, SHIPPED
from ..shape import ShapeOptimizer
from .cells import Cell


class UnknownMethodError(ValueError):
    """A name that is no method; the message lists what there is."""


class AbstractMethod(abc.ABC):
    """A method with the name that its records carry, and what tells it from an earlier method of that name."""

    name: str
    version: str


@dataclass(frozen=True)
class Traceable(AbstractMethod):
    """A method under the optimizer contract; it is compiled and run in batches."""

    name: str
    optimizers: Any  # Cell -> AbstractOptimizer
    version: str = ""

    def optimizer(self, cell: Cell) -> AbstractOptimizer:
        made = self.optimizers(cell)
        if not isinstance(made, AbstractOptimizer):
            raise UnknownMethodError(f"`methods` must name what makes an optimizer; {self.name!r} made {made!r}.")
        return made


@dataclass(frozen=True)
class Hosted(AbstractMethod):
    """A method that calls its objective itself; it is run point by point under the counter."""

    name: str
    peer: AbstractPeer
    version: str = ""


def list_methods() -> dict[str, str]:
    """Every built-in name, and what kind of method it is."""
    kinds = {name: "policy" for name in SHIPPED}
    return kinds | {name: "baseline" for name in BASELINES} | {name: "peer" for name in PEERS}


def find_method(name: str) -> AbstractMethod:
    """The method called `name`: a shipped policy, a baseline, a peer, a policy's file, or `package.module:Attribute`.

    The attribute is an optimizer or a peer; a class or function that makes one and needs no argument; or a function
    that makes an optimizer for the cell it is given. The working folder is searched, too.
    """
    if name in SHIPPED or name.endswith((".safetensors", ".json")):
        return _policy(name)
    if name in BASELINES:
        return Traceable(name, lambda cell: make_baseline(name, cell.family.name))
    if name in PEERS:
        return Hosted(name, make_peer(name))
    if ":" in name:
        return _brought(name)
    raise UnknownMethodError(
        f"`methods` must be among {', '.join(list_methods())}; a policy's file; or module:Attribute. Got {name!r}."
    )


def shape_optimizer(policy: str) -> ShapeOptimizer:
    """SHAPE with a policy in double precision, in which every comparison is made; the energy ledger is not kept."""
    found = cast_policy(find_policy(policy), "float64")
    return ShapeOptimizer(found, SemiImplicitStep(found.h), record_energy=False)


def _policy(name: str) -> Traceable:
    """SHAPE with a policy that is shipped or in a file; trained anew, it is another version."""
    try:
        find_policy(name)
        card = load_card(FOLDER / name if name in SHIPPED else name)
    except ValueError as error:
        raise UnknownMethodError(f"`methods` must name policies that can be read; {error}") from error
    what = json.dumps([card["kind"], card["settings"], card["sha256"]], sort_keys=True)
    version = hashlib.sha256(what.encode()).hexdigest()
    return Traceable(_label(Path(name).stem, name), lambda cell: shape_optimizer(name), version)


def _brought(name: str) -> AbstractMethod:
    """A method from a user's own module."""
    found, label = load_attribute(name, "methods"), _label(name.rpartition(":")[2], name)
    made = found() if _needs_nothing(found) else found
    if isinstance(made, AbstractPeer):
        return Hosted(label, made)
    if isinstance(made, AbstractOptimizer):
        return Traceable(label, lambda cell: made)
    if callable(made):
        return Traceable(label, made)
    raise UnknownMethodError(f"`methods` must name an optimizer or a peer; {name!r} is {found!r}.")


def _needs_nothing(found: Any) -> bool:
    """Whether `found` has to be called, and can be without arguments."""
    if isinstance(found, AbstractOptimizer | AbstractPeer) or not callable(found):
        return False
    parameters = inspect.signature(found).parameters.values()
    return all(p.default is not p.empty or p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in parameters)


def _label(label: str, name: str) -> str:
    """`label`, unless a built-in method has it: their records would be taken for each other's."""
    if label in list_methods() and label != name:
        raise UnknownMethodError(f"`methods` must not bring a built-in method's name; rename {label!r} of {name!r}.")
    return label


def load_attribute(name: str, argument: str) -> Any:
    """The attribute `package.module:Attribute`; the working folder is searched, too."""
    module, _, attribute = name.partition(":")
    if not all(part.isidentifier() for part in (*module.split("."), attribute)):
        raise UnknownMethodError(f"`{argument}` must look like package.module:Attribute; got {name!r}.")
    if "" not in sys.path and str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        return getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise UnknownMethodError(f"`{argument}` must name something that can be imported; {name!r}: {error}") from error
