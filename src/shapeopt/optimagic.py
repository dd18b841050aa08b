"""`import shapeopt.optimagic`: what `shapeopt.adapters.optimagic` has."""

from .core.extras import require

require("optimagic", "shapeopt.optimagic")

from .adapters.optimagic import Shape, ShapeLeastSquares, ShapeValues  # noqa: E402

__all__ = ["Shape", "ShapeLeastSquares", "ShapeValues"]
