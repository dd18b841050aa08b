"""`import shapeopt.lmfit`: what `shapeopt.adapters.lmfit` has."""

from .core.extras import require

require("lmfit", "shapeopt.lmfit")

from .adapters.lmfit import fit, minimize  # noqa: E402

__all__ = ["fit", "minimize"]
