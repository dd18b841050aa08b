"""The plant's one step, and the line of the energy ledger that it writes (eqs. shape_p_update, shape_q_update).

    p_0 = (1 - zeta) p,   v_0 = M^-1 p_0,
    p'  = p_0 + h (-g + Omega v_0 - D v_0 + u_port),   q' = clip(q + h M^-1 p')

H = f + K with K = p . M^-1 p / 2. Between two readings the terms of a line add up to the change of H:

    dissipation     ((1 - zeta)^2 - 1) K(p) - h v_0 . D v_0
    port_work       h v_0 . u_port
    event_work      K under this step's metric less K under the last one's
    clipping        g . (q' - q'_free): what the radius and the bounds took off
    relocation      f(q') - f(q) of a placement
    discretisation  the rest of a step: h is finite, and f is not linear

The skew channel does no work. A placement is the limit of an anchor that dominates: U_shp = kappa |q - q_bar|^2 / 2
with M = h^2 kappa carries the plant onto q_bar in one step, all of U becomes K, and K is dissipated there. The
anchor's energy cancels in that, so a placement is booked as the momentum that it stops and one relocation.

Departs from the paper: zeta, the share of the momentum that one step dissipates through the metric (the paper has D
alone); a placement is booked as one term.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from ..core.board import Board, Plant

INF = float("inf")
H_STEP = 0.05  # h of the paper's training details
LEDGER_TERMS = ("dissipation", "port_work", "event_work", "clipping", "relocation", "discretisation", "delta_H")


class Channels(NamedTuple):
    """Learned channels of a step: factors U, V of Omega = U V^T - V U^T and B of D = B B^T, and the port's input."""

    U: Any
    V: Any
    B: Any
    u_port: Any

    def force(self, v: Any) -> Any:
        transport = self.U @ (v @ self.V) - self.V @ (v @ self.U)  # eq. dp_skew_operator
        return transport - self.B @ (v @ self.B) + self.u_port  # eq. dp_psd_operator


class Move(NamedTuple):
    """What a tactic asks of the plant: a placement onto `target` where `placed`, else a step.

    `solve` is v -> M^-1 v with M symmetric and positive definite; `zeta` None: all momentum is dissipated (overdamped);
    the step is shortened to `radius`. Or `way`, an overdamped step itself, with `slope` = g . way < 0: it is made by
    the metric M^-1 = (way way^T / (-g . way) + c (I - g g^T / g . g)) / h^2, which is positive definite for any c > 0;
    `inside`: its end is known to be in the box, so that the host need not look.
    """

    target: Any = None
    placed: Any = True
    solve: Callable[[Any], Any] | None = None
    zeta: Any = None
    radius: Any = None
    channels: Channels | None = None
    way: Any = None
    slope: Any = None
    inside: bool = False


class Line(NamedTuple):
    """One line of the ledger, open until f(q') is read: `height` is f(q), `kinetic` is K(p')."""

    dissipation: Any
    port_work: Any
    event_work: Any
    clipping: Any
    relocation: Any
    discretisation: Any
    kinetic_before: Any
    kinetic: Any
    height: Any
    placed: Any
    cut: Any  # whether the port wanted more than its allowance, and got nothing


class Stepped(NamedTuple):
    """Where a move leads, and its line."""

    q: Any
    p: Any
    line: Any


def no_line(ops: Any, dtype: Any) -> Line:
    """Before the first move."""
    zero = ops.real(0.0, dtype)
    return Line(zero, zero, zero, zero, zero, zero, zero, zero, zero, ops.flag(True), ops.flag(False))


def close(ops: Any, line: Line, f: Any, live: Any) -> tuple[Any, ...]:
    """The terms of a line (`LEDGER_TERMS`) once f(q') is read; all zero where not `live`."""
    change = ops.pick(live, f - line.height, 0.0)
    relocation = ops.pick(line.placed, change, 0.0)
    discretisation = line.discretisation + (change - relocation)
    delta = ops.pick(live, f - line.height + (line.kinetic - line.kinetic_before), 0.0)
    return line.dissipation, line.port_work, line.event_work, line.clipping, relocation, discretisation, delta


def step(ops: Any, plant: Plant, move: Move, board: Board, kinetic: Any) -> Stepped:
    """Make a move; `kinetic` is K of the plant's momentum as the last line left it."""
    if move.way is not None:
        return _descend(ops, plant, move, board, kinetic)
    if move.solve is None:
        return _place(ops, plant, move.target, board, kinetic)
    if move.target is None:
        return _advance(ops, plant, move, board, kinetic)
    return ops.cond(
        move.placed,
        lambda: _place(ops, plant, move.target, board, kinetic),
        lambda: _advance(ops, plant, move, board, kinetic),
    )


def _place(ops: Any, plant: Plant, target: Any, board: Board, kinetic: Any) -> Stepped:
    q = ops.xp.minimum(ops.xp.maximum(target, board.lower), board.upper)
    zero = ops.real(0.0, plant.q.dtype)
    line = Line(-kinetic, zero, zero, zero, zero, zero, kinetic, zero, plant.f, ops.flag(True), ops.flag(False))
    return Stepped(q, ops.xp.zeros(q.shape, plant.p.dtype), line)


def _descend(ops: Any, plant: Plant, move: Move, board: Board, kinetic: Any) -> Stepped:
    """An overdamped step that is given: K(p') = p' . h M^-1 p' / 2 h, with p' = -h g and h M^-1 p' = way; or, where
    `placed`, a placement onto the same place."""
    if not ops.traced and move.placed:
        return _place(ops, plant, move.target, board, kinetic)
    q, slope, placed, zero, clipping = move.target, move.slope, move.placed, ops.real(0.0, plant.q.dtype), 0.0
    after, share = -0.5 * slope, -H_STEP
    if not move.inside:
        q = ops.xp.minimum(ops.xp.maximum(q, board.lower), board.upper)
        clipping = ops.dot(plant.g, q - plant.q) - slope
    if ops.traced:
        after, clipping, share = ops.pick(placed, (zero, zero, 0.0), (after, clipping, share))
    p = share * plant.g
    slack = after - clipping
    line = Line(-kinetic, zero, zero, clipping, zero, slack, kinetic, after, plant.f, placed, ops.flag(False))
    return Stepped(q, p, line)


def _advance(ops: Any, plant: Plant, move: Move, board: Board, kinetic: Any) -> Stepped:
    q, g, h = plant.q, plant.g, H_STEP
    zero, cut = ops.real(0.0, plant.q.dtype), ops.flag(False)
    if move.zeta is None:
        before, lost, event, port, drag = zero, -kinetic, zero, zero, zero
        p = -h * g
    else:
        v = move.solve(plant.p)
        now, kept = 0.5 * ops.dot(plant.p, v), 1.0 - move.zeta
        v_0, before = kept * v, kept * kept * now
        lost, event, port, drag = before - now, now - kinetic, zero, zero
        p = kept * plant.p - h * g  # eq. shape_p_update
        if move.channels is not None:
            channels, cut = _within_allowance(ops, move.channels, v_0, board.tank)
            p = p + h * channels.force(v_0)
            port, spread = h * ops.dot(v_0, channels.u_port), v_0 @ channels.B
            drag = -h * ops.dot(spread, spread)
    way = h * move.solve(p)  # eq. shape_q_update
    square = ops.dot(way, way)
    way = ops.cond(square < INF, lambda: way, lambda: ops.xp.zeros_like(way))  # where it overflows: no step
    after = ops.dot(p, way) / (2.0 * h)
    if move.radius is None:
        short = way
    else:
        short = ops.cond(square > move.radius**2, lambda: ops.over(move.radius, ops.sqrt(square)) * way, lambda: way)
    q_new = ops.xp.minimum(ops.xp.maximum(q + short, board.lower), board.upper)
    clipping = ops.dot(g, (q_new - q) - way)
    slack = after - before - port - drag - clipping
    line = Line(lost + drag, port, event, clipping, zero, slack, kinetic, after, plant.f, ops.flag(False), cut)
    return Stepped(q_new, p, line)


def _within_allowance(ops: Any, channels: Channels, v: Any, tank: Any) -> tuple[Channels, Any]:
    """The channels without the port's input where that would feed in more than the tank has, as an energy tank does;
    and whether it was cut. The work of a step's port is known before the step is made."""
    fed = H_STEP * ops.dot(v, channels.u_port)
    cut = (fed > 0) & (fed > tank)
    return channels._replace(u_port=ops.pick(cut, ops.xp.zeros_like(v), channels.u_port)), ops.flag(cut)
