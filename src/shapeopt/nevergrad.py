"""`import shapeopt.nevergrad`: what `shapeopt.adapters.nevergrad` has."""

from .adapters.extras import extra

with extra("nevergrad"):
    from .adapters.nevergrad import Shape

__all__ = ["Shape"]
