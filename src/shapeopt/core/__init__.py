"""Types that every room shares."""

from .box import REACH, Box
from .codes import STATUS_MESSAGES, Cause, Mode, Status
from .compiling import compiler_options
from .contract import AbstractOptimizer, Reading
from .gated import when
from .rows import is_row, put_row

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
    "is_row",
    "put_row",
    "when",
]
