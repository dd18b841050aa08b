"""Planner, controller, and the files that hold their weights."""

from .kinds import POLICY_KINDS
from .paper import Control, PaperController, PaperPlanner, PaperPolicy
from .weights import PolicyFileError, cast_policy, load_card, load_policy, save_policy

__all__ = [
    "POLICY_KINDS",
    "Control",
    "PaperController",
    "PaperPlanner",
    "PaperPolicy",
    "PolicyFileError",
    "cast_policy",
    "load_card",
    "load_policy",
    "save_policy",
]
