"""`import shapeopt.ase`: what `shapeopt.adapters.ase` has."""

from .core.extras import require

require("ase", "shapeopt.ase")

from .adapters.ase import Relax, Search  # noqa: E402

__all__ = ["Relax", "Search"]
