"""The slow clock: the action of a stage, and the triggers that end it."""

from .action import StageAction
from .triggers import Signals, cause_of, writes_memory

__all__ = ["Signals", "StageAction", "cause_of", "writes_memory"]
