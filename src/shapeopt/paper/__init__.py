"""The paper as written: its policy, networks, memory, optimizer, training, theory, tables and figures.

Nothing else in the package imports this room except the command line. Names load when they are first used.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .find import load_policy
    from .optimizer import ShapeOptimizer
    from .policy import PaperPolicy
    from .run import minimize
    from .weights import PolicyFileError, save_policy

__all__ = ["PaperPolicy", "PolicyFileError", "ShapeOptimizer", "load_policy", "minimize", "save_policy"]

_HOMES = {
    "PaperPolicy": ".policy",
    "PolicyFileError": ".weights",
    "ShapeOptimizer": ".optimizer",
    "load_policy": ".find",
    "minimize": ".run",
    "save_policy": ".weights",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name], __name__), name)
    raise AttributeError(f"module 'shapeopt.paper' has no attribute {name!r}")
