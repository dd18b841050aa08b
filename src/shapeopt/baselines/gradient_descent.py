"""Gradient descent."""

from typing import ClassVar

import optax

from .base import AbstractDescent, require_positive
from .mechanisms import Mechanisms


class GradientDescent(AbstractDescent):
    """q' = q - lr g, by Optax.

    Departs from the paper: nothing.
    """

    mechanisms: ClassVar[Mechanisms] = Mechanisms(in_paper=False)

    lr: float

    def __check_init__(self):
        require_positive("lr", self.lr)

    @property
    def rule(self) -> optax.GradientTransformation:
        return optax.sgd(self.lr)
