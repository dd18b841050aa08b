"""Train a policy for a family of problems from the optimizer's own runs on some of them."""

from .instance import Instance
from .train import Trained, train_family

__all__ = ["Instance", "Trained", "train_family"]
