"""`import shapeopt.optuna`: what `shapeopt.adapters.optuna` has."""

from .core.extras import require

require("optuna", "shapeopt.optuna")

from .adapters.optuna import ShapeSampler  # noqa: E402

__all__ = ["ShapeSampler"]
