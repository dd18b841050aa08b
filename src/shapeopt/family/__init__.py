"""What training has learned of a family, as a policy: places, a metric, a planner's settings."""

from .policy import FamilyPolicy, load_family
from .regression import Regression

__all__ = ["FamilyPolicy", "Regression", "load_family"]
