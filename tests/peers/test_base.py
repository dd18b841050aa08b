"""How a peer is run: what stops it, what does not, and what is refused."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from shapeopt.peers import AbstractPeer, Start, run_peer
from shapeopt.peers.base import rounds

X0 = np.array([-3.0, 0.7, 4.2])


@dataclass(frozen=True)
class Scripted(AbstractPeer):
    """Reads x0 until told otherwise, then does what `then` says."""

    name: str = "scripted"
    then: str = "hand on"
    package: ClassVar[str] = "scipy"
    uses_gradients: ClassVar[bool] = False
    start: ClassVar[Start] = Start.READS

    def search(self, reader, x0, lower, upper, seed):
        try:
            while True:
                reader.value(x0)
                if self.then == "fail":
                    raise ZeroDivisionError("the library's own fault")
        except RuntimeError as stop:
            if self.then == "wrap":
                raise ValueError("wrapped") from stop
            if self.then == "hand on":
                raise


@dataclass(frozen=True)
class Centred(AbstractPeer):
    """Reads anything but x0."""

    name: str = "centred"
    package: ClassVar[str] = "scipy"
    uses_gradients: ClassVar[bool] = False
    start: ClassVar[Start] = Start.CENTRES

    def search(self, reader, x0, lower, upper, seed):
        reader.value(x0 + 0.1)


def run(peer, reader, x0=X0, lower=None, upper=None):
    lower, upper = reader.lower if lower is None else lower, reader.upper if upper is None else upper
    run_peer(peer, reader, x0, lower, upper, 0)


@pytest.mark.parametrize("then", ["hand on", "wrap", "hide"])
def test_the_stop_ends_a_search_whether_it_is_handed_on_wrapped_or_hidden(then, counted):
    reader, asked = counted(5)
    run(Scripted(then=then), reader)
    assert len(asked) == reader.calls == 5
    assert reader.exhausted


def test_a_fault_before_the_stop_passes(counted):
    reader, _ = counted(5)
    with pytest.raises(ZeroDivisionError, match="the library's own fault"):
        run(Scripted(then="fail"), reader)
    assert reader.calls == 1


def test_a_method_that_only_centres_on_its_start_is_made_to_read_it(counted):
    reader, asked = counted(5)
    run(Centred(), reader)
    np.testing.assert_array_equal(asked, [X0, X0 + 0.1])


def test_a_start_outside_the_box_is_moved_inside(counted):
    reader, asked = counted(1)
    run(Scripted(), reader, x0=np.array([-9.0, 0.0, 9.0]))
    np.testing.assert_array_equal(asked, [[-4.0, 0.0, 5.0]])
    assert reader.outside == 0


def test_rounds_begin_at_x0_then_anywhere_and_end_when_a_round_reads_nothing(counted):
    reader, _ = counted(100)
    starts, seeds = [], []
    for start, seed in rounds(reader, X0, reader.lower, reader.upper, seed=3):
        starts.append(start)
        seeds.append(seed)
        if len(starts) < 6:
            reader.value(start)
    assert len(starts) == 6
    np.testing.assert_array_equal(starts[0], X0)
    assert np.all((np.array(starts) >= reader.lower) & (np.array(starts) <= reader.upper))
    assert len(np.unique(starts, axis=0)) == len(set(seeds)) == 6


@pytest.mark.parametrize(
    "wrong, message",
    [
        ({"lower": np.array([-4.0, -np.inf, -4.0])}, r"`lower` must be finite, with the shape \(3,\) of `x0`; got"),
        ({"upper": np.array([5.0, 5.0])}, r"`upper` must be finite, with the shape \(3,\) of `x0`; got \[5. 5.\]"),
        ({"lower": np.array([-4.0, 5.0, -4.0])}, "`lower` must lie below `upper`"),
    ],
)
def test_wrong_arguments_are_named(wrong, message, counted):
    with pytest.raises(ValueError, match=message):
        run(Scripted(), counted(5)[0], **wrong)
