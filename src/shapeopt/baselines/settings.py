"""Every baseline with its settings, family by family: the paper's three tables, and what is derived from them.

The figures are those of tab. app:baseline_hparams_momentum, tab. app:baseline_hparams_adaptive and
tab. app:baseline_hparams_statistical. Methods that these do not list take the rates of their nearest sibling; each says
which below. The settings are the built optimizers themselves.
"""

import dataclasses
from collections.abc import Callable
from typing import Generic, TypeVar

from .adadelta import AdaDelta
from .adagrad import AdaGrad
from .adam import Adam
from .adamw import AdamW
from .base import AbstractBaseline
from .basin_hopping import BasinHopping
from .cross_entropy import CrossEntropy
from .gradient_descent import GradientDescent
from .lion import Lion
from .lion_k import LionK
from .lookahead import Lookahead
from .momentum import Momentum
from .muon import Muon
from .nesterov import Nesterov
from .rmsprop import RMSProp
from .sam import SAM
from .sghmc import SGHMC
from .shampoo import Shampoo
from .soap import SOAP
from .sophia import Sophia

M = TypeVar("M", bound=AbstractBaseline, covariant=True)
N = TypeVar("N", bound=AbstractBaseline)


@dataclasses.dataclass(frozen=True)
class ByFamily(Generic[M]):
    """One method, set for each family that the paper's tables know; `fallback` serves all others."""

    ackley: M
    rastrigin: M
    levy: M
    multiwell: M  # `multi_well_barrier` in the paper
    lennard_jones: M  # `lj_cluster` in the paper
    fallback: M

    def of(self, family: str) -> M:
        """The method as set for `family`; a double well is a multi-well."""
        match family:
            case "ackley":
                return self.ackley
            case "rastrigin":
                return self.rastrigin
            case "levy":
                return self.levy
            case "multiwell" | "double_well":
                return self.multiwell
            case "lennard_jones":
                return self.lennard_jones
        return self.fallback

    def derive(self, make: Callable[[M], N]) -> "ByFamily[N]":
        """The settings of a sibling, family by family."""
        rows = (self.ackley, self.rastrigin, self.levy, self.multiwell, self.lennard_jones, self.fallback)
        return ByFamily(*(make(row) for row in rows))


# tab. app:baseline_hparams_momentum
GD = ByFamily(
    ackley=GradientDescent(0.030),
    rastrigin=GradientDescent(0.012),
    levy=GradientDescent(0.018),
    multiwell=GradientDescent(0.014),
    lennard_jones=GradientDescent(0.0025),
    fallback=GradientDescent(0.020),
)
MOMENTUM = ByFamily(
    ackley=Momentum(0.028, 0.72),
    rastrigin=Momentum(0.011, 0.65),
    levy=Momentum(0.016, 0.68),
    multiwell=Momentum(0.012, 0.72),
    lennard_jones=Momentum(0.0020, 0.65),
    fallback=Momentum(0.018, 0.75),
)
NAG = ByFamily(
    ackley=Nesterov(0.026, 0.82),
    rastrigin=Nesterov(0.010, 0.78),
    levy=Nesterov(0.015, 0.80),
    multiwell=Nesterov(0.011, 0.80),
    lennard_jones=Nesterov(0.0018, 0.75),
    fallback=Nesterov(0.016, 0.82),
)

# tab. app:baseline_hparams_adaptive
RMSPROP = ByFamily(
    ackley=RMSProp(0.020, 0.99),
    rastrigin=RMSProp(0.010, 0.99),
    levy=RMSProp(0.013, 0.99),
    multiwell=RMSProp(0.010, 0.99),
    lennard_jones=RMSProp(0.0015, 0.99),
    fallback=RMSProp(0.012, 0.99),
)
ADAM = ByFamily(
    ackley=Adam(0.025, 0.9, 0.999),
    rastrigin=Adam(0.012, 0.9, 0.999),
    levy=Adam(0.016, 0.9, 0.999),
    multiwell=Adam(0.012, 0.9, 0.999),
    lennard_jones=Adam(0.0020, 0.9, 0.999),
    fallback=Adam(0.015, 0.9, 0.999),
)
LIONK = ByFamily(
    ackley=LionK(0.010, 0.9, 0.99, 5, 1.15),
    rastrigin=LionK(0.006, 0.9, 0.99, 5, 1.10),
    levy=LionK(0.008, 0.9, 0.99, 5, 1.10),
    multiwell=LionK(0.006, 0.9, 0.99, 5, 1.10),
    lennard_jones=LionK(0.0015, 0.9, 0.99, 4, 1.05),
    fallback=LionK(0.008, 0.9, 0.99, 5, 1.10),
)

# tab. app:baseline_hparams_statistical
SHAMPOO = ByFamily(
    ackley=Shampoo(0.020),
    rastrigin=Shampoo(0.010),
    levy=Shampoo(0.013),
    multiwell=Shampoo(0.010),
    lennard_jones=Shampoo(0.0015),
    fallback=Shampoo(0.012),
)
SOAP_SETTINGS = ByFamily(
    ackley=SOAP(0.012, 0.95, 0.99),
    rastrigin=SOAP(0.008, 0.95, 0.99),
    levy=SOAP(0.010, 0.95, 0.99),
    multiwell=SOAP(0.008, 0.95, 0.99),
    lennard_jones=SOAP(0.0018, 0.95, 0.99),
    fallback=SOAP(0.010, 0.95, 0.99),
)
SOPHIA = ByFamily(
    ackley=Sophia(0.030, 0.965, 0.99, 0.030),
    rastrigin=Sophia(0.012, 0.965, 0.99, 0.025),
    levy=Sophia(0.016, 0.965, 0.99, 0.030),
    multiwell=Sophia(0.012, 0.965, 0.99, 0.025),
    lennard_jones=Sophia(0.0020, 0.965, 0.99, 0.020),
    fallback=Sophia(0.016, 0.965, 0.99, 0.030),
)

# Not in the paper's tables.
ADAGRAD = RMSPROP.derive(lambda rms: AdaGrad(rms.lr / (1 - rms.alpha) ** 0.5))  # the first step of RMSProp
ADADELTA = GD.derive(lambda gd: AdaDelta())  # it has no rate to tune
ADAMW = ADAM.derive(lambda adam: AdamW(adam.lr, adam.beta1, adam.beta2))
LOOKAHEAD = ADAM.derive(Lookahead)
SAM_SETTINGS = GD.derive(lambda gd: SAM(gd.lr))
# eta and gamma of a heavy ball with Momentum's lr = eta^2 and beta = 1 - gamma eta
SGHMC_SETTINGS = MOMENTUM.derive(lambda ball: SGHMC(ball.lr**0.5, (1 - ball.beta) / ball.lr**0.5))
LION = LIONK.derive(lambda lionk: Lion(lionk.lr, lionk.beta1, lionk.beta2))
MUON = ADAM.derive(lambda adam: Muon(adam.lr))  # both make steps of about lr in each coordinate
BASIN_HOPPING = ADAM.derive(BasinHopping)
CEM = GD.derive(lambda gd: CrossEntropy())  # it has no rate to tune
