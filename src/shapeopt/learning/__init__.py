"""What training for a family brings: eight families, calls before and after, and what a wrong family costs."""

from .families import FAMILIES
from .measure import Size, run_learning
from .table import table

__all__ = ["FAMILIES", "Size", "run_learning", "table"]
