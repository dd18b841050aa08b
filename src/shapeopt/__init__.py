"""SHAPE: fixed-budget nonconvex minimisation by a slow planner and a fast port-Hamiltonian controller.

Names load when they are first used, so that the command line starts without JAX.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .asktell import Shape
    from .minimizer import minimize

__version__ = "0.1.0"
__all__ = ["Shape", "__version__", "minimize"]


def __getattr__(name: str) -> Any:
    if name == "minimize":
        from .minimizer import minimize

        return minimize
    if name == "Shape":
        from .asktell import Shape

        return Shape
    raise AttributeError(f"module 'shapeopt' has no attribute {name!r}")
