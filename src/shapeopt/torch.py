"""`import shapeopt.torch`: what `shapeopt.adapters.torch` has."""

from .adapters.extras import extra

with extra("torch"):
    from .adapters.torch import Shape, minimize

__all__ = ["Shape", "minimize"]
