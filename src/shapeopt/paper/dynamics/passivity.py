"""A watch over the port: what it may feed in, and what happens when it wants more (eqs. shape_port_output,
dp_port_power_penalty)."""

import math
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from .step import ChannelWork
from .structure import Structure

Scalar = Float[Array, ""]


class PortAccount(NamedTuple):
    """What the port has fed in so far, net of the damping injection; what was dissipated; whether the last step's input
    was cut."""

    injected: Scalar
    dissipated: Scalar
    cut: Bool[Array, ""]

    @staticmethod
    def blank(dtype: jax.typing.DTypeLike) -> "PortAccount":
        zero = jnp.zeros((), dtype)
        return PortAccount(zero, zero, jnp.zeros((), bool))

    def after(self, work: ChannelWork, cut: Bool[Array, ""]) -> "PortAccount":
        injected = self.injected + work.port + work.damping_injection
        return PortAccount(injected, self.dissipated - work.dissipation, cut)


class PassivityMonitor(eqx.Module):
    """Cuts the port's input where it would feed in more than its allowance.

        sum of h y . u_port <= allowance * sum of what was dissipated,   y = e_p,   u_port = u_shp - K_d y

    The work of a step's port is known before the step is made, so the bound holds at every step and not just after it
    was passed once. Past it u_shp = 0 and the damping injection stays. The measure is the ledger's: what the input does
    beyond y . u_shp within a step is of second order in h and stands in the ledger's discretisation. An allowance of 1
    gives back at most what was taken out, as an energy tank does; 0 lets the port never feed in; infinity only watches.

    Departs from the paper: it penalises the port's power in training and bounds nothing in a run.
    """

    allowance: float = eqx.field(static=True, default=1.0)

    def __check_init__(self):
        if not (isinstance(self.allowance, int | float) and not math.isnan(self.allowance) and self.allowance >= 0):
            raise ValueError(f"`allowance` must be a number that is not negative; got {self.allowance!r}.")

    def guard(
        self, account: PortAccount, structure: Structure, p: Float[Array, " d"], h: float
    ) -> tuple[Structure, Bool[Array, ""]]:
        """The structure of the next step, and whether its port input was cut."""
        if structure.u_shp is None or math.isinf(self.allowance):
            return structure, jnp.zeros((), bool)
        fed, taken = structure.port_power(structure.metric.solve(p))
        wanted = account.injected + h * (fed - taken)
        cut = (fed > taken) & (wanted > self.allowance * account.dissipated)
        u_shp = jnp.where(cut, 0.0, structure.u_shp)
        return eqx.tree_at(lambda s: s.u_shp, structure, u_shp), cut
