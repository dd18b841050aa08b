"""Adam."""

import optax

from .base import EPS, AbstractDescent, from_optax


class Adam(AbstractDescent):
    """q' = q - lr m^ / (sqrt(v^) + eps) with bias-corrected means m^ of g and v^ of g², by Optax (eq. app_adam_disc).

    Departs from the paper: nothing.
    """

    lr: float
    beta1: float = 0.9
    beta2: float = 0.999
    eps: float = EPS

    @property
    def rule(self) -> optax.GradientTransformation:
        return from_optax(optax.adam(self.lr, self.beta1, self.beta2, self.eps))
