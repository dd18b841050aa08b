"""The paper as written: its policy, networks, memory, optimizer, training, theory, tables and figures.

Nothing else in the package imports this room except the command line. Names load when they are first used.
"""

from typing import TYPE_CHECKING

from ..core.lazy import lazy_names

if TYPE_CHECKING:
    from .find import load_policy
    from .optimizer import ShapeOptimizer
    from .policy import PaperPolicy
    from .run import minimize
    from .weights import PolicyFileError, save_policy

__all__ = ["PaperPolicy", "PolicyFileError", "ShapeOptimizer", "load_policy", "minimize", "save_policy"]

__getattr__ = lazy_names(
    __name__,
    {
        "PaperPolicy": "policy",
        "PolicyFileError": "weights",
        "ShapeOptimizer": "optimizer",
        "load_policy": "find",
        "minimize": "run",
        "save_policy": "weights",
    },
)
