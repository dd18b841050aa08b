"""`import shapeopt.optax`: what `shapeopt.adapters.optax` has."""

from .adapters.optax import ShapeOptaxState, shape

__all__ = ["ShapeOptaxState", "shape"]
