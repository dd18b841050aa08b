"""Which mechanisms of the port-Hamiltonian reading the optimizers have."""

from collections.abc import Sequence

from ...baselines import BASELINES
from ...bench.digest import Digest
from ...bench.layout import Entry, Group, Table, words
from ..mechanisms import MECHANISMS, Mechanisms, Presence

# tab. summary:short. Momentum p; memory and archive; the metric M; U_shp; the port u_shp - K_d y; no noise is injected
# into the step, but escapes are drawn at random; the controller computes more and reads no more.
SHAPE = Mechanisms(
    momentum=Presence.PRESENT,
    auxiliary=Presence.PRESENT,
    preconditioner=Presence.PRESENT,
    shaped_energy=Presence.PRESENT,
    port=Presence.PRESENT,
    diffusion=Presence.IMPLICIT,
    auxiliary_statistics=True,
)
WORDS = {Presence.PRESENT: "yes", Presence.ABSENT: "no", Presence.IMPLICIT: "partly"}
HEADS = ("Momentum", "Auxiliary state", "Preconditioner", "Shaped energy", "Port", "Diffusion", "Extra gradients")


def mechanisms_table(found: Sequence[Digest] = (), seed: int = 0) -> Table:
    """The optimizers' mechanisms (tab. summary:short); needs no records."""
    rows = [_row(baseline.title, MECHANISMS[name]) for name, baseline in BASELINES.items()]
    return Table(
        name="mechanisms",
        title="Mechanisms of the optimizers in the port-Hamiltonian reading",
        columns=("Method", *HEADS, "in the paper's table"),
        groups=(Group("", (*rows, _row("SHAPE", SHAPE))),),
        notes=(
            "Partly: implicit, optional, or a matter of how the method is embedded. Extra gradients: readings an "
            "update beyond the first; 0* stands for more computation without more readings.",
        ),
    )


def _row(title: str, has: Mechanisms) -> tuple[Entry, ...]:
    kinds = (has.momentum, has.auxiliary, has.preconditioner, has.shaped_energy, has.port, has.diffusion)
    extra = f"{has.extra_gradients}{'*' * has.auxiliary_statistics}"
    return words(title, *(WORDS[kind] for kind in kinds), extra, "yes" if has.in_paper else "no")
