"""Pictures from records and results, and from nothing else; needs matplotlib (the extra `report`)."""

from .budget import draw_budget
from .ecdf import draw_ecdf
from .energy import draw_energy
from .profile import draw_data_profile, draw_performance_profile
from .progress import draw_progress
from .table import PICTURES, Picture

__all__ = [
    "PICTURES",
    "Picture",
    "draw_budget",
    "draw_data_profile",
    "draw_ecdf",
    "draw_energy",
    "draw_performance_profile",
    "draw_progress",
]
