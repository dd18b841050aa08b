"""`import shapeopt.nevergrad`: what `shapeopt.adapters.nevergrad` has."""

from .core.extras import require

require("nevergrad", "shapeopt.nevergrad")

from .adapters.nevergrad import Shape  # noqa: E402

__all__ = ["Shape"]
