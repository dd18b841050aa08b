"""The lowest place of a quadratic within a sphere, and within a sphere and a box.

    min  g.z + z.H z / 2   where   |z| <= radius,   lower <= T z <= upper

The sphere alone is solved by the eigenvectors of H and Newton's method for the multiplier (Moré and Sorensen). The box
is an active set: sides that the step leaves through are held, the first of them first, and the rest is solved anew.

Departs from the paper: it has no such step.
"""

from typing import Any

CLOSE = 1e-2  # of the radius: a step that ends as near to the sphere is on it
TINY = 1e-14  # smallest shifted curvature, as a share of the largest
NEWTON = 20  # steps for the multiplier
TOGETHER = 1.0  # sides that are met within this multiple of the first one's distance are held with it


def in_sphere(ops: Any, g: Any, H: Any, radius: Any) -> Any:
    """The minimum within the sphere."""
    xp = ops.xp
    w, V = ops.eigh(H)
    a = ops.times(g, V)
    size = ops.max(ops.max(abs(w[0]), abs(w[-1])), ops.norm(a) / radius)
    tiny = TINY * ops.pick(size > 0, size, 1.0)
    shifted = lambda mu: xp.maximum(w + mu, tiny)  # noqa: E731
    free = ops.norm(a / shifted(0.0))
    inside = (w[0] > tiny) & (free <= radius)
    lowest = ops.max((abs(a) / radius - w).max(), ops.max(-w[0], 0.0))

    def better(held: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
        mu, _, count = held
        c = a / shifted(mu)
        n = ops.norm(c)
        slope = ops.dot(c, c / shifted(mu)) / ops.pick(n > 0, n, 1.0)
        gap = n / radius - 1.0
        step = ops.pick(slope > 0, gap * n / ops.pick(slope > 0, slope, 1.0), 0.0)
        return mu + ops.max(step, 0.0), gap, count + 1

    again = lambda held: (held[2] < NEWTON) & (held[1] > CLOSE)  # noqa: E731
    start = ops.pick(inside, 0.0, lowest), ops.real(1.0, g.dtype), ops.pick(inside, ops.whole(NEWTON), ops.whole(0))
    mu, _, _ = ops.loop(again, better, start)
    c = -a / shifted(mu)
    rest = ops.dot(c, c) - c[0] ** 2
    bent = ops.no(inside) & (ops.norm(c) < (1.0 - CLOSE) * radius) & (w[0] <= tiny)  # the hard case
    along = ops.sqrt(radius**2 - rest) * ops.pick(c[0] < 0, -1.0, 1.0)
    c = ops.put(c, 0, ops.pick(bent, along, c[0]))
    n = ops.norm(c)
    return ops.times(V, c * ops.pick(n > radius, radius / ops.pick(n > 0, n, 1.0), 1.0))


def in_box(ops: Any, g: Any, H: Any, T: Any, lower: Any, upper: Any, radius: Any) -> Any:
    """The minimum within the sphere and the box lower <= T z <= upper, to what an active set finds; 0 is inside."""
    z = in_sphere(ops, g, H, radius)
    x = ops.times(T, z)
    outside = ((x < lower) | (x > upper)).any()
    return ops.when(outside, lambda _: _held_in_box(ops, g, H, T, lower, upper, radius), z)


def _held_in_box(ops: Any, g: Any, H: Any, T: Any, lower: Any, upper: Any, radius: Any) -> Any:
    xp, d = ops.xp, g.shape[0]
    slope = ops.solve(T.T, g)
    zeros = xp.zeros_like(g)
    sides = ((lower >= 0) & (slope > 0)) | ((upper <= 0) & (slope < 0))

    def hold(held: tuple) -> tuple:
        sides, at, best, lowest, _, count = held
        z = _in_face(ops, g, H, T, sides, at, radius)
        x = ops.times(T, z)
        out = ((x < lower) | (x > upper)) & ops.xp.logical_not(sides)
        inner = ops.solve(T, xp.minimum(xp.maximum(x, lower), upper))
        inner = inner * ops.min(1.0, ops.over(1.5 * radius, ops.norm(inner) + 1e-30))
        value = ops.dot(g, inner) + 0.5 * ops.dot(inner, ops.times(H, inner))
        lower_still = value < lowest
        reached = ops.where(x < lower, lower, upper)
        share = ops.where(out, reached / ops.where(out, x, 1.0), xp.inf)
        met = out & (share <= TOGETHER * share.min() + 1e-3)
        return (
            sides | met,
            ops.where(met, reached, at),
            ops.pick(lower_still, inner, best),
            ops.pick(lower_still, value, lowest),
            ops.flag(out.any()),
            count + 1,
        )

    start = (sides, zeros, zeros, ops.real(0.0, g.dtype), ops.flag(True), ops.whole(0))
    return ops.loop(lambda held: held[4] & (held[5] <= d), hold, start)[2]


def _in_face(ops: Any, g: Any, H: Any, T: Any, sides: Any, at: Any, radius: Any) -> Any:
    """The minimum within the sphere where the rows `sides` of T z are held at `at`."""
    xp, d = ops.xp, g.shape[0]
    length = xp.sqrt((T * T).sum(axis=1))
    A = T / length[:, None] * xp.asarray(sides, g.dtype)[:, None]
    eye = xp.eye(d, dtype=g.dtype)
    S = ops.solve(A @ A.T + eye * (1.0 + 100.0 * TINY - xp.asarray(sides, g.dtype)), A)
    P = eye - A.T @ S  # onto the directions that are left
    z = ops.times(S.T, at / length)
    left = radius**2 - ops.dot(z, z)
    bent = P @ H @ P
    free = ops.times(P, g + ops.times(H, z))
    stiff = abs(H).max() + 1e-30
    way = in_sphere(ops, free, 0.5 * (bent + bent.T) + stiff * (eye - P), ops.sqrt(ops.max(left, 1e-6 * radius**2)))
    return z + ops.times(P, way)
