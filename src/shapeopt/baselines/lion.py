"""Lion."""

import optax

from .base import AbstractDescent, require_not_negative


class Lion(AbstractDescent):
    """q' = q - lr (sign(beta1 m + (1 - beta1) g) + weight_decay q), by Optax (eq. app_lion_disc).

    Afterwards m' = beta2 m + (1 - beta2) g.

    Departs from the paper: nothing; the optional decay is off.
    """

    lr: float
    beta1: float = 0.9
    beta2: float = 0.99
    weight_decay: float = 0.0

    def __check_init__(self):
        require_not_negative("weight_decay", self.weight_decay)

    @property
    def rule(self) -> optax.GradientTransformation:
        return optax.lion(self.lr, self.beta1, self.beta2, weight_decay=self.weight_decay)
