"""Gradient descent."""

import optax

from .base import AbstractDescent


class GradientDescent(AbstractDescent):
    """q' = q - lr g, by Optax.

    Departs from the paper: nothing.
    """

    lr: float

    @property
    def rule(self) -> optax.GradientTransformation:
        return optax.sgd(self.lr)
