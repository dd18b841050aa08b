"""`import shapeopt.pypesto`: what `shapeopt.adapters.pypesto` has."""

from .core.extras import require

require("pypesto", "shapeopt.pypesto")

from .adapters.pypesto import ShapeOptimizer  # noqa: E402

__all__ = ["ShapeOptimizer"]
