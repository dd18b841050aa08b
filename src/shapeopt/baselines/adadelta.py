"""AdaDelta."""

import optax

from .base import AbstractDescent, require_decay


class AdaDelta(AbstractDescent):
    """u = -sqrt(m + eps) / sqrt(v' + eps) g, q' = q + u, by Optax (eq. app_adadelta_disc).

    v and m are means of g² and u² with decay rho. Here eps is no mere stabiliser: it sets the first steps, which are
    about sqrt(eps / (1 - rho)) long. The defaults are PyTorch's.

    Departs from the paper: eps inside both roots, as in Zeiler's method, Optax and PyTorch, and 1e-6 rather than 1e-8.
    """

    lr: float = 1.0
    rho: float = 0.9
    eps: float = 1e-6

    def __check_init__(self):
        require_decay("rho", self.rho)

    @property
    def rule(self) -> optax.GradientTransformation:
        return optax.adadelta(self.lr, rho=self.rho, eps=self.eps)
