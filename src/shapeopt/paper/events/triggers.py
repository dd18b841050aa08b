"""When a stage ends (Algorithm alg:streaming_shape_compact; eqs. dp_next_event_time, dp_event_indicator)."""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Int

from ...core import Cause, Mode

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

    Departs from the paper: HOPELESS, REVISIT and NONFINITE are new.
    """
    cause = jnp.where(age >= horizon, int(Cause.CLOCK), int(Cause.NONE))
    cause = jnp.where(signals.hopeless, int(Cause.HOPELESS), cause)
    cause = jnp.where(signals.revisit, int(Cause.REVISIT), cause)
    cause = jnp.where(signals.stalled, int(Cause.STALL), cause)
    cause = jnp.where(signals.converged, int(Cause.CONVERGED), cause)
    return jnp.where(signals.nonfinite, int(Cause.NONFINITE), cause).astype(jnp.int32)


def writes_memory(mode: Int[Array, ""], cause: Int[Array, ""]) -> Flag:
    """chi^write: the stage was an escape, or a signal ended it (eq. dp_event_indicator)."""
    return (cause != Cause.NONE) & ((mode == Mode.ESCAPE) | (cause != Cause.CLOCK))
