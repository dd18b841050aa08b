"""Pictures from records and results, and from nothing else; needs matplotlib (the extra `report`).

Pictures of comparisons need the extra `jax` too, as their records do; a name loads when it is first used.
"""

from typing import TYPE_CHECKING

from ..core.lazy import lazy_names

if TYPE_CHECKING:
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

__getattr__ = lazy_names(
    __name__,
    {
        "PICTURES": "table",
        "Picture": "table",
        "draw_budget": "budget",
        "draw_data_profile": "profile",
        "draw_ecdf": "ecdf",
        "draw_energy": "energy",
        "draw_performance_profile": "profile",
        "draw_progress": "progress",
    },
)
