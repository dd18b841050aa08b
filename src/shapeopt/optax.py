"""`import shapeopt.optax`: what `shapeopt.adapters.optax` has."""

from .core.extras import require

require("jax", "shapeopt.optax")

from .adapters.optax import ShapeOptaxState, shape  # noqa: E402

__all__ = ["ShapeOptaxState", "shape"]
