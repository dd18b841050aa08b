"""`import shapeopt.optuna`: what `shapeopt.adapters.optuna` has."""

from .adapters.extras import extra

with extra("optuna"):
    from .adapters.optuna import ShapeSampler

__all__ = ["ShapeSampler"]
