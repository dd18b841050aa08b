"""Polyak's heavy ball."""

from typing import ClassVar

import optax

from .base import AbstractDescent
from .mechanisms import PRESENT, Mechanisms


class Momentum(AbstractDescent):
    """b' = beta b + g, q' = q - lr b', by Optax (eq. app_hb_disc with p = -eta b, 1 - gamma eta = beta, eta^2 = lr).

    Departs from the paper: nothing; its table gives lr and beta rather than gamma and eta.
    """

    mechanisms: ClassVar[Mechanisms] = Mechanisms(momentum=PRESENT)

    lr: float
    beta: float

    @property
    def rule(self) -> optax.GradientTransformation:
        return optax.sgd(self.lr, momentum=self.beta)
