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
    from .family import FamilyPolicy, load_family
    from .minimizer import minimize
    from .optimizer import Policy
    from .sums_of_squares import least_squares
    from .training import Instance, train_family
    from .workers.processes import Processes

__version__ = "0.2.0"
__all__ = [
    "Command",
    "FamilyPolicy",
    "Instance",
    "Policy",
    "Processes",
    "Shape",
    "__version__",
    "basinhopping",
    "least_squares",
    "load_family",
    "minimize",
    "scipy_method",
    "train_family",
]

_HOMES = {
    "Command": ".adapters.command",
    "FamilyPolicy": ".family",
    "Instance": ".training",
    "Policy": ".optimizer",
    "Processes": ".workers.processes",
    "Shape": ".asktell",
    "basinhopping": ".adapters.hopping",
    "least_squares": ".sums_of_squares",
    "load_family": ".family",
    "minimize": ".minimizer",
    "scipy_method": ".adapters.scipy",
    "train_family": ".training",
}
_MODULES = (
    "ase",
    "lmfit",
    "nevergrad",
    "optax",
    "optimagic",
    "optuna",
    "paper",
    "pypesto",
    "sklearn",
    "torch",
)  # but for the paper, each needs the package of its name


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name], __name__), name)
    if name in _MODULES:
        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module 'shapeopt' has no attribute {name!r}")
