"""Which cause ends a stage, and when memory is written."""

import jax.numpy as jnp
import pytest

from shapeopt.core import Cause, Mode
from shapeopt.paper.events import Signals, cause_of, writes_memory


def cause(age=0, horizon=6, **flags):
    signals = Signals.none()._replace(**{name: jnp.asarray(flag) for name, flag in flags.items()})
    return int(cause_of(signals, jnp.asarray(age, jnp.int32), jnp.asarray(horizon, jnp.int32)))


def test_clock_fires_at_the_horizon_and_not_before():
    assert cause(age=5) == Cause.NONE
    assert cause(age=6) == Cause.CLOCK


@pytest.mark.parametrize("name", ["converged", "stalled", "revisit", "hopeless", "nonfinite"])
def test_every_signal_ends_the_stage_before_its_clock(name):
    named = {"stalled": Cause.STALL}.get(name) or Cause[name.upper()]
    assert cause(**{name: True}) == named
    assert cause(age=9, **{name: True}) == named


def test_convergence_tells_more_than_hopelessness():
    assert cause(converged=True, hopeless=True) == Cause.CONVERGED


@pytest.mark.parametrize(
    ("mode", "why", "writes"),
    [
        (Mode.ESCAPE, Cause.CLOCK, True),
        (Mode.SETTLE, Cause.CLOCK, False),
        (Mode.REFINE, Cause.STALL, True),
        (Mode.ESCAPE, Cause.NONE, False),
    ],
)
def test_memory_is_written_on_escape_or_stall_only(mode, why, writes):
    assert bool(writes_memory(jnp.asarray(int(mode)), jnp.asarray(int(why)))) is writes
