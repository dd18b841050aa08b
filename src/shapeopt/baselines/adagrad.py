"""AdaGrad."""

import optax

from .base import EPS, AbstractDescent


class AdaGrad(AbstractDescent):
    """v' = v + g², q' = q - lr g / sqrt(v' + eps²), v_0 = 0, by Optax (eq. app_adagrad_disc).

    Departs from the paper: eps² inside the root, which is Optax's place for it, in place of eps outside; the two roots
    differ by less than eps.
    """

    lr: float
    eps: float = EPS

    @property
    def rule(self) -> optax.GradientTransformation:
        return optax.adagrad(self.lr, initial_accumulator_value=0.0, eps=self.eps**2)
