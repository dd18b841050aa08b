"""Types that every room shares. Those that need NumPy or JAX load when they are first used."""

from typing import TYPE_CHECKING

from .codes import STATUS_MESSAGES, Cause, Mode, Status
from .lazy import lazy_names

if TYPE_CHECKING:
    from .box import REACH, Box
    from .compiling import compiler_options
    from .contract import AbstractOptimizer
    from .reading import Reading

__all__ = [
    "REACH",
    "STATUS_MESSAGES",
    "AbstractOptimizer",
    "Box",
    "Cause",
    "Mode",
    "Reading",
    "Status",
    "compiler_options",
]

__getattr__ = lazy_names(
    __name__,
    {
        "AbstractOptimizer": "contract",
        "Box": "box",
        "REACH": "box",
        "Reading": "reading",
        "compiler_options": "compiling",
    },
)
