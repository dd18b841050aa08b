"""What can be named as a method: the shipped policy, baselines, peers, and what a user brings.

Who has further methods hands the runner a function in place of `find_method`.
"""

import abc
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..baselines import BASELINES, make_baseline
from ..core import AbstractOptimizer
from ..core.attribute import UnknownNameError, built, load_attribute
from ..core.fingerprint import describe
from ..engines.device import DeviceShape
from ..peers import PEERS, AbstractPeer, make_peer
from ..policies import POLICIES, find_policy
from .cells import Cell
from .sensing import ValueOnly


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


class AbstractCompiled(AbstractMethod):
    """A method under the optimizer contract; it is compiled and run in batches."""

    @abc.abstractmethod
    def optimizer(self, cell: Cell) -> AbstractOptimizer:
        """The optimizer for a cell."""


@dataclass(frozen=True)
class Traceable(AbstractCompiled):
    """An optimizer that a function makes for each cell."""

    name: str
    optimizers: Any  # Cell -> AbstractOptimizer

    def optimizer(self, cell: Cell) -> AbstractOptimizer:
        made = self.optimizers(cell)
        if not isinstance(made, AbstractOptimizer):
            raise UnknownMethodError(f"`methods` must name what makes an optimizer; {self.name!r} made {made!r}.")
        return made


@dataclass(frozen=True)
class Shipped(AbstractCompiled):
    """SHAPE with a shipped policy; another policy under its name is another version."""

    name: str

    def optimizer(self, cell: Cell) -> AbstractOptimizer:
        return DeviceShape(find_policy(self.name), values_only=isinstance(cell.sensing, ValueOnly))

    def version(self, cell: Cell) -> str:
        return describe(find_policy(self.name))


@dataclass(frozen=True)
class Hosted(AbstractMethod):
    """A method that calls its objective itself; it is run point by point under the counter."""

    name: str
    peer: AbstractPeer

    def lacks(self, cell: Cell) -> str:
        return "it needs residuals, which a task does not have" if self.peer.needs_residuals else ""


def list_methods() -> dict[str, str]:
    """Every built-in name, and what kind of method it is."""
    kinds = {name: "policy" for name in POLICIES}
    return kinds | {name: "baseline" for name in BASELINES} | {name: "peer" for name in PEERS}


FindMethod = Callable[[str], AbstractMethod]


def find_method(name: str) -> AbstractMethod:
    """The method called `name`: a shipped policy, a baseline, a peer, or `package.module:Attribute`.

    The attribute is a method, an optimizer or a peer; a class or function that makes one and needs no argument; or a
    function that makes an optimizer for the cell it is given. The working folder is searched, too.
    """
    if name in POLICIES:
        return Shipped(name)
    if name in BASELINES:
        return Traceable(name, lambda cell: make_baseline(name, cell.family.name))
    if name in PEERS:
        return Hosted(name, make_peer(name))
    if ":" in name:
        return _brought(name)
    raise UnknownMethodError(f"`methods` must be among {', '.join(list_methods())}; or module:Attribute. Got {name!r}.")


def _brought(name: str) -> AbstractMethod:
    """A method from a user's own module."""
    found, label = load_attribute(name, "methods"), _label(name.rpartition(":")[2], name)
    made = built(found, (AbstractMethod, AbstractOptimizer, AbstractPeer))
    if isinstance(made, AbstractMethod):
        return made
    if isinstance(made, AbstractPeer):
        return Hosted(label, made)
    if isinstance(made, AbstractOptimizer):
        return Traceable(label, lambda cell: made)
    if callable(made):
        return Traceable(label, made)
    raise UnknownMethodError(f"`methods` must name an optimizer or a peer; {name!r} is {found!r}.")


def _label(label: str, name: str) -> str:
    """`label`, unless a built-in method has it: their records would be taken for each other's."""
    if label in list_methods():
        raise UnknownMethodError(f"`methods` must not bring a built-in method's name; rename {label!r} of {name!r}.")
    return label
