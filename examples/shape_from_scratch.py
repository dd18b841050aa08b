"""SHAPE for reading: the untrained `universal` policy of shapeopt in plain NumPy, one reading (f, g) a step.

The plant (q, p) only ever moves by the port-Hamiltonian step `ph_step`; a stage is a limit of it. REFINE: all momentum
is dissipated and M is a secant Hessian, hence a quasi-Newton step. ESCAPE: all momentum is dissipated and M = h^2 kappa
I, hence a step onto the anchor. SETTLE: momentum is kept, and averages noise. A run begins with tests: is f a sum over
coordinates? If so, a sweep through the box, a stage of escapes, finds where each coordinate is lowest. Forces that do
not fit the values are read twice; if they are noisy, basins are settled in instead of refined. Where basins are small,
or noisy, an evolution strategy, escapes again, looks for the mean around which values are low.

Labels behind `#` are the paper's (docs/notation.md). Left out: learned heads (zero while untrained), the ledger, visits
of a basin, coordinates without bounds, values alone, turned axes, models of bodies. Tests hold it to the library.
"""

from collections import deque, namedtuple
from collections.abc import Callable
from types import SimpleNamespace

import numpy as np

REACH, H, PAIRS, BASINS = 5.0, 0.05, 24, 16  # half-width of the box inside; h of a step; sizes of the two memories
ARMIJO, WOLFE, CURVATURE_FLOOR, LEAST_CHANGE, SHORTEST, ON_BOUND = 1e-4, 0.9, 1e-10, 100.0, 1e-4, 64.0  # of a line
STRETCH, FIRST_STEP = 4.0, 1.0  # growth of the step on negative curvature; length of the very first step, per sqrt(d)
RADIUS, RADIUS_GROWTH, RADIUS_MAX = 1.0, 2.5, 10.0  # longest step in a basin, per sqrt(d)
CONVERGED, STANDSTILL, ROUND_OFF, SAME_VALUE = 1e-9, 1e-9, 10.0, 1e-6  # when a basin is left; see `judge`
HOPE, HOPE_AGE, MOST_HOPE = 4.0, 3, 1e4  # when it is hopeless; see `judge` and `leave`
SAME_BASIN, BASIN_RADIUS = 0.03, 0.05  # when two basins are one: by value and force, by distance
SETTLE_SHARE, SETTLE_LONG, SETTLE_HOP, SETTLE_LEAST = 0.3, 0.5, 0.05, 8.0  # of the readings: see `begin`; least
BETA, FORGET, POOLED, STEP, LARGEST_STEP = 0.8, 0.95, 0.5, 0.03, 1.0  # see `settle`
PATH, PATH_AGE, DAMPING, LARGEST_CHANGE = 0.15, 3, 20.0, 0.3  # how the step of `settle` follows the forces
MISMATCH, SAME_FORCE, NOISY, PLAIN, WORTH, NOISE_IN_OWN = 0.2, 1e3, 0.1, 1.5, 0.3, 2.0  # when there is noise
WIDER, NARROWER, WIDEST = 0.2, 0.05, 1.5  # how the radii of moves follow what became of them
TESTED_RUN, RETESTED_RUN, TEST_STEP, TEST_SPREAD, FAR = 44.0, 100.0, 0.9, 0.4, 0.382  # tests for a sum
COUPLED, TEST_LEAST, LEAST_LEFT, LEAST_FACTOR, LARGEST_FACTOR = 0.35, 1e-6, 4, 0.2, 5.0  # see `coupling_of`
SWEEP_SHARE, SWEEP_SHORT, SWEEP_LONG, SWEEP_FINE, SWEEP_MOST = 0.12, 64.0, 128.0, 32.0, 0.45  # see `sweep_length`
UNTESTED, UNTESTED_LESS, KEPT = 0.06, 3.0, 0.3  # what the first basin gets; share of a promise that must come true
RIPPLE, WIDE_RIPPLE, HOPPED, NOISY_RIPPLE = 0.5, 1.5, 2.0, 3.0  # what is a small basin; see `leave`
LEAST_SAMPLED, SAMPLED_NOISE, LEAST_GENERATIONS, SAMPLE_ROOM = 8, 4.0, 4, 1.3  # see `may_sample`
SAMPLE_STEP, NOISY_STEP, SETTLED_STEP, SAMPLE_FINE, SAMPLE_SHARE = 2.0, 1.4, 0.5, 0.25, 0.35  # see `sample`, `begin`
UNKNOWN, SWEEP_ROOM, FORCES_DIMENSION, ROUGH, LARGEST_SAMPLE_STEP, SAMPLES_FROM = -1.0, 1.3, 5, 30.0, 5.0, 2**24
PRIOR_WEIGHT, RADIUS_SPREAD, DIFFERENCE_WEIGHT, RECENT, LOWER = 2.0, 0.4, 0.8, 16, 0.5  # see `draw_kind` to `propose`
KINDS = (  # of escape: name, radius, whether it moves few coordinates, prior rate of success
    *(("near", 0.25, False, 0.25), ("middle", 0.7, False, 0.25), ("far", 2.0, False, 0.15)),
    *(("few near", 0.7, True, 0.25), ("few middle", 1.5, True, 0.25), ("few far", 3.0, True, 0.15)),
    *(("difference", 0.1, False, 0.2), ("anywhere", 1.0, False, 0.45)),
    *(("settle", 0.0, False, 0.4), ("sweep", 0.1, False, 0.9)),
)
DIFFERENCE, ANYWHERE, SETTLE, SWEEP = 6, 7, 8, 9
Vector = np.ndarray
# The randomness of one escape; `share`, `pair` and `uniform` are uniform in (0, 1), the others standard normal.
Draws = namedtuple("Draws", "kinds radius share pair normal uniform")


def ph_step(q, p, g, inverse_M: Callable, zeta, q_bar, kappa, lower, upper, radius=np.inf) -> tuple[Vector, Vector]:
    """The new (q, p). `zeta` is the share of p that M dissipates; Omega, D and u_port are zero while untrained."""
    e_q = g + kappa * (q - q_bar)  # eqs. shape_efforts, shape_shaped_potential
    p = (1 - zeta) * p - H * e_q  # eqs. shape_p_update, dp_dissipative_substep
    move = H * inverse_M(p)  # eq. shape_q_update
    move = move * min(1.0, radius / (np.linalg.norm(move) or 1.0))
    return np.clip(q + move, lower, upper), p  # eq. dp_half_kick_plus


def secant_product(v: Vector, pairs: deque, gamma: float) -> Vector:
    """B^-1 v of the BFGS Hessian B by the two-loop recursion (Nocedal and Wright, algorithm 7.4)."""
    weights = []
    for s, y in reversed(pairs):
        weights.append((s @ v) / (s @ y))
        v = v - weights[-1] * y
    v = gamma * v
    for (s, y), weight in zip(pairs, reversed(weights), strict=True):
        v = v + (weight - (y @ v) / (s @ y)) * s
    return v


def cubic_minimum(slope: float, rise: float, slope_end: float) -> float:
    """Where the cubic with these slopes at 0 and 1, and this rise between them, has its minimum."""
    square = (z := slope + slope_end - 3 * rise) * z - slope * slope_end
    bottom = slope_end - slope + 2 * np.sqrt(max(square, 0.0))
    return 1 - (slope_end + np.sqrt(square) - z) / bottom if square >= 0 and bottom != 0 else 0.25


class Shape:
    """`x` is where to read next; `tell` takes that reading in, and moves x."""

    def __init__(self, x0, lower, upper, budget: int, draws: Callable[[int], Draws]):
        self.d, self.budget, self.draws = x0.size, budget, draws
        self.centre, self.scale = 0.5 * (lower + upper), 0.5 * (upper - lower) / REACH  # x = centre + scale q
        self.q, self.p = (x0 - self.centre) / self.scale, np.zeros(self.d)
        self.mode, self.age, self.horizon, self.calls = "escape", 0, 1, 0  # x0 counts as where an escape led
        self.sweep, self.sampler, self.line, self.same, self.small_met, self.tried = None, None, None, False, False, ()
        self.base, self.base_f, self.base_g = self.q, np.inf, np.zeros(self.d)  # the best basin
        self.spread, self.coupling = 0.0, UNKNOWN if self.d > 1 else 0.0  # of values; how far f is from a sum
        self.kind, self.escapes, self.left_f = "opening", 0, np.inf  # the last: base_f when a basin was last left
        self.sigma, self.eta, self.widening = UNKNOWN, STEP, 0.0  # noise; step of `settle`; log factor of all radii
        self.hope, self.log = 0.0, []  # how far basins outdid their promise; (call, cause, value, escape) of each
        self.generation = max((4 + int(3 * np.log(self.d))) // 2, 4)  # readings of one, in sampling
        self.successes, self.trials, self.recent = np.zeros(len(KINDS)), np.zeros(len(KINDS)), []
        self.points, self.values, self.ripple = [], [], WIDE_RIPPLE if budget < HOPPED * self.d else RIPPLE  # archive
        longest = max(SWEEP_MOST * budget, SWEEP_FINE)
        self.sweep_length = int(min(np.clip(SWEEP_SHARE * budget, SWEEP_SHORT, SWEEP_LONG), longest))

    @property
    def x(self) -> Vector:
        return self.centre + self.scale * self.q

    def tell(self, f: float, gradient: Vector) -> None:
        """One reading and the step that it leads to (Algorithm alg:streaming_shape_compact)."""
        finite = bool(np.isfinite(f) and np.isfinite(gradient).all())
        f, g = (f, gradient * self.scale) if finite else (np.inf, np.zeros(self.d))
        self.calls, self.age = self.calls + 1, self.age + 1
        takers = {"refine": self.take_trial, "settle": self.take_moments, SWEEP: self.take_profiles}
        if taker := (takers | {"sample": self.take_sample}).get(self.kind if self.mode == "escape" else self.mode):
            taker(f, g, finite)
        surveying = self.mode == "escape" and self.kind not in range(SWEEP)  # from the base, which must stay
        if self.noisy and f < self.base_f and not surveying:  # with noise any better point is a bottom
            self.base, self.base_f, self.base_g = self.q, f, g
        fine = self.kind == "sample" and self.mode == "escape" and self.sampler.step < self.sampler.fine
        if self.age >= self.horizon or fine:  # eq. dp_next_event_time
            self.begin(f, g, finite)
        q, p = {"settle": self.settle, "refine": self.refine, "escape": self.escape}[self.mode](g)
        cause = self.judge(g, q) if self.mode == "refine" else None
        if cause:
            q, p = self.leave(g, cause)
        elif self.mode == "refine" and self.line.accepted:
            self.line.move, self.line.t = q - self.q, 1.0
        self.q, self.p = q, p

    def begin(self, f: float, g: Vector, finite: bool) -> None:
        """Which stage goes on from here (eq. dp_event_update)."""
        self.age, came_by = 0, self.kind if self.mode == "escape" else self.mode
        wide, better = self.budget < min(RETESTED_RUN, self.d), f < self.base_f  # wide: one descent is most of the run
        granted = self.budget - 1 - SWEEP_ROOM * self.sweep_length if wide else UNTESTED * self.budget - UNTESTED_LESS
        if came_by == "opening":
            self.open_line(f, g)
            self.base, self.base_f, self.base_g = (self.q, f, g) if finite else (self.base, self.base_f, self.base_g)
            self.horizon = int(max(granted, 1.0)) if self.budget >= TESTED_RUN else np.inf
            if not (finite and self.budget >= TESTED_RUN and granted < 1):
                return None
        if came_by == "refine":  # the first basin has had its share of the readings
            self.base, self.base_f, self.base_g = self.line.q, self.line.f, self.line.g
            if self.sigma == UNKNOWN and self.line.mismatch > MISMATCH:
                return self.go_to("check", self.base)
        if came_by == "check" and finite:
            sigma = np.sqrt(np.mean((g - self.base_g) ** 2) / 2)
            height = max(self.spread, abs(self.line.start - self.line.f), abs(self.base_f))
            self.sigma = sigma if sigma * REACH > SAME_FORCE * np.finfo(float).eps * height else 0.0
            self.base_g = 0.5 * (g + self.base_g)
        if came_by == "test":
            first, before = not self.tried, self.tried or (self.base, self.base_g, 2)
            self.coupling, self.tried = max(self.coupling, self.coupling_of(g, finite, *before)), (self.q, g, 1)
            if first and self.is_sum and self.budget >= RETESTED_RUN:
                return self.go_to("test", self.other_place())
        if came_by == "lowest":
            kept = self.base_f - f > KEPT * self.sweep.promise + ROUND_OFF * np.finfo(float).eps * abs(self.base_f)
            if self.escapes > 0:  # the first sweep may start too high to be exact
                self.coupling = self.coupling if kept else np.inf
                self.trials[SWEEP] += 1
                self.successes[SWEEP] += kept
        if came_by in ("opening", "refine", "check") and self.coupling == UNKNOWN and self.budget >= TESTED_RUN:
            return self.go_to("test", self.tentative_place(self.draws(self.escapes)))
        if (came_by in ("opening", "refine", "test") or (came_by == "check" and self.sweep is None)) and self.is_sum:
            return self.open_sweep()
        plain = self.line.start - self.line.f > PLAIN * self.sigma * np.linalg.norm(self.line.q - self.line.origin)
        early = self.rippled and plain if self.noisy else came_by == "test" and self.escapes > 0
        if came_by in ("test", "check") and early and self.may_sample:
            return self.open_sample(NOISY_STEP)
        if came_by in (SWEEP, "sample"):
            return self.go_to(*(("lowest", self.lowest_place()) if came_by == SWEEP else ("mean", self.sampler.mean)))
        if self.noisy and came_by in ("test", "lowest", "check") and not better:
            return self.go_to(SETTLE, self.base)
        if self.noisy and came_by != "settle" and finite:
            long = SETTLE_SHARE if SAMPLE_SHARE * self.budget >= SAMPLED_NOISE * self.d else SETTLE_LONG
            share = long if came_by in (SETTLE, "mean") or self.escapes == 0 else SETTLE_HOP
            self.mode, self.horizon = "settle", int(max(share * self.budget, SETTLE_LEAST))
            self.steps, self.moments, self.path = 0, np.zeros(self.d), np.zeros(self.d)
            return self.take_moments(f, g, finite)
        if came_by in ("test", "lowest", "check") and self.escapes == 0 and not better:
            return self.resume_line()
        return self.open_line(f, g)

    @property
    def noisy(self) -> bool:
        return np.isfinite(self.base_f) and self.sigma > NOISY * np.sqrt(np.mean(self.base_g**2))

    def resume_line(self) -> None:
        """Nothing better was found: the next trial is placed on the line down the incumbent's force."""
        line, length = self.line, self.line.gamma * np.linalg.norm(self.line.g)
        line.move = -line.gamma * min(1.0, line.radius * np.sqrt(self.d) / (length or 1.0)) * line.g
        self.mode, self.horizon, line.t, line.accepted, line.beyond = "refine", np.inf, 1.0, False, ()

    def open_line(self, f: float, g: Vector) -> None:
        """A basin to refine; trials are at q + t move."""
        self.mode, self.horizon, self.same = "refine", np.inf, False
        first = FIRST_STEP * np.sqrt(self.d) / max(np.linalg.norm(g), 100 * np.finfo(float).tiny)
        gamma = self.line.gamma if self.line else first  # B = I / gamma at first: the last basin's scale, within reason
        gamma, pairs = np.clip(gamma, 1e-3 * first, 10 * first), deque(maxlen=min(PAIRS, self.d + 2))
        line = self.line = SimpleNamespace(q=self.q, f=f, g=g, t=1.0, accepted=True, gamma=gamma, pairs=pairs, start=f)
        line.stretch, line.radius, line.age, line.mismatch, line.beyond = 1.0, RADIUS, 0, 0.0, ()
        line.judged, line.least, line.ratio, line.origin = f, np.inf, 0.0, self.q  # see `judge`

    def go_to(self, kind: int | str, anchor: Vector, readings: int = 1) -> None:
        self.mode, self.kind, self.anchor, self.horizon = "escape", kind, anchor, readings

    def escape(self, g: Vector) -> tuple[Vector, Vector]:
        """Onto the anchor, to the next reading of a sweep's path, or to the next sample."""
        return self.place(g, {SWEEP: self.path_ahead, "sample": self.sample}.get(self.kind, lambda: self.anchor)())

    def tentative_place(self, draws: Draws) -> Vector:
        """About half of the coordinates, at least one and not all, moved from the base down their forces."""
        base, order = self.base, np.arange(self.d)
        chosen = (draws.uniform < 0.5) & (order != np.argmax(draws.uniform)) | (order == np.argmin(draws.uniform))
        reach = TEST_STEP * np.exp(TEST_SPREAD * draws.normal)
        move = np.where(chosen, np.where(self.base_g > 0, -reach, reach), 0.0)
        return np.clip(np.where(np.abs(base + move) <= REACH, base + move, base - move), -REACH, REACH)

    def other_place(self) -> Vector:
        """The second test: what the first one moved stays there, and the others go far."""
        far = (self.base + FAR * 2 * REACH + REACH) % (2 * REACH) - REACH
        return np.where(np.abs(self.q - self.base) > TEST_LEAST, self.q, far)

    def coupling_of(self, g: Vector, finite: bool, base: Vector, base_g: Vector, readings: int) -> float:
        """The change of the forces on untouched coordinates, but for a common factor, per change of the others'."""
        left = np.abs(self.q - base) <= TEST_LEAST
        before, count, noise = base_g[left], np.sum(left), max(self.sigma, 0.0) ** 2  # the base's is over its readings
        told = count >= LEAST_LEFT and before @ before > 0
        factor = np.clip(g[left] @ before / (before @ before), LEAST_FACTOR, LARGEST_FACTOR) if told else 1.0
        others = np.sum((g[left] - factor * before) ** 2) / max(count - told, 1) - (1 + factor**2 / readings) * noise
        own = np.sum((g - base_g)[~left] ** 2) / max(self.d - count, 1) - NOISE_IN_OWN * noise
        return np.sqrt(max(others, 0.0) / own) if finite and count > 0 and own > 0 else np.inf

    @property
    def is_sum(self) -> bool:
        return 0 <= self.coupling < COUPLED * max(1 - self.d**-0.5, 0.05)

    def open_sweep(self) -> None:
        """From the base up to the upper end of the box, and on from the lower end back to it (rows of low, place)."""
        low = np.stack([np.zeros(self.d), np.full(self.d, np.inf)])
        self.sweep = SimpleNamespace(q=self.base, g=self.base_g, height=np.zeros(self.d), steps=0, low=low, promise=0.0)
        self.sweep.place, self.sweep.wrapped = np.stack([self.base, self.base]), np.zeros(self.d, bool)
        self.go_to(SWEEP, self.base, self.sweep_length)

    @property
    def may_sample(self) -> bool:
        """Whether to sample, once in a run: after a basin that was small for the box, or that noise was settled in."""
        length, least = SAMPLE_SHARE * self.budget, (SAMPLED_NOISE * self.d, LEAST_GENERATIONS * self.generation)
        room = not self.sampler and self.d >= LEAST_SAMPLED and self.budget - self.calls > SAMPLE_ROOM * length
        return room and length >= least[not self.noisy] and (self.noisy or self.rippled)

    @property
    def way_in(self) -> float:
        return np.linalg.norm(self.line.q - self.line.origin) / np.sqrt(self.d)

    @property
    def rippled(self) -> bool:
        return (self.way_in < NOISY_RIPPLE if self.noisy else self.small_met) and self.coupling >= 0 and not self.is_sum

    def open_sample(self, noisy_step: float) -> None:
        """Readings around a mean; it moves to the better half of a generation of them, and down their mean force."""
        d, size, step = self.d, self.generation, noisy_step if self.noisy else SAMPLE_STEP
        weights = np.log((size + 1) / 2) - np.log(np.arange(1, size // 2 + 1))
        s = self.sampler = SimpleNamespace(mean=self.base, path=0 * self.base, step=step, size=size, read=0, seen=[])
        s.fine, s.force = SAMPLE_FINE * step, 0 * self.base
        s.weights, s.mass = weights / np.sum(weights), np.sum(weights) ** 2 / np.sum(weights**2)
        s.rate = (s.mass + 2) / (min(d, FORCES_DIMENSION) + s.mass + 5)
        s.damping = 1 + s.rate + 2 * max(0.0, np.sqrt((s.mass - 1) / (d + 1)) - 1)
        self.go_to("sample", self.base, int(SAMPLE_SHARE * self.budget))

    def sample(self) -> Vector:
        q = self.sampler.mean + self.sampler.step * self.draws(SAMPLES_FROM + self.sampler.read).normal
        return np.clip(np.where(np.abs(q) > REACH, 2 * np.sign(q) * REACH - q, q), -REACH, REACH)

    def take_sample(self, f: float, g: Vector, finite: bool) -> None:
        """The step grows while the mean's moves add up to a longer path than random ones would (Hansen, Ostermeier)."""
        s, d = self.sampler, self.d
        s.read, s.seen, s.force = s.read + 1, [*s.seen, (f, len(s.seen), self.q)], s.force + g / s.size
        if len(s.seen) == s.size:
            best = np.array([q for *_, q in sorted(s.seen, key=lambda sample: sample[:2])[: s.size // 2]])
            y, u = (s.weights @ best - s.mean) / s.step, np.sqrt(d / s.mass) * s.force / (np.linalg.norm(s.force) or 1)
            lift = np.array([f for f, *_ in s.seen if f < np.inf] or [np.inf]) - self.base_f
            rough = s.read == s.size and not self.noisy and np.max(lift) > ROUGH * np.min(lift) > 0
            y, s.fine = ((y - u) / np.sqrt(2), s.fine) if not rough else (0 * y, np.inf)  # rough: sampling ends
            s.path = (1 - s.rate) * s.path + np.sqrt(s.rate * (2 - s.rate) * s.mass) * y
            length = np.linalg.norm(s.path) / (np.sqrt(d) * (1 - 1 / (4 * d) + 1 / (21 * d**2)))
            s.mean, s.seen, s.force = s.mean + s.step * y, [], 0 * s.force
            s.step = min(s.step * np.exp(min(s.rate / s.damping * (length - 1), 1.0)), LARGEST_SAMPLE_STEP)

    def path_ahead(self) -> Vector:
        ahead = self.base + 2 * REACH * (self.sweep.steps + 1) / (self.sweep_length + 1)
        return np.where(ahead > REACH, ahead - 2 * REACH, ahead)

    def take_profiles(self, f: float, g: Vector, finite: bool) -> None:
        """The integral of a coordinate's force along the path is its height, if f is a sum."""
        sweep, dq, self.sweep.steps = self.sweep, self.q - self.sweep.q, self.sweep.steps + 1
        if finite:
            wraps = (dq < 0) & ~sweep.wrapped
            height = np.where(wraps, 0.0, sweep.height + 0.5 * (sweep.g + g) * dq)
            sweep.wrapped = sweep.wrapped | wraps
            self.note_lowest(*self.lowest_between(self.q, g, height, ~wraps))
            sweep.q, sweep.g, sweep.height = self.q, g, height

    def lowest_between(self, q: Vector, g: Vector, height: Vector, joined: Vector) -> tuple[Vector, Vector]:
        """(height, place) of the parabola's bottom between the last reading and this one, else of this one."""
        sweep, between = self.sweep, joined & (self.sweep.g < 0) & (g > 0)
        step = sweep.g / np.where(between, sweep.g - g, 1.0) * (q - sweep.q)
        low, place = sweep.height + 0.5 * sweep.g * step, sweep.q + step
        return np.where(between, low, height), np.where(between, place, q)

    def note_lowest(self, low: Vector, place: Vector) -> None:
        rows = np.stack([~self.sweep.wrapped, self.sweep.wrapped]) & (low < self.sweep.low)
        self.sweep.low, self.sweep.place = np.where(rows, low, self.sweep.low), np.where(rows, place, self.sweep.place)

    def lowest_place(self) -> Vector:
        """Where every coordinate is lowest; the path ends where it began, which ties its two parts together."""
        sweep = self.sweep
        end = sweep.height + 0.5 * (sweep.g + self.base_g) * (self.base - sweep.q)
        low, place = self.lowest_between(self.base, self.base_g, end, sweep.wrapped)
        self.note_lowest(np.where(sweep.wrapped, low, np.inf), place)
        second = np.where(sweep.wrapped, sweep.low[1] - end, np.inf)
        sweep.promise = -np.sum(np.minimum(second, sweep.low[0]))
        return np.where(second < sweep.low[0], sweep.place[1], sweep.place[0])

    def take_trial(self, f: float, g: Vector, finite: bool) -> None:
        """A trial is the new incumbent if f fell enough; else the line from the incumbent gets shorter."""
        line, s, y = self.line, self.q - self.line.q, g - self.line.g
        slope, slope_end, line.age = line.g @ s, g @ s, line.age + 1
        if finite:  # does the change of f match the work of g? If not, there is noise
            force = np.sqrt(s @ s * max(g @ g, line.g @ line.g) / (2 * self.d))
            error = abs(f - line.f - 0.5 * (slope + slope_end)) / (force if force > 0 else 1.0)
            line.mismatch = 0.7 * line.mismatch + 0.3 * min(error, 1.0)
        line.accepted = finite and f <= line.f + ARMIJO * slope
        beyond, line.beyond = line.beyond, () if line.accepted or not finite else (self.q, g)
        if not line.accepted:
            line.t *= np.clip(cubic_minimum(slope, f - line.f, slope_end), 0.1, 0.5) if finite else 0.1
            line.radius = line.t * np.linalg.norm(line.move) / np.sqrt(self.d)
            return
        if beyond and slope_end < WOLFE * slope:  # the force has changed little: a kink lies between the two
            s, y = beyond[0] - self.q, beyond[1] - g
        changed = np.linalg.norm(y) > LEAST_CHANGE * np.finfo(float).eps * np.sqrt(max(g @ g, line.g @ line.g))
        if changed and s @ y > CURVATURE_FLOOR * np.sqrt(s @ s * (y @ y)):
            line.pairs.append((s, y))
            line.gamma, line.stretch = s @ y / (y @ y), 1.0
        else:  # negative curvature: go farther
            line.gamma, line.stretch = STRETCH * line.gamma, STRETCH
        line.q, line.f, line.g, line.radius = self.q, f, g, min(RADIUS_GROWTH * line.radius, RADIUS_MAX)
        gap, quadratic = f - self.base_f, -0.5 * g @ (self.base - self.q)  # f - f(base), if a quadratic ends in base
        self.same = abs(gap - quadratic) <= SAME_BASIN * abs(gap)

    def refine(self, g: Vector) -> tuple[Vector, Vector]:
        """zeta = 1 and M = h^2 B / stretch: a quasi-Newton step; after a rejected trial, back onto the line."""
        line = self.line
        if not line.accepted:
            return self.place(g, line.q + line.t * line.move)
        bound = REACH * (1 - ON_BOUND * np.finfo(float).eps)  # a placement is exact to round-off only
        held = ((line.q <= -bound) & (line.g > 0)) | ((line.q >= bound) & (line.g < 0))  # pushed against a bound

        def inverse_M(v: Vector) -> Vector:
            free = secant_product(np.where(held, 0.0, v), line.pairs, line.gamma)
            return line.stretch / H**2 * np.where(held, line.gamma * v, free)

        return ph_step(self.q, self.p, g, inverse_M, 1.0, self.q, 0.0, -REACH, REACH, line.radius * np.sqrt(self.d))

    def place(self, g: Vector, target: Vector) -> tuple[Vector, Vector]:
        """zeta = 1 and M = h^2 kappa I, the anchor shifted to make up for the force: one step, onto the target."""
        kappa = np.linalg.norm(g) / np.sqrt(self.d) or 1.0
        return ph_step(self.q, self.p, g, lambda v: v / (H**2 * kappa), 1.0, target + g / kappa, kappa, -REACH, REACH)

    def take_moments(self, f: float, g: Vector, finite: bool) -> None:
        """The step grows while forces add up to a longer path than random ones would, and falls while they cancel."""
        self.steps, self.moments = self.steps + 1, FORGET * self.moments + (1 - FORGET) * g**2
        moments = self.moments / (1 - FORGET**self.steps)
        moments = POOLED * np.mean(moments) + (1 - POOLED) * moments
        self.force_scale = np.sqrt(np.where(moments > 0, moments, 1.0))
        self.path = (1 - PATH) * self.path + np.sqrt(PATH * (2 - PATH) / self.d) * g / self.force_scale
        if self.steps > PATH_AGE:
            change = (self.path @ self.path / (1 - (1 - PATH) ** (2 * self.steps)) - 1) / DAMPING
            self.eta = min(self.eta * np.exp(np.clip(change, -LARGEST_CHANGE, LARGEST_CHANGE)), LARGEST_STEP)

    def settle(self, g: Vector) -> tuple[Vector, Vector]:
        """zeta = 1 - beta and a diagonal M from the force's second moments: steps of about eta."""
        eta, zeta = self.eta * (self.horizon + 1 - self.steps) / (self.horizon + 1), 1 - BETA if self.steps > 1 else 1.0
        inverse_mass = eta * (1 - BETA) / H**2 / self.force_scale
        return ph_step(self.q, self.p, g, lambda v: inverse_mass * v, zeta, self.q, 0.0, -REACH, REACH)

    def judge(self, g: Vector, q_next: Vector) -> str | None:
        """Why the basin is left, if it is (eq. dp_event_indicator; revisit and hopeless are ours)."""
        line, unseen = self.line, ROUND_OFF * np.finfo(float).eps * abs(self.line.f)
        if not np.isfinite(line.f):
            return "nonfinite"
        promise = -g @ (q_next - self.q) if line.accepted else -line.t * (line.g @ line.move)  # decrease to expect
        if line.accepted and line.age >= HOPE_AGE:  # how much farther than its least promise so far has f fallen?
            line.ratio += (line.judged - line.f) / line.least
            line.judged, line.least = line.f, min(line.least, promise)
        tiny = np.linalg.norm(q_next - self.q) / np.sqrt(self.d) <= max(STANDSTILL, 8 * np.finfo(float).eps)
        if line.accepted and (tiny or promise <= unseen or (line.age > 0 and promise <= CONVERGED * self.spread)):
            return "converged"
        if self.noisy or (not line.accepted and (line.t < SHORTEST or promise <= unseen)):
            return "stall"
        if self.escapes > 0 and line.f + unseen >= self.base_f and self.same:
            return "revisit"
        return "hopeless" if line.age >= HOPE_AGE and line.f - max(self.hope, HOPE) * promise > self.base_f else None

    def leave(self, g: Vector, cause: str) -> tuple[Vector, Vector]:
        """Credit the escape that led here, write the basin to the archive, draw the next escape and make it."""
        line, unseen = self.line, ROUND_OFF * np.finfo(float).eps * abs(self.line.f)
        if cause == "converged":
            ratio = np.clip(line.ratio, HOPE, MOST_HOPE)
            self.hope = np.sqrt(self.hope * ratio) if self.hope > 0 else ratio
        noisy, fall = self.noisy, self.left_f - min(line.f, self.base_f)  # noise lets the base move before that
        there = self.escapes > 0 and not noisy and np.sum((line.q - self.base) ** 2) < BASIN_RADIUS**2 * self.d
        better, elsewhere = fall > unseen, not (there or cause == "revisit") and np.isfinite(line.f)
        whole = self.kind not in ("lowest", DIFFERENCE, *(i for i, (*_, few, _) in enumerate(KINDS) if few))
        self.small_met |= whole and elsewhere and self.way_in < self.ripple
        self.recent = [line.f, *self.recent][:RECENT] if elsewhere else self.recent
        low = elsewhere and sum(value < line.f - unseen for value in self.recent) <= LOWER * len(self.recent)
        if self.kind in range(len(KINDS)):
            self.trials[self.kind] += 1
            self.successes[self.kind] += better and fall > WORTH * self.spread if noisy else low
            if self.kind < DIFFERENCE and not noisy:
                change = WIDER if there or cause == "revisit" else 0.0 if better else -NARROWER
                self.widening = np.clip(self.widening + change, -WIDEST, WIDEST)
        gain = (fall if better else abs(line.f - self.base_f)) if self.escapes > 0 else np.inf
        gain = gain if np.isfinite(gain) and gain > unseen + SAME_VALUE * self.spread else self.spread
        self.spread = self.spread**0.8 * gain**0.2 if self.spread > 0 else gain
        if line.f + unseen < self.base_f:
            self.base, self.base_f, self.base_g = line.q, line.f, line.g
        if np.isfinite(line.f):
            self.write(line.q, line.f)  # eq. dp_memory_write_rule
        self.left_f, draws = self.base_f, self.draws(self.escapes)
        kind = self.draw_kind(draws.kinds)
        suspect = cause == "stall" and self.sigma == UNKNOWN and line.mismatch > MISMATCH
        self.escapes, self.age = self.escapes + 1, 0
        self.log.append((self.calls, cause, line.f, KINDS[kind][0]))
        if suspect and -line.t * (line.g @ line.move) > 100 * unseen:
            self.go_to("check", self.base)
        elif self.coupling == UNKNOWN and self.budget >= TESTED_RUN and np.isfinite(self.base_f):
            self.go_to("test", self.tentative_place(draws))
        elif self.may_sample:
            self.open_sample(SETTLED_STEP)
        elif kind == SWEEP:
            self.open_sweep()
        else:
            self.go_to(kind, self.propose(kind, draws))
        return self.escape(g)

    def write(self, q: Vector, f: float) -> None:
        """A basin near a known one is that one again; a new one takes a free slot, or that of a worse one."""
        squares = [np.sum((point - q) ** 2) for point in self.points] or [np.inf]
        slot = int(np.argmin(squares))
        if squares[slot] > BASIN_RADIUS**2 * self.d:
            if len(self.points) < BASINS:
                self.points.append(q), self.values.append(np.inf)
            slot = int(np.argmax(self.values))
        if f < self.values[slot]:
            self.points[slot], self.values[slot] = q, f

    def draw_kind(self, normals: Vector) -> int:
        """Thompson sampling: the kind whose rate of success, drawn from what is known of it, is the highest."""
        weight, priors = self.trials + PRIOR_WEIGHT, np.array([prior for *_, prior in KINDS])
        mean, lean = (self.successes + PRIOR_WEIGHT * priors) / weight, np.zeros(len(KINDS))
        pays = self.is_sum and self.budget - self.calls > SWEEP_ROOM * self.sweep_length
        lean[[SETTLE, SWEEP]] = 0.0 if self.noisy else -np.inf, (0.0 if self.sweep else np.inf) if pays else -np.inf
        return int(np.argmax(mean + np.sqrt(mean * (1 - mean) / (weight + 1)) * normals + lean))

    def propose(self, kind: int, draws: Draws) -> Vector:
        """The anchor q_bar of the escape, from the best basin, reflected into the box (eq. dp_subgoal)."""
        if kind == ANYWHERE:
            return REACH * (2 * draws.uniform - 1)
        _, radius, few, _ = KINDS[kind]
        share = max(0.5 * self.d, 1.0) ** draws.share / self.d if few else 1.0  # log-uniform: one coordinate to half
        chosen = (draws.uniform < share) | (np.arange(self.d) == np.argmin(draws.uniform))
        radius = radius * np.exp(RADIUS_SPREAD * draws.radius + self.widening)
        anchor = self.base + radius * np.where(chosen, draws.normal, 0.0)
        if kind == DIFFERENCE and len(self.points) >= 3:
            i, shift = int(draws.pair[0] * (count := len(self.points))), int(draws.pair[1] * (count - 1))
            anchor = anchor + DIFFERENCE_WEIGHT * (self.points[i] - self.points[(i + 1 + shift) % count])
        anchor = np.where(np.abs(anchor) > REACH, 2 * np.sign(anchor) * REACH - anchor, anchor)
        return np.clip(anchor, -REACH, REACH)


def numpy_draws(d: int, seed: int = 0) -> Callable[[int], Draws]:
    n, u = (rng := np.random.default_rng(seed)).normal, rng.uniform
    return lambda _: Draws(n(size=len(KINDS)), n(), u(), u(size=2), n(size=d), u(size=d))


def rastrigin(x: Vector) -> tuple[float, Vector]:
    """Value and gradient; the least value is 0, at the origin (eq. rastrigin_def)."""
    return 10 * x.size + np.sum(x**2 - 10 * np.cos(2 * np.pi * x)), 2 * x + 20 * np.pi * np.sin(2 * np.pi * x)


def main(d: int = 3, budget: int = 500) -> None:
    shape, best = Shape(np.full(d, 3.7), np.full(d, -4.0), np.full(d, 6.0), budget, numpy_draws(d)), np.inf
    for _ in range(budget):
        shape.tell(*(reading := rastrigin(shape.x)))
        best = min(best, reading[0])
    for call, cause, value, kind in shape.log:
        print(f"call {call:3d}: left a basin at value {value:9.3g} ({cause}), escape: {kind}")
    print(f"best value after {budget} calls: {best:.3g}; {len(shape.points)} basins in the archive")


if __name__ == "__main__":
    main()
