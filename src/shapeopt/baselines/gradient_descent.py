"""Gradient descent."""

from typing import ClassVar

import optax

from .base import AbstractDescent
from .mechanisms import Mechanisms


class GradientDescent(AbstractDescent):
    """q' = q - lr g, by Optax.

    Departs from the paper: nothing.
    """

    mechanisms: ClassVar[Mechanisms] = Mechanisms(in_paper=False)

    lr: float

    @property
    def rule(self) -> optax.GradientTransformation:
        return optax.sgd(self.lr)
