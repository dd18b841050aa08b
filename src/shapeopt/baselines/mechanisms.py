"""Which mechanisms of the port-Hamiltonian reading a method has (tab. summary:short)."""

import dataclasses
import enum


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
    more computation, but no more readings. `in_paper` is False where the table lacks the method and the row is ours.
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
