"""Planner, controller, and the files that hold their weights."""

from .base import AbstractPolicy
from .find import find_policy
from .kinds import POLICY_KINDS
from .paper import PaperPolicy
from .paper_networks import Control, PaperController, PaperPlanner
from .universal import UniversalPolicy
from .weights import PolicyFileError, cast_policy, load_card, load_policy, save_policy

__all__ = [
    "POLICY_KINDS",
    "AbstractPolicy",
    "Control",
    "PaperController",
    "PaperPlanner",
    "PaperPolicy",
    "PolicyFileError",
    "UniversalPolicy",
    "cast_policy",
    "find_policy",
    "load_card",
    "load_policy",
    "save_policy",
]
