"""What a run remembers of basins."""

from .basins import CAPACITY, SAME_BASIN, no_basins, write_basin
from .census import Census

__all__ = ["CAPACITY", "SAME_BASIN", "Census", "no_basins", "write_basin"]
