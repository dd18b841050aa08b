"""The model of a sum of squares, and its damped step inside a radius and a box (Levenberg 1944, Marquardt 1963).

    f = |r|^2 / 2,   g = J^T r,   Hessian = J^T J + sum_i r_i H_i  ~  R^T R + S

R is a root of the Gauss-Newton matrix. S is a secant estimate of the rest, as NL2SOL has it (Dennis, Gay and Welsch
1981), and joins the model where that has predicted the last step better:

    S+ = t S + (u y^T + y u^T) / y.s - (u.s) y y^T / (y.s)^2,   u = y# - t S s,   y# = (J+ - J)^T r+
    t = min(1, |s.y#| / |s.S s|)

Steps are measured in units E of the coordinates, the largest norm that a column of J has had (Moré 1978), so that they
do not depend on the coordinates' own units:

    v = -(B + mu E^2)^-1 g,   mu >= 0 such that |E v| <= radius

and M = h^2 (B + mu E^2) is positive definite by construction. Bounds are met by the active set of `dense_way`. Narrow
curved valleys are followed by a second-order term, the geodesic acceleration of Transtrum and Sethna (2012), whose
second derivative comes from a reading that was made nearby, so that it costs no call:

    s = v + a / 2,   a = -(B + mu E^2)^-1 J^T r_vv,   r_bb = 2 (r(q + b) - r - J b),   r_vv = r_bb |E v|^2 / |E b|^2

It is NumPy's alone: the host engine.

Departs from the paper: it has no sums of squares; there M is diagonal.
"""

from typing import Any, NamedTuple

from .dense import Room, Way, dense_way

CLOSE = 0.05  # of the radius: a step that ends as near to it is on it
NEWTON = 30  # steps for the multiplier
ALIGNED = 0.8  # least cosine of v and b, from which on what bends along b is taken to bend along v
MOST_BENT = 0.75  # |E a| as a share of |E v| beyond which the second order says nothing (Transtrum and Sethna)
SMALLEST = 1e-300


class Squares(NamedTuple):
    """A sum of squares at the incumbent: residuals r, their Jacobian J, a root R of J^T J, S, the units E, and whether
    S has its part in the model. `beside` is where another reading was made lately, less the incumbent, and its
    residuals."""

    r: Any
    J: Any
    R: Any
    S: Any
    E: Any
    full: Any
    beside: Any = None

    @staticmethod
    def at(ops: Any, r: Any, J: Any) -> "Squares":
        """The model where a basin is entered; a coordinate that moves no residual has the smallest unit of the others,
        since nothing is known of it."""
        xp, d = ops.xp, J.shape[1]
        norms = column_norms(ops, J)
        largest = norms.max()
        moved = norms > 1e-14 * largest
        least = ops.where(moved, norms, xp.inf).min()
        E = ops.where(moved, norms, least) if largest > 0 else xp.ones_like(norms)
        return Squares(r, J, root(ops, J), xp.zeros((d, d), J.dtype), E, ops.flag(False))

    def moved(self, ops: Any, r: Any, J: Any, s: Any, y: Any, full: Any) -> "Squares":
        """The model after a step s that changed the force by y."""
        E = ops.xp.maximum(self.E, column_norms(ops, J))
        S = secant(ops, self.S, s, y, r @ (J - self.J))
        return Squares(r, J, root(ops, J), S, E, ops.flag(full), (-s, self.r))

    def curvatures(self, ops: Any, s: Any) -> tuple[Any, Any]:
        """s.B s without S, and with it."""
        Rs = self.R @ s
        plain = ops.dot(Rs, Rs)
        return plain, plain + ops.dot(s, self.S @ s)

    def bend(self, ops: Any, v: Any) -> Any:
        """J^T times the second derivative of the residuals along v, from the reading beside; 0 where that lies in
        another direction."""
        if self.beside is None:
            return 0.0 * v
        b, r_b = self.beside
        Eb, Ev = self.E * b, self.E * v
        bb, vv, bv = ops.dot(Eb, Eb), ops.dot(Ev, Ev), ops.dot(Eb, Ev)
        if not bv * bv > ALIGNED**2 * bb * vv:
            return 0.0 * v
        return 2.0 * vv / bb * ((r_b - self.r - self.J @ b) @ self.J)


def root(ops: Any, J: Any) -> Any:
    """R, (d, d), with R^T R = J^T J."""
    m, d = J.shape
    R = ops.xp.linalg.qr(J, mode="r")
    return R if m >= d else ops.xp.concatenate([R, ops.xp.zeros((d - m, d), J.dtype)])


def column_norms(ops: Any, R: Any) -> Any:
    return ops.xp.sqrt((R * R).sum(axis=0))


def secant(ops: Any, S: Any, s: Any, y: Any, wanted: Any) -> Any:
    """S with S s = `wanted`, the change of the force that the Gauss-Newton matrix leaves out; unchanged where the force
    does not rise along s."""
    sy, old = ops.dot(s, y), S @ s
    if not sy > 1e-8 * ops.norm(s) * ops.norm(y):
        return S
    bent = abs(ops.dot(s, old))
    t = ops.min(1.0, abs(ops.dot(s, wanted)) / bent) if bent > 0 else 1.0
    u = wanted - t * old
    cross = u[:, None] * (y / sy)
    return t * S + cross + cross.T - (ops.dot(u, s) / sy**2 * y)[:, None] * y


def damped_way(ops: Any, model: Squares, g: Any, room: Room, radius: Any) -> tuple[Way, Any]:
    """The model's step v, of a length |E v| of at most the radius (the way's), and the same bent: v + a / 2."""
    E = model.E
    g_E, scaled = g / E, Room(room.low * E, room.high * E, room.held, 0.0)
    w, V = spectrum(ops, model)
    A = (V / shifted(ops, w, g_E @ V, radius)) @ V.T
    step = dense_way(ops, A, g_E, scaled, radius)
    v = room.clipped(ops, (step.s if step.slope < 0 else _down(ops, model, g_E, scaled, radius)) / E)
    Bv = (model.R @ v) @ model.R
    way = Way(v, ops.dot(v, Bv + model.S @ v if model.full else Bv), ops.dot(g, v), ops.norm(E * v))
    a = -(A @ (model.bend(ops, v) / E)) / E
    bent = room.clipped(ops, v + 0.5 * a)
    free = room.held is None or not room.held.any()
    sound = free and ops.norm(E * a) <= MOST_BENT * ops.norm(E * v) and ops.dot(g, bent) < 0
    return way, bent if sound else v


def spectrum(ops: Any, model: Squares) -> tuple[Any, Any]:
    """Eigenvalues and eigenvectors of the model in units E; those of R^T R from the singular values of R, which are
    exact where the squares drown in round-off."""
    R = model.R / model.E
    if not model.full:
        try:
            _, values, rows = ops.xp.linalg.svd(R)
        except ops.xp.linalg.LinAlgError:
            return ops.eigh(R.T @ R)
        return values**2, rows.T
    S = model.S / model.E / model.E[:, None]
    return ops.eigh(R.T @ R + 0.5 * (S + S.T))


def shifted(ops: Any, w: Any, a: Any, radius: Any) -> Any:
    """w + mu, positive, with mu such that the step a / (w + mu) is as long as the radius; or 0 where it is shorter."""
    xp = ops.xp
    largest = ops.max(float(abs(w).max()), ops.norm(a) / radius)
    floor = ops.max((w.size * xp.finfo(w.dtype).eps) ** 2 * largest, SMALLEST)
    above = lambda mu: xp.maximum(w + mu, floor)  # noqa: E731
    if w.min() >= 0 and ops.norm(a / above(0.0)) <= radius * (1.0 + CLOSE):
        return above(0.0)
    mu = ops.max(float((abs(a) / radius - w).max()), 0.0)  # where one component alone has that length
    for _ in range(NEWTON):
        c = a / above(mu)
        n = ops.norm(c)
        if not n > radius * (1.0 + CLOSE):
            break
        mu += (n / radius - 1.0) * n * n / ops.dot(c, c / above(mu))
    return above(mu)


def _down(ops: Any, model: Squares, g: Any, room: Room, radius: Any) -> Any:
    """Down the force on free coordinates, to the bottom of the model or the radius; all in units E."""
    free = room.free(ops, g)
    bent, square = ops.norm(model.R @ (free / model.E)) ** 2, ops.dot(free, free)
    length = ops.min(ops.over(square, bent), radius / ops.max(ops.sqrt(square), SMALLEST))
    return room.clipped(ops, -length * free)
