"""The one table of baselines, which every generic test, the benchmark and the command line read."""

import dataclasses
from collections.abc import Mapping
from types import MappingProxyType

from . import settings
from .base import AbstractBaseline
from .settings import ByFamily


@dataclasses.dataclass(frozen=True)
class Baseline:
    """A row: the name that people know, and the method as set for each family."""

    title: str
    settings: ByFamily[AbstractBaseline]

    @property
    def constructor(self) -> type[AbstractBaseline]:
        """The class, for settings of one's own."""
        return type(self.settings.fallback)


BASELINES: Mapping[str, Baseline] = MappingProxyType(
    {
        "gd": Baseline("GD", settings.GD),
        "momentum": Baseline("Heavy-ball", settings.MOMENTUM),
        "nag": Baseline("NAG", settings.NAG),
        "adagrad": Baseline("AdaGrad", settings.ADAGRAD),
        "rmsprop": Baseline("RMSProp", settings.RMSPROP),
        "adadelta": Baseline("AdaDelta", settings.ADADELTA),
        "adam": Baseline("Adam", settings.ADAM),
        "adamw": Baseline("AdamW", settings.ADAMW),
        "sghmc": Baseline("SGHMC", settings.SGHMC_SETTINGS),
        "lookahead": Baseline("Lookahead", settings.LOOKAHEAD),
        "sam": Baseline("SAM", settings.SAM_SETTINGS),
        "shampoo": Baseline("Shampoo", settings.SHAMPOO),
        "soap": Baseline("SOAP", settings.SOAP_SETTINGS),
        "sophia": Baseline("Sophia", settings.SOPHIA),
        "lion": Baseline("Lion", settings.LION),
        "lionk": Baseline("LionK", settings.LIONK),
        "muon": Baseline("Muon", settings.MUON),
        "basin_hopping": Baseline("Basin hopping", settings.BASIN_HOPPING),
        "cem": Baseline("CEM", settings.CEM),
    }
)


def make_baseline(name: str, family: str) -> AbstractBaseline:
    """The baseline of the table called `name`, as the paper sets it for `family` (its fallback for other families)."""
    if name not in BASELINES:
        raise ValueError(f"`name` must be one of {', '.join(BASELINES)}; got {name!r}.")
    return BASELINES[name].settings.of(family)
