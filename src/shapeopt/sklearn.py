"""`import shapeopt.sklearn`: what `shapeopt.adapters.sklearn` has."""

from .core.extras import require

require("sklearn", "shapeopt.sklearn")

from .adapters.sklearn import gp_optimizer  # noqa: E402

__all__ = ["gp_optimizer"]
