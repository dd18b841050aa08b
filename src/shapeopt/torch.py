"""`import shapeopt.torch`: what `shapeopt.adapters.torch` has."""

from .core.extras import require

require("torch", "shapeopt.torch")

from .adapters.torch import Shape, minimize  # noqa: E402

__all__ = ["Shape", "minimize"]
