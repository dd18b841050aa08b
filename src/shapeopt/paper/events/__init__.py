"""The slow clock: what a stage is told to do, and when it ends."""

from .action import StageAction
from .triggers import Signals, cause_of, writes_memory

__all__ = ["Signals", "StageAction", "cause_of", "writes_memory"]
