"""Which mechanisms of the port-Hamiltonian reading a method has (tab. summary:short)."""

import dataclasses
import enum
from collections.abc import Mapping
from types import MappingProxyType


class Presence(enum.Enum):
    """How far a method has a mechanism; IMPLICIT also means optional, or a matter of how the method is embedded."""

    PRESENT = "present"
    ABSENT = "absent"
    IMPLICIT = "implicit"


PRESENT, ABSENT, IMPLICIT = Presence.PRESENT, Presence.ABSENT, Presence.IMPLICIT


@dataclasses.dataclass(frozen=True)
class Mechanisms:
    """A method's row of the paper's summary (tab. summary:short); what is not named is absent.

    `extra_gradients` counts gradient readings an update beyond the first. `auxiliary_statistics` is the paper's star:
    more computation, but no more readings. `in_paper` is False where the table lacks the method.
    """

    momentum: Presence = ABSENT  # "Mom.": explicit phase or momentum state
    auxiliary: Presence = ABSENT  # "Aux.": persistent moments, curvature estimates, slow copies
    preconditioner: Presence = ABSENT  # "Prec.": adaptive metric
    shaped_energy: Presence = ABSENT  # "H_shp": energy beyond the objective itself
    port: Presence = ABSENT  # "Port": explicit bounded control
    diffusion: Presence = ABSENT  # "Diff.": injected noise
    extra_gradients: int = 0
    auxiliary_statistics: bool = False
    in_paper: bool = True

    def __post_init__(self):
        if self.extra_gradients < 0:
            raise ValueError(f"`extra_gradients` must not be negative; got {self.extra_gradients}.")


# Rows of tab. summary:short, by the names of `BASELINES`.
MECHANISMS: Mapping[str, Mechanisms] = MappingProxyType(
    {
        "gd": Mechanisms(in_paper=False),
        "momentum": Mechanisms(momentum=PRESENT),
        "nag": Mechanisms(momentum=PRESENT),
        "adagrad": Mechanisms(auxiliary=PRESENT, preconditioner=PRESENT),
        "rmsprop": Mechanisms(auxiliary=PRESENT, preconditioner=PRESENT),
        "adadelta": Mechanisms(auxiliary=PRESENT, preconditioner=PRESENT, in_paper=False),
        "adam": Mechanisms(auxiliary=PRESENT, preconditioner=PRESENT),
        "adamw": Mechanisms(auxiliary=PRESENT, preconditioner=PRESENT),
        "sghmc": Mechanisms(momentum=PRESENT, preconditioner=IMPLICIT, diffusion=PRESENT),
        "lookahead": Mechanisms(auxiliary=PRESENT, port=IMPLICIT),
        "sam": Mechanisms(shaped_energy=PRESENT, extra_gradients=1),
        "shampoo": Mechanisms(auxiliary=PRESENT, preconditioner=PRESENT),
        "soap": Mechanisms(auxiliary=PRESENT, preconditioner=PRESENT, auxiliary_statistics=True),
        "sophia": Mechanisms(auxiliary=PRESENT, preconditioner=PRESENT, auxiliary_statistics=True),
        "lion": Mechanisms(momentum=IMPLICIT, auxiliary=PRESENT, preconditioner=IMPLICIT),
        "lionk": Mechanisms(
            momentum=IMPLICIT, auxiliary=PRESENT, preconditioner=IMPLICIT, port=IMPLICIT, in_paper=False
        ),
        "muon": Mechanisms(momentum=IMPLICIT, auxiliary=PRESENT, preconditioner=PRESENT, auxiliary_statistics=True),
        "basin_hopping": Mechanisms(auxiliary=PRESENT, diffusion=PRESENT, in_paper=False),
        "cem": Mechanisms(auxiliary=PRESENT, preconditioner=IMPLICIT, diffusion=PRESENT, in_paper=False),
    }
)
