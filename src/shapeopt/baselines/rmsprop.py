"""RMSProp."""

import optax

from .base import EPS, AbstractDescent, require_decay


class RMSProp(AbstractDescent):
    """v' = alpha v + (1 - alpha) g², q' = q - lr g / (sqrt(v') + eps), v_0 = 0, by Optax (eq. app_rmsprop_disc).

    As in PyTorch, v is not corrected for its start at zero: the first step is lr / sqrt(1 - alpha) long in every
    coordinate, ten times lr. The paper's rows come back only so.

    Departs from the paper: nothing; alpha is the equation's beta_2.
    """

    lr: float
    alpha: float = 0.99
    eps: float = EPS

    def __check_init__(self):
        require_decay("alpha", self.alpha)

    @property
    def rule(self) -> optax.GradientTransformation:
        return optax.rmsprop(self.lr, decay=self.alpha, eps=self.eps, eps_in_sqrt=False)
