"""The log of a run's events: one entry for each stage that ended, made as the record grows."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from .codes import Cause
from .result import CAUSE_NAMES, MODE_NAMES, Result

Names = Sequence[tuple[str, Sequence[str]]]  # of tactics, and of the phases of each


class EventLog:
    """Entries in the order of calls.

        call, particle, stage   after which call it ended, whose stage it was, and its number (from 0)
        tactic, phase, mode     what the stage did: the tactic, its phase at the end, the paper's mode
        cause                   why it ended
        before, value, best     the value with which it began, the one with which it ended, the best of the run
        x                       where it ended
        wrote                   whether memory was written (eq. dp_event_indicator)
        anchor, next_x          the anchor of the stage that follows, and the point that is read next
        cuts                    steps of the stage whose port input a passivity monitor cut

    `writes` says of arrays of modes and causes which ends write memory; `place` gives an anchor the user's coordinates,
    `restore` a flat point the user's structure. `first` has the points of the first round, a row a particle; places
    are logged where the record keeps them. `names` are those of the tactics; the paper's policy has none.
    """

    def __init__(
        self,
        first: np.ndarray,
        writes: Callable[[np.ndarray, np.ndarray], np.ndarray],
        place: Callable[[np.ndarray], np.ndarray],
        restore: Callable[[np.ndarray], Any],
        names: Names = (),
    ) -> None:
        self.entries: list[Result] = []
        self._writes, self._place, self._restore, self._names = writes, place, restore, names
        self._readings, particles = 0, len(first)
        self._here = first  # of the last round
        self._stages = [0] * particles
        self._before = [np.nan] * particles
        self._cuts = np.zeros(particles, int)  # of each particle so far, and of its stages that ended
        self._cuts_logged = [0] * particles

    def extend(self, columns: Mapping[str, np.ndarray]) -> None:
        """A stretch of readings, in columns of equal length: whole rounds of all particles."""
        values, particles = columns["value"], len(self._before)
        if self._readings == 0:
            self._before = values[:particles].tolist()
        self._readings += len(values)
        events = np.flatnonzero(columns["cause"])
        modes, causes = (columns[name][events].astype(int) for name in ("mode", "cause"))
        numbers = (columns[name][events].tolist() for name in ("calls", "value", "best"))
        wrote, cuts = self._writes(modes, causes).tolist(), self._count_cuts(columns)
        places = np.concatenate([self._here, columns["next_x"]]) if "next_x" in columns else None
        self._here = self._here if places is None else places[-particles:]
        rows = zip(
            events.tolist(), modes.tolist(), causes.tolist(), wrote, self._named(columns, events), *numbers, strict=True
        )
        for row, mode, cause, written, named, call, value, best in rows:
            who = row % particles
            total = self._cuts_logged[who] if cuts is None else int(cuts[row])
            stage = self._stages[who]
            entry = Result(
                call=int(call),
                particle=who,
                stage=stage,
                **named,
                mode=MODE_NAMES[mode],
                cause=CAUSE_NAMES[cause],
                before=self._before[who],
                value=value,
                best=best,
                x=None if places is None else self._restore(places[row]),
                wrote=written,
                anchor=self._restore(self._place(columns["anchor"][row])) if "anchor" in columns else None,
                next_x=self._restore(columns["next_x"][row]) if "next_x" in columns else None,
                cuts=total - self._cuts_logged[who],
            )
            self.entries.append(entry)
            self._stages[who], self._before[who], self._cuts_logged[who] = stage + 1, value, total

    def end(self, call: int, mode: str, value: float, best: float, last: tuple[int, int] | None = None) -> Result:
        """An entry for the stage of the last reading, which the end of the budget ended; `last` are the indices of its
        tactic and phase."""
        who = (self._readings - 1) % len(self._before)
        named = {} if last is None else dict(zip(("tactic", "phase"), self._words(*last), strict=True))
        return Result(
            call=call,
            particle=who,
            stage=self._stages[who],
            **named,
            mode=mode,
            cause=CAUSE_NAMES[Cause.BUDGET],
            before=self._before[who],
            value=value,
            best=best,
            x=None,
            wrote=False,
            anchor=None,
            next_x=None,
            cuts=int(self._cuts[who]) - self._cuts_logged[who],
        )

    def _named(self, columns: Mapping[str, np.ndarray], events: np.ndarray) -> list[dict[str, str]]:
        """The names of the tactic and of its phase at each event, where the policy has any."""
        if "tactic" not in columns:
            return [{}] * len(events)
        codes = zip(columns["tactic"][events].tolist(), columns["phase"][events].tolist(), strict=True)
        return [
            dict(zip(("tactic", "phase"), self._words(int(tactic), int(phase)), strict=True)) for tactic, phase in codes
        ]

    def _words(self, tactic: int, phase: int) -> tuple[str, str]:
        name, phases = self._names[tactic]
        return name, phases[phase]

    def _count_cuts(self, columns: Mapping[str, np.ndarray]) -> np.ndarray | None:
        """How many inputs of its particle were cut until each reading; None where nobody watches."""
        if "cut" not in columns:
            return None
        counts = self._cuts + np.cumsum(columns["cut"].reshape(-1, len(self._cuts)), axis=0).astype(int)
        self._cuts = counts[-1]
        return counts.reshape(-1)
