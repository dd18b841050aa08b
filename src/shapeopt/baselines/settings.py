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
        known = {field.name for field in dataclasses.fields(self)}
        name = {"double_well": "multiwell"}.get(family, family)
        return getattr(self, name if name in known else "fallback")

    def derive(self, make: Callable[[M], N]) -> "ByFamily[N]":
        """The settings of a sibling, family by family."""
        return ByFamily(*(make(getattr(self, field.name)) for field in dataclasses.fields(self)))


def by_family(make: Callable[..., N], **columns: float | tuple[float, ...]) -> ByFamily[N]:
    """The rows of a table from its columns, in the order of `ByFamily`; a single number stands for all rows."""
    whole = {name: column if isinstance(column, tuple) else (column,) * 6 for name, column in columns.items()}
    return ByFamily(*(make(**dict(zip(whole, row, strict=True))) for row in zip(*whole.values(), strict=True)))


# tab. app:baseline_hparams_momentum
GD = by_family(GradientDescent, lr=(0.030, 0.012, 0.018, 0.014, 0.0025, 0.020))
MOMENTUM = by_family(
    Momentum, lr=(0.028, 0.011, 0.016, 0.012, 0.0020, 0.018), beta=(0.72, 0.65, 0.68, 0.72, 0.65, 0.75)
)
NAG = by_family(Nesterov, lr=(0.026, 0.010, 0.015, 0.011, 0.0018, 0.016), beta=(0.82, 0.78, 0.80, 0.80, 0.75, 0.82))

# tab. app:baseline_hparams_adaptive
RMSPROP = by_family(RMSProp, lr=(0.020, 0.010, 0.013, 0.010, 0.0015, 0.012), alpha=0.99)
ADAM = by_family(Adam, lr=(0.025, 0.012, 0.016, 0.012, 0.0020, 0.015), beta1=0.9, beta2=0.999)
LIONK = by_family(
    LionK,
    lr=(0.010, 0.006, 0.008, 0.006, 0.0015, 0.008),
    beta1=0.9,
    beta2=0.99,
    kick_period=(5, 5, 5, 5, 4, 5),
    kick_scale=(1.15, 1.10, 1.10, 1.10, 1.05, 1.10),
)

# tab. app:baseline_hparams_statistical
SHAMPOO = by_family(Shampoo, lr=(0.020, 0.010, 0.013, 0.010, 0.0015, 0.012))
SOAP_SETTINGS = by_family(SOAP, lr=(0.012, 0.008, 0.010, 0.008, 0.0018, 0.010), beta=0.95, nu=0.99)
SOPHIA = by_family(
    Sophia,
    lr=(0.030, 0.012, 0.016, 0.012, 0.0020, 0.016),
    beta1=0.965,
    beta2=0.99,
    rho=(0.030, 0.025, 0.030, 0.025, 0.020, 0.030),
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
