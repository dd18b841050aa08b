"""Adam with decoupled weight decay."""

import optax

from .base import EPS, AbstractDescent, from_optax, require_not_negative


class AdamW(AbstractDescent):
    """Adam's step (eq. app_adam_disc), then q' <- q' - lr weight_decay q, by Optax.

    The decay pulls to the origin of the user's coordinates; its default is PyTorch's.

    Departs from the paper: nothing.
    """

    lr: float
    beta1: float = 0.9
    beta2: float = 0.999
    weight_decay: float = 0.01
    eps: float = EPS

    def __check_init__(self):
        require_not_negative("weight_decay", self.weight_decay)

    @property
    def rule(self) -> optax.GradientTransformation:
        rule = optax.adamw(self.lr, self.beta1, self.beta2, self.eps, weight_decay=self.weight_decay)
        return from_optax(rule)
