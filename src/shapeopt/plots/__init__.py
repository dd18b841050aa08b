"""Pictures from records, and from nothing else; needs matplotlib (the extra `report`)."""

from .budget import draw_budget
from .ecdf import draw_ecdf
from .profile import draw_data_profile, draw_performance_profile
from .progress import draw_progress
from .table import PICTURES, Picture

__all__ = [
    "PICTURES",
    "Picture",
    "draw_budget",
    "draw_data_profile",
    "draw_ecdf",
    "draw_performance_profile",
    "draw_progress",
]
