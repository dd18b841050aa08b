"""SOAP, for a vector."""

import optax

from .base import EPS, AbstractDescent, from_optax, require_decay


class SOAP(AbstractDescent):
    """Adam with decays beta (of g) and nu (of g²) in the coordinate basis, by Optax (eq. app_soap_disc with Q_L = I).

    Departs from the paper: no rotation; the method's own code by default leaves vectors unrotated, and the paper's
    Ackley rows, in which SOAP is a shade behind Adam, agree. The mean of g is not in the equation, but its decay is in
    tab. app:baseline_hparams_statistical. Both means are corrected for their start at zero.
    """

    lr: float
    beta: float = 0.95
    nu: float = 0.99
    eps: float = EPS

    def __check_init__(self):
        require_decay("nu", self.nu)

    @property
    def rule(self) -> optax.GradientTransformation:
        return from_optax(optax.adam(self.lr, self.beta, self.nu, self.eps))
