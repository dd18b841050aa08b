"""Types that every room shares."""

from .box import REACH, Box
from .codes import STATUS_MESSAGES, Cause, Mode, Status
from .contract import AbstractOptimizer, Reading

__all__ = ["REACH", "STATUS_MESSAGES", "AbstractOptimizer", "Box", "Cause", "Mode", "Reading", "Status"]
