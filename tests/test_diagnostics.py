"""Diagnostics of a run: the log of events, what is told to a callback, and the account of the port."""

import itertools

import numpy as np
import pytest
from optimizer_runs import rastrigin, wells

import shapeopt
from shapeopt.core import Reading
from shapeopt.core.problem import read_problem
from shapeopt.engines.host import HostRun
from shapeopt.optimizer import TACTICS, Policy

START = np.array([3.3, -2.1])
NAMES = {"start", *(tactic.name for tactic in TACTICS)}


def stepped(fun, budget, num_starts=1):
    """A run on the host, reading by reading: (calls, archive of basins before, and after)."""
    run = HostRun(Policy(), read_problem(START, (-5, 5), np.random.default_rng(0)), budget, 0, num_starts)
    steps = []
    for call in range(1, budget + 1):
        before = [np.copy(part) for part in run.state(0).board.basins]
        f, g = fun(run.x)
        run.tell(Reading(np.float64(f), g, np.int32(1)), call)
        steps.append((call, before, [np.copy(part) for part in run.state(0).board.basins]))
    return run, steps


def test_an_event_says_whether_memory_was_written():
    run, steps = stepped(wells, 80)
    changed = lambda a, b: any(not np.array_equal(x, y) for x, y in zip(a, b, strict=True))  # noqa: E731
    wrote = [call for call, before, after in steps if changed(before, after)]
    assert wrote == [event.call for event in run.new_events() if event.wrote]
    assert 3 < len(wrote) < len(run.log.entries)


def test_events_are_told_once_and_link_up():
    run, _ = stepped(rastrigin, 120)
    events = run.new_events()
    assert run.new_events() == []
    assert [event.stage for event in events] == list(range(len(events)))
    assert all(event.before == last.value for last, event in itertools.pairwise(events))
    assert events[0].before == run.record.column("value")[0]
    record = dict(enumerate(run.record.column("value"), 1))
    assert all(event.value == record[event.call] for event in events)


def test_events_name_the_tactic_and_its_phase():
    run, _ = stepped(rastrigin, 120)
    events = run.new_events()
    phases = {tactic.name: tactic.phases for tactic in run.optimizer.tactics}
    assert events[0].tactic == "start" and all(event.phase in phases[event.tactic] for event in events)
    assert {"start", "refine", "separable sum", "hop"} <= {event.tactic for event in events} <= NAMES
    swept = next(event for event in events if event.tactic == "separable sum")
    assert (swept.phase, swept.cause, swept.mode) == ("lowest", "done", "escape")


def test_events_of_several_particles_name_them():
    run, _ = stepped(wells, 120, num_starts=3)
    events = run.new_events()
    assert {event.particle for event in events} == {0, 1, 2}
    for particle in range(3):
        own = [event for event in events if event.particle == particle]
        assert [event.stage for event in own] == list(range(len(own)))
        assert all((event.call - 1) % 3 == particle for event in own)
        assert own[0].before == run.record.column("value")[particle]
        assert all(event.before == last.value for last, event in itertools.pairwise(own))


@pytest.mark.parametrize("jac", [True, None])
def test_a_callback_sees_every_event_as_it_happens(jac):
    told = []

    def look(progress):
        assert all(event.call == progress.nfev for event in progress.events)
        assert progress.tactic in NAMES
        told.extend(progress.events)

    fun = wells if jac else lambda x: wells(x)[0]
    result = shapeopt.minimize(fun, START, bounds=(-5, 5), budget=80, jac=jac, callback=look)
    assert len(told) > 2 and told == result.events[:-1]


def test_the_trace_names_the_tactic_of_every_reading():
    result = shapeopt.minimize(rastrigin, START, bounds=(-5, 5), budget=100, jac=True)
    assert result.trace.tactic[0] == "start" and set(result.trace.tactic) <= NAMES
    ends = {event.call: event.tactic for event in result.events}
    assert all(result.trace.tactic[call - 1] == tactic for call, tactic in ends.items())


def test_the_shipped_tactics_feed_nothing_in_through_the_port():
    """So that no allowance is ever passed, and watching changes nothing."""
    plain, watched = (
        shapeopt.minimize(wells, START, bounds=(-5, 5), budget=100, jac=True, port_allowance=allowance)
        for allowance in (None, 0.0)
    )
    assert plain.passivity is None and plain.trace.value.tobytes() == watched.trace.value.tobytes()
    account = watched.passivity
    assert account.allowance == 0.0 and not account.injected.any() and not account.cut.size
    assert account.dissipated[-1] > 0 and np.all(np.diff(account.dissipated) >= 0)


@pytest.mark.parametrize("allowance", [-0.1, np.nan, "much"])
def test_a_wrong_allowance_is_refused_by_name(allowance):
    with pytest.raises(ValueError, match="port_allowance"):
        shapeopt.minimize(wells, START, bounds=(-5, 5), budget=5, jac=True, port_allowance=allowance)
