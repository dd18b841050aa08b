"""SHAPE: fixed-budget nonconvex minimisation by a slow planner and a fast port-Hamiltonian controller.

Names load when they are first used, so that the command line starts without JAX.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .adapters.command import Command
    from .adapters.hopping import basinhopping
    from .adapters.scipy import scipy_method
    from .asktell import Shape
    from .minimizer import minimize
    from .optimizer import Policy

__version__ = "0.1.0"
__all__ = ["Command", "Policy", "Shape", "__version__", "basinhopping", "minimize", "scipy_method"]

_HOMES = {
    "Command": ".adapters.command",
    "Policy": ".optimizer",
    "Shape": ".asktell",
    "basinhopping": ".adapters.hopping",
    "minimize": ".minimizer",
    "scipy_method": ".adapters.scipy",
}
_MODULES = (
    "ase",
    "lmfit",
    "nevergrad",
    "optax",
    "optuna",
    "paper",
    "sklearn",
    "torch",
)  # but for the paper, each needs the package of its name


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name], __name__), name)
    if name in _MODULES:
        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module 'shapeopt' has no attribute {name!r}")
