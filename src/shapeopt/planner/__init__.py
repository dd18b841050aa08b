"""Which tactic has the next stage."""

from .order import FixedOrder

__all__ = ["FixedOrder"]
