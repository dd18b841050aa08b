"""Polyak's heavy ball."""

import optax

from .base import AbstractDescent


class Momentum(AbstractDescent):
    """b' = beta b + g, q' = q - lr b', by Optax (eq. app_hb_disc with p = -eta b, 1 - gamma eta = beta, eta^2 = lr).

    Departs from the paper: nothing; its table gives lr and beta rather than gamma and eta.
    """

    lr: float
    beta: float

    @property
    def rule(self) -> optax.GradientTransformation:
        return optax.sgd(self.lr, momentum=self.beta)
