"""When a stage ends (Algorithm alg:streaming_shape_compact; eqs. dp_next_event_time, dp_event_indicator)."""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Int

from ..core import Cause, Mode

Flag = Bool[Array, ""]


class Signals(NamedTuple):
    """What a policy noticed at a reading; any of them ends the stage."""

    converged: Flag
    stalled: Flag
    revisit: Flag
    hopeless: Flag
    nonfinite: Flag

    @staticmethod
    def none() -> "Signals":
        return Signals(*(jnp.zeros((), bool),) * 5)


def cause_of(signals: Signals, age: Int[Array, ""], horizon: Int[Array, ""]) -> Int[Array, ""]:
    """Why the stage ends at this reading, the most telling cause first; `Cause.NONE` if it goes on.

    Departs from the paper: HOPELESS, REVISIT and NONFINITE are ours.
    """
    flags = (signals.nonfinite, signals.converged, signals.stalled, signals.revisit, signals.hopeless, age >= horizon)
    causes = (Cause.NONFINITE, Cause.CONVERGED, Cause.STALL, Cause.REVISIT, Cause.HOPELESS, Cause.CLOCK)
    return jnp.select(flags, [jnp.asarray(int(c), jnp.int32) for c in causes], jnp.asarray(int(Cause.NONE), jnp.int32))


def writes_memory(mode: Int[Array, ""], cause: Int[Array, ""]) -> Flag:
    """chi^write: the stage was an escape, or a signal ended it (eq. dp_event_indicator)."""
    return (cause != Cause.NONE) & ((mode == Mode.ESCAPE) | (cause != Cause.CLOCK))
