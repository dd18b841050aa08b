"""Which tactic has the next stage."""

from .family import FamilyOrder
from .order import FixedOrder

__all__ = ["FamilyOrder", "FixedOrder"]
