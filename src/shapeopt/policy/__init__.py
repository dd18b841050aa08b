"""The policy `universal` and its parts."""

from .base import AbstractPolicy
from .find import find_policy
from .universal import UniversalPolicy

__all__ = ["AbstractPolicy", "UniversalPolicy", "find_policy"]
