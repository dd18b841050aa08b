"""The host engine: a run stepped from Python in NumPy, with nothing compiled; state, best point and record."""

import math
from collections.abc import Callable
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from ..core.board import UNKNOWN, Basins, Board, Estimate, Spec
from ..core.box import REACH, Box
from ..core.codes import Cause, Mode, Status
from ..core.event_log import EventLog
from ..core.gradient_fit import fit_gradients
from ..core.problem import Problem
from ..core.reading import Reading
from ..core.result import MODE_NAMES, Result, RunRecord, list_minima, make_result
from ..dynamics.move import LEDGER_TERMS
from ..memory import Census, no_basins, write_basin
from ..ops import HOST
from ..optimizer import Info, Optimizer, Policy, State
from ..values_only import ValueReadings, ValueState
from .noisy_mean import best_by_mean
from .quiet import Quiet

POINTS_KEPT = 4_000_000  # numbers: beyond it the places of readings are not kept, so that memory stays O(d)


# What is kept of a reading: its value, the best one, calls so far, its tactic, phase and cause, whether its input was
# cut, and the terms of its line. One plain tuple of numbers, which Python's collector need not look at again.
Row = tuple[Any, ...]


class Advance(NamedTuple):
    """A reading that a particle has taken in: where it was made, what it brought and where it led."""

    x: np.ndarray
    value: float
    info: Info
    next_x: np.ndarray
    gradient: Any
    noisy: bool  # whether forces are known to be noisy


class HostRun:
    """A run of the optimizer under a budget: where to read next (`x`), and what was read (`tell`).

    Several particles share the budget and the archive of basins; they are read in rounds, `x` first. Readings are
    values with gradients, or values alone (`values_only`).
    """

    def __init__(
        self,
        policy: Policy,
        problem: Problem,
        budget: int,
        seed: int,
        num_starts: int = 1,
        port_allowance: float | None = None,
        noise: float | None = None,
        values_only: bool = False,
        stages: bool = False,
        residuals: bool = False,
        units: np.ndarray | None = None,
    ) -> None:
        budget, num_starts = whole("budget", budget), whole("num_starts", num_starts)
        if port_allowance is not None and not (_is_number(port_allowance) and port_allowance >= 0):
            raise ValueError(f"`port_allowance` must be a number that is not negative; got {port_allowance!r}.")
        self.problem, self.budget, self.seed, self.port_allowance = problem, budget, seed, port_allowance
        self.policy, self._noise_std = noise_settings(policy, noise)
        self.particles = num_starts
        self.keeps_points = budget * problem.x0.size <= POINTS_KEPT
        self.keeps_stages = stages and self.keeps_points
        self.judges_gradients = False  # whether `result.gradient_fit` is asked for,
        self.keeps_forces = False  # for which forces are kept, as for the estimated mean of noisy values
        self._affine = Box.around(problem.lower, problem.upper, problem.x0).turned(policy.seam)
        self.record, self.census, self._quietly = RunRecord(), Census(), Quiet()
        self.calls, self.gradients = 0, 0
        self.best_x, self.best = problem.x0, np.inf
        self.residuals = residuals
        self._given_units = units is not None  # of coordinates without bounds, which else the first reading tells
        if units is not None:
            self._affine = self._affine._replace(scale=np.where(self._affine.closed, self._affine.scale, units))
        self.start(values_only)

    def start(self, values_only: bool) -> None:
        """Begin, before the first reading, as a run whose readings are values alone or bring forces."""
        problem, dtype = self.problem, self.problem.x0.dtype
        self.values_only = values_only
        spec = Spec(problem.x0.size, dtype, values_only, self.residuals)
        self.optimizer = Optimizer(self.policy, spec, self._noise_std, self.port_allowance)
        self._values = ValueReadings(self.optimizer)
        self.box = self._affine.by_orders(problem.x0) if values_only and not self.policy.affine else self._affine
        self._lower, self._upper = self.box.q_lower, self.box.q_upper
        self._states: list[Any] = [self._begin(i) for i in range(self.particles)]
        self._share_basins()
        self._points = np.array([self._ask(i) for i in range(self.particles)])
        self._told, self._next = 0, list(self._points)
        names = [(tactic.name, tactic.phases) for tactic in self.optimizer.tactics]
        self._modes = np.array([int(tactic.mode) for tactic in self.optimizer.tactics])
        self._escapes = [tactic.mode == Mode.ESCAPE for tactic in self.optimizer.tactics]
        self.log = EventLog(self._points.copy(), _writes, lambda x: x, problem.layout.restore, names)
        self._shown = 0  # entries of the log that a callback has seen
        self._rows: list[Row] = []
        self._places: list[np.ndarray] = []
        self._forces: list[np.ndarray] = []
        self._first = self._points.copy()
        self._last = Info(0, 0, 0, (), False)  # of the last reading
        self._ended = False  # whether a stage ended since readings joined the record
        self._lowest = [np.inf] * self.particles  # value of each particle's stage
        self._noisy = [False] * self.particles  # whether each has noisy forces
        self.archive: Basins | None = None  # of trajectories that have archives of their own

    def _begin(self, i: int, x: np.ndarray | None = None) -> Any:
        """Particle i, with its share of the budget: at x; else the first at x0 and the others anywhere in the box."""
        q = np.minimum(np.maximum(self.box.inward(self.problem.x0 if x is None else x), self._lower), self._upper)
        if i > 0 and x is None:
            share = np.random.default_rng([_unsigned(self.seed), i]).uniform(size=q.size)
            lower, upper = np.maximum(self._lower, -REACH), np.minimum(self._upper, REACH)
            q = (lower + share * (upper - lower)).astype(q.dtype)
        words = seed_words(self.seed, i)
        share_of_calls = self.budget / self.particles
        inner = self.optimizer.init(HOST, q, self._lower, self._upper, share_of_calls, words)
        return self._values.init(HOST, inner) if self.values_only else inner

    def _share_basins(self) -> None:
        """One archive for all particles: the host writes its arrays in place."""
        basins = self.state(0).board.basins
        for i in range(1, self.particles):
            self.replace_board(i, self.state(i).board._replace(basins=basins))

    def separate_basins(self) -> None:
        """An archive of its own for each particle, before the first reading."""
        for i in range(self.particles):
            basins = no_basins(HOST, self.problem.x0.size, self.problem.x0.dtype)
            self.replace_board(i, self.state(i).board._replace(basins=basins))

    def replace_board(self, i: int, board: Board) -> None:
        """Give particle i another board."""
        state, inner = self._states[i], self.state(i)._replace(board=board)
        self._states[i] = state._replace(inner=inner) if isinstance(state, ValueState) else inner

    def active(self, i: int) -> str:
        """The tactic of particle i."""
        return self.optimizer.names[int(self.state(i).active)]

    def next_point(self, i: int) -> np.ndarray:
        """Where particle i reads next, however far the round is."""
        return self._next[i]

    def state(self, i: int) -> State:
        """Particle i, without what puts a reading of values together."""
        state = self._states[i]
        return state.inner if isinstance(state, ValueState) else state

    def _ask(self, i: int) -> np.ndarray:
        if self.values_only:
            return self._values.ask(HOST, self._states[i], self.box)
        return self.box.outward(self._states[i].q)

    @property
    def left(self) -> int:
        return self.budget - self.calls

    @property
    def mode(self) -> str:
        """The mode of the stage in which the last reading was made."""
        return MODE_NAMES[self._modes[self._last.tactic]]

    @property
    def tactic(self) -> str:
        """The tactic of that stage."""
        return self.optimizer.names[self._last.tactic]

    @property
    def x(self) -> np.ndarray:
        """The point to read next."""
        return self._points[self._told]

    @property
    def round(self) -> np.ndarray:
        """The points that are still to be read in this round, `x` first; a row each."""
        return self._points[self._told :]

    def tell(self, reading: Reading, calls: int) -> None:
        """Take in a reading at `x`, after which `calls` calls are spent in all; moves `x`."""
        value, i = float(reading.value), self._told
        if not self.gradients and not self.values_only:
            self.fit_scales(reading)
        x = self._points[i]
        info = self._quietly(self._step, i, value, reading)
        board = (self._states[i].inner if self.values_only else self._states[i]).board
        noisy = board.noise_std > 0 or board.value_noise > 0
        self._keep(calls, x, value, info, self._next[i], reading.gradient, noisy)

    def keep(self, made: Advance, calls: int) -> None:
        """Record the reading of the next particle of the round, after which `calls` calls are spent in all."""
        self._keep(calls, *made)

    def _keep(
        self, calls: int, x: np.ndarray, value: float, info: Info, next_x: np.ndarray, gradient: Any, noisy: bool
    ) -> None:
        i, (tactic, phase, cause, ledger, cut) = self._told, info
        self._noisy[i] = noisy
        if -math.inf < value < self.best:
            self.best, self.best_x = value, x.copy()
        if calls > self.calls:
            self.calls = calls
        if not self.values_only:
            self.gradients += 1
        self._rows.append((value, self.best, self.calls, tactic, phase, cause, cut, *ledger))
        self._last = info
        if cause:
            self._ended = True
        if cause or value < self._lowest[i]:
            self._count(i, value, info)
        if self.keeps_points:
            self._places.append(next_x)
            if self.keeps_forces or self.judges_gradients:
                self._forces.append(np.asarray(gradient).reshape(-1))
        self._told += 1
        if self._told == self.particles:
            self._told, self._points = 0, self._next[0][None] if self.particles == 1 else np.array(self._next)

    def _count(self, i: int, value: float, info: Info) -> None:
        """A meeting with a basin, where a stage in one ended."""
        if -math.inf < value < self._lowest[i]:
            self._lowest[i] = value
        if info.cause:
            if not self._escapes[info.tactic]:
                self.census.add(info.cause, self._lowest[i])
            self._lowest[i] = value if math.isfinite(value) else math.inf

    def fit_scales(self, reading: Reading) -> None:
        """Set the scales of coordinates without bounds by the first reading, before anything was made of it."""
        if self._given_units or self.box.closed.all():
            return
        self.box = self.box.scaled_by(self._points[0].astype(float), np.asarray(reading.gradient, float))
        self._lower, self._upper = self.box.q_lower, self.box.q_upper
        self._states = [self._begin(i, x) for i, x in enumerate(self._points)]
        self._share_basins()

    def advance(self, i: int, value: float, reading: Reading) -> Info:
        """Tell particle i of a reading; moves its point."""
        return self._quietly(self._step, i, value, reading)

    def _step(self, i: int, value: float, reading: Reading) -> Info:
        """Tell particle i."""
        if self.values_only:
            state: Any = self._values.tell(HOST, self._states[i], value, self.box)
            info = state.inner.info if state.complete else _waits(state.inner)
        else:
            rate = self.box.rate(self._next[i])
            force = np.asarray(reading.gradient) * rate
            fit = None if reading.fit is None else (reading.fit[0], reading.fit[1] * rate)
            state = self.optimizer.tell(HOST, self._states[i], value, force, int(reading.cost), fit)
            info = state.info
        self._states[i] = state
        point, dtype = self._ask(i), self._points.dtype
        self._next[i] = point if point.dtype is dtype else point.astype(dtype)
        return info

    def read_batch(self, pair: Callable[[Any], tuple[Any, Any]]) -> None:
        """Spend whole rounds of what is left of the budget on the device engine, all starts at once; `pair`,
        x -> (value, gradient), is traceable."""
        from .device import run_batch

        rounds = self.left // self.particles
        if rounds < 1:
            return
        batch = run_batch(self.optimizer, self._states, self.box, pair, rounds)
        values = batch.value.reshape(-1).astype(float)
        places = batch.next_x.reshape(len(values), -1)
        points, spent = np.concatenate([self._points, places]), self.calls
        codes = np.stack([np.asarray(part).reshape(-1) for part in batch.info[:3]], axis=1).tolist()
        ledgers = np.stack([np.asarray(term).reshape(-1) for term in batch.info.ledger], axis=1)
        for i, value in enumerate(values.tolist()):
            self.saw(points[i], value if math.isfinite(value) else math.inf, spent + i + 1)
            tactic, phase, cause = codes[i]
            info = Info(tactic, phase, cause, tuple(ledgers[i]), False)
            self._count(i % self.particles, value, info)
            self._rows.append((value, self.best, self.calls, tactic, phase, cause, False, *info.ledger))
        self.gradients += len(values)
        if self.keeps_points:
            self._places += list(places)
        self._last, self._ended = info, True
        self._points = places[-self.particles :].copy()
        self._next = list(self._points)
        self._join(batch.ends)

    def _join(self, states: list[State]) -> None:
        """Go on from states that kept archives of their own: one archive for all of them again."""
        basins = self.state(0).board.basins
        for state in states:
            found = state.board.basins
            for row in np.flatnonzero(np.isfinite(found.values)).tolist():
                for _ in range(max(1, int(found.visits[row]))):
                    write_basin(HOST, basins, found.points[row], float(found.values[row]))
        self._states = [state._replace(board=state.board._replace(basins=basins)) for state in states]

    def saw(self, x: np.ndarray, value: float, calls: int) -> None:
        """A value that was read, by the optimizer or outside its readings, after which `calls` calls are spent."""
        self.calls = max(self.calls, calls)
        if value < self.best:
            self.best, self.best_x = value, x.copy()

    def extend(self, budget: int) -> None:
        """A larger budget."""
        if budget < self.calls:
            raise ValueError(f"`budget` must be at least the {self.calls} calls already spent; got {budget}.")
        self.budget = whole("budget", budget)

    def progress(self) -> Result:
        """What a callback sees."""
        x = self.problem.layout.restore(self.best_x)
        return Result(x=x, fun=self.best, nfev=self.calls, mode=self.mode, tactic=self.tactic, budget=self.budget)

    def new_events(self) -> list[Result]:
        """The entries of the log since they were last asked for."""
        if self._ended:
            self._settle()
        new = self.log.entries[self._shown :]
        self._shown += len(new)
        return new

    def result(self, status: Status) -> Result:
        self._settle()
        restore = self.problem.layout.restore
        archive = self.state(0).board.basins if self.archive is None else self.archive
        minima = list_minima(archive, self.best_x, self.best, self.box, restore)
        known = self._estimate()
        return make_result(
            x=self.best_x if known is None else self.box.outward(known.q),
            fun=self.best if known is None else known.f,
            mean=None if known is None else known.mean,
            standard_error=None if known is None else known.error,
            calls=self.calls,
            gradients=self.gradients,
            record=self.record,
            minima=minima,
            log=self.log,
            last=self._last[:2],
            allowance=self.port_allowance,
            stages=self._stages() if self.keeps_stages else None,
            points=self._read_points(),
            gradient_fit=self._gradient_fit(),
            status=status,
            restore=restore,
            tactics=self.optimizer.names,
            value_precision=self._value_precision(),
            confidence=self.confidence,
            noise=self._noise(),
        )

    @property
    def confidence(self) -> float:
        """The probability that no better basin is unseen; 0 where values are known to be noisy."""
        return 0.0 if any(self._noisy) else self.census.confidence

    def _value_precision(self) -> float | None:
        """The unit of the last digit of values, where they are all that is read and a basin was finished."""
        known = [float(self.state(i).board.value_precision) for i in range(self.particles)]
        return max(known) if self.values_only and max(known) >= 0 else None

    def _noise(self) -> float | None:
        """The standard deviation of a value, or of a gradient's coordinate where there are gradients."""
        boards = [self.state(i).board for i in range(self.particles)]
        if self.values_only:
            known = max(float(board.value_noise) for board in boards)
        else:
            rate = self.box.rate(self.best_x)
            largest = float(rate.max()) or 1.0  # 0: the box is one point
            unit = largest * float(np.sqrt(np.mean((rate / largest) ** 2))) or 1.0
            known = max(float(board.noise_std) for board in boards) / unit
        return known if known >= 0 else None

    def _estimate(self) -> Estimate | None:
        """The best point by estimated mean, where values are noisy."""
        states = [self.state(i) for i in range(self.particles)]
        kept = [pair for one in states for pair in zip(self.optimizer.tactics, one.memories, strict=True)]
        told = [tactic.estimate(HOST, memory) for tactic, memory in kept if memory is not None]
        known = [one for one in told if one is not None]
        if self._forces and not known:
            return self._mean_beside_forces([one.board for one in states])
        return min(known, key=lambda one: one.mean, default=None)

    def _mean_beside_forces(self, boards: list[Board]) -> Estimate | None:
        """The same where values come with forces; None where values repeat, or nobody looked."""
        points, values = self._read_points(), self.record.column("value")
        noise = max(float(board.value_noise) for board in boards), max(float(board.noise_std) for board in boards)
        if points is None or min(noise) <= 0:
            return None
        basins = boards[0].basins
        places = basins.points[np.isfinite(basins.values)]
        forces = np.array(self._forces)[: len(values)] * self.box.rate(points)
        return best_by_mean(self.box.inward(points), values, forces, places, *noise)

    def _settle(self) -> None:
        """Whole rounds of readings join the record, and their events the log."""
        count = len(self._rows) // self.particles * self.particles
        if not count:
            return
        rows, self._rows = self._rows[:count], self._rows[count:]
        table = np.fromiter(chain.from_iterable(rows), float, count * len(rows[0])).reshape(count, -1).T.copy()
        (values, bests), (calls, tactics, phases, causes, cuts), ledger = table[:2], table[2:7].astype(int), table[7:]
        columns = {
            "value": values,
            "best": bests,
            "calls": calls,
            "tactic": tactics,
            "phase": phases,
            "mode": self._modes[tactics],
            "cause": causes,
        }
        columns |= {} if self.port_allowance is None else {"cut": cuts > 0}
        columns |= dict(zip(LEDGER_TERMS, ledger, strict=True))
        if self.keeps_points:
            places, self._places = self._places[:count], self._places[count:]
            columns["next_x"] = np.array(places)
            columns["anchor"] = columns["next_x"]
        self.record.extend(**columns)
        self.log.extend(columns)
        self._ended = False

    def _read_points(self) -> np.ndarray | None:
        """Where each reading was made, in rows of flat vectors."""
        if "next_x" not in self.record:
            return None
        return np.concatenate([self._first, self.record.column("next_x")])[: -self.particles]

    def _gradient_fit(self) -> Result | None:
        """Whether the gradients read are those of the values; None where nobody asked or too little is known."""
        points, values = self._read_points(), self.record.column("value")
        if points is None or not self._forces or not self.judges_gradients:
            return None
        return fit_gradients(points, values, np.array(self._forces)[: len(values)], self.particles)

    def _stages(self) -> list[Result]:
        """What shaped each stage: the anchor of an escape, which dominates; nothing in the other modes."""
        modes, calls = self.record.column("mode").astype(int), self.record.column("calls").astype(int)
        begun = np.flatnonzero(self.record.column("cause").astype(int))
        begun = begun[begun + self.particles < len(modes)]
        anchors = self.record.column("next_x")
        return [
            Result(
                call=int(calls[i]),
                mode=MODE_NAMES[modes[i + self.particles]],
                q_bar=anchors[i],
                kappa=float(modes[i + self.particles] == Mode.ESCAPE),
                memory=[],
                barrier=[],
                scale=self.box.rate(anchors[i]),
            )
            for i in begun.tolist()
        ]


def noise_settings(policy: Policy, noise: float | None) -> tuple[Policy, float]:
    """The policy, and the noise that it may take for known, where the user gave the standard deviation of the force's
    noise: that there is none is taken as known; any other is measured, since its units are the user's."""
    if noise is not None and not (_is_number(noise) and 0 <= noise < math.inf):
        raise ValueError(f"`noise` must be None or a standard deviation of at least 0; got {noise!r}.")
    return (policy.told_of_noise() if noise else policy), (0.0 if noise == 0 else UNKNOWN)


def seed_words(seed: int, particle: int) -> np.ndarray:
    """The key of a particle's random numbers."""
    return np.random.SeedSequence([_unsigned(seed), particle]).generate_state(2)


def _writes(modes: np.ndarray, causes: np.ndarray) -> np.ndarray:
    """Which ends of stages write memory: those of basins, unless they are resumed or nothing finite was read."""
    paused = (modes == Mode.REFINE) & (causes == Cause.CLOCK)
    return (modes != Mode.ESCAPE) & ~paused & (causes != Cause.NONFINITE)


def _waits(inner: State) -> Info:
    """The info of a value that completed no reading: nothing moved."""
    return Info(inner.active, inner.phase, 0, (0.0,) * len(LEDGER_TERMS), False)


def whole(name: str, value: Any) -> int:
    """A count of at least 1, which may be written as 1e2; `name` is the argument's."""
    if not _is_number(value) or not 1 <= value < 2**63 or value != int(value):
        raise ValueError(f"`{name}` must be a whole number of at least 1; got {value!r}.")
    return int(value)


def _is_number(x: Any) -> bool:
    return isinstance(x, int | float | np.integer | np.floating) and not isinstance(x, bool) and not math.isnan(x)


def _unsigned(seed: int) -> int:
    """A seed as a number that is not negative."""
    return int(seed) % 2**64
