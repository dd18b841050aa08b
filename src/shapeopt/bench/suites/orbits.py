"""Two-body mechanics for the suite `trajectories`: planets, Kepler's and Lambert's problems, swing-bys.

Units are km, s and km/s. Orbits of planets are ellipses with the mean elements of J2000 held fixed.

Sources: Bate, Mueller and White (1971), "Fundamentals of astrodynamics", chapters 4 and 5, for universal variables;
Standish (1992), "Keplerian elements for approximate positions of the major planets".
"""

import math
from dataclasses import dataclass

import numpy as np

SUN = 1.32712440018e11  # km^3 / s^2
UNIT = 1.495978707e8  # km in an astronomical unit
DAY = 86400.0
LONGEST = 4 * math.pi**2  # of the universal variable z: one full turn
FASTEST = -1e4  # of z: a hyperbola far above any speed that counts
SLOWEST = 1e-9  # km/s, relative to a planet; keeps directions defined
HALVINGS = 60  # of an interval; its ends then agree to round-off


@dataclass(frozen=True)
class Planet:
    """Elements (AU, 1, degrees) at J2000, gravity (km^3 / s^2), and the lowest periapsis of a swing-by (km)."""

    a: float
    e: float
    inclination: float
    longitude: float
    perihelion: float
    node: float
    gravity: float
    lowest: float


PLANETS = {
    "V": Planet(0.72333566, 0.00677672, 3.39467605, 181.97909950, 131.60246718, 76.67984255, 324859.0, 6351.8),
    "E": Planet(1.00000261, 0.01671123, -0.00001531, 100.46457166, 102.93768193, 0.0, 398600.4, 6778.1),
    "M": Planet(1.52371034, 0.09339410, 1.84969142, -4.55343205, -23.94362959, 49.55953891, 42828.4, 3596.2),
    "J": Planet(5.20288700, 0.04838624, 1.30439695, 34.39644051, 14.72847983, 100.47390909, 1.2671276e8, 600000.0),
    "S": Planet(9.53667594, 0.05386179, 2.48599187, 49.95424423, 92.59887831, 113.66242448, 3.7940585e7, 70000.0),
}


def planet_state(planet: Planet, days: float) -> tuple[np.ndarray, np.ndarray]:
    """Position and velocity, days after J2000."""
    a = planet.a * UNIT
    motion = math.sqrt(SUN / a**3)
    mean = math.radians(planet.longitude - planet.perihelion) + motion * days * DAY
    angle = _eccentric(mean % (2 * math.pi), planet.e)
    root, rate = math.sqrt(1 - planet.e**2), a * motion / (1 - planet.e * math.cos(angle))
    place = np.array([a * (math.cos(angle) - planet.e), a * root * math.sin(angle), 0.0])
    speed = np.array([-rate * math.sin(angle), rate * root * math.cos(angle), 0.0])
    turn = _orientation(planet)
    return turn @ place, turn @ speed


def _eccentric(mean: float, e: float) -> float:
    angle = mean
    for _ in range(8):  # Newton's method; e < 0.1
        angle -= (angle - e * math.sin(angle) - mean) / (1 - e * math.cos(angle))
    return angle


def _orientation(planet: Planet) -> np.ndarray:
    node, tilt = math.radians(planet.node), math.radians(planet.inclination)
    return _about_z(node) @ _about_x(tilt) @ _about_z(math.radians(planet.perihelion - planet.node))


def _about_z(angle: float) -> np.ndarray:
    c, s = math.cos(angle), math.sin(angle)
    return np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])


def _about_x(angle: float) -> np.ndarray:
    c, s = math.cos(angle), math.sin(angle)
    return np.array([[1, 0, 0], [0, c, -s], [0, s, c]])


def stumpff(z: float) -> tuple[float, float]:
    """C(z) = (1 - cos √z) / z and S(z) = (√z - sin √z) / √z^3, continued to z <= 0."""
    if abs(z) < 1e-6:
        return 0.5 - z / 24, 1 / 6 - z / 120
    root = math.sqrt(abs(z))
    if z > 0:
        return (1 - math.cos(root)) / z, (root - math.sin(root)) / root**3
    return (math.cosh(root) - 1) / -z, (math.sinh(root) - root) / root**3


def lambert(r1: np.ndarray, r2: np.ndarray, time: float) -> tuple[np.ndarray, np.ndarray] | None:
    """Velocities at both ends of the prograde arc of less than one turn, or None where there is none."""
    n1, n2 = float(np.linalg.norm(r1)), float(np.linalg.norm(r2))
    cosine = min(1.0, max(-1.0, float(r1 @ r2) / (n1 * n2)))
    way = 1.0 if r1[0] * r2[1] - r1[1] * r2[0] >= 0 else -1.0
    span = way * math.sqrt(n1 * n2 * (1 + cosine))
    if abs(span) < 1e-6 * math.sqrt(n1 * n2):
        return None
    y = _lambert_y(n1 + n2, span, time)
    if y is None or y <= 0:
        return None
    f, g, g_dot = 1 - y / n1, span * math.sqrt(y / SUN), 1 - y / n2
    return (r2 - f * r1) / g, (g_dot * r2 - r1) / g


def _lambert_y(both: float, span: float, time: float) -> float | None:
    """y(z) = r1 + r2 + A (z S - 1) / √C at the z whose time of flight is `time`, by halving."""
    low, high = FASTEST, LONGEST * (1 - 1e-9)
    y = None
    for _ in range(HALVINGS):
        z = 0.5 * (low + high)
        c, s = stumpff(z)
        trial = both + span * (z * s - 1) / math.sqrt(c)
        if trial <= 0 or ((trial / c) ** 1.5 * s + span * math.sqrt(trial)) / math.sqrt(SUN) < time:
            low = z
        else:
            high, y = z, trial
    return y


def propagate(r: np.ndarray, v: np.ndarray, time: float) -> tuple[np.ndarray, np.ndarray]:
    """Position and velocity after `time` on the orbit around the sun."""
    size, alpha = float(np.linalg.norm(r)), 2 / float(np.linalg.norm(r)) - float(v @ v) / SUN
    drift, root = float(r @ v) / math.sqrt(SUN), math.sqrt(SUN)
    chi = _universal(size, drift, alpha, root * time)
    c, s = stumpff(alpha * chi**2)
    f, g = 1 - chi**2 * c / size, time - chi**3 * s / root
    place = f * r + g * v
    far = float(np.linalg.norm(place))
    f_dot = root / (far * size) * chi * (alpha * chi**2 * s - 1)
    return place, f_dot * r + (1 - chi**2 * c / far) * v


def _universal(size: float, drift: float, alpha: float, goal: float) -> float:
    """The universal anomaly: the root of an increasing function, by doubling and halving."""

    def passed(chi: float) -> bool:
        if alpha * chi**2 < FASTEST:
            return True
        c, s = stumpff(alpha * chi**2)
        return drift * chi**2 * c + (1 - alpha * size) * chi**3 * s + size * chi >= goal

    high = goal / size
    while not passed(high):
        high *= 2
    low = 0.0
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if passed(middle) else (middle, high)
    return 0.5 * (low + high)


def swing_by_cost(arriving: np.ndarray, leaving: np.ndarray, planet: Planet) -> tuple[float, float]:
    """The impulse at periapsis that joins two hyperbolas, and the radius of that periapsis."""
    v1, v2 = (max(SLOWEST, float(np.linalg.norm(v))) for v in (arriving, leaving))
    turn = math.acos(min(1.0, max(-1.0, float(arriving @ leaving) / (v1 * v2))))
    a1, a2 = planet.gravity / v1**2, planet.gravity / v2**2
    low, high = math.log(1e-3 * planet.lowest), math.log(1e4 * planet.lowest)
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        radius = math.exp(middle)
        bent = math.asin(a1 / (a1 + radius)) + math.asin(a2 / (a2 + radius))
        low, high = (middle, high) if bent > turn else (low, middle)
    radius = math.exp(low)
    fast = math.sqrt(v1**2 + 2 * planet.gravity / radius), math.sqrt(v2**2 + 2 * planet.gravity / radius)
    return abs(fast[0] - fast[1]), radius


def swing_by(arriving: np.ndarray, body: np.ndarray, planet: Planet, radius: float, plane: float) -> np.ndarray:
    """The velocity after a swing-by without thrust, from the velocity before it; `radius` in units of the lowest."""
    relative = arriving - body
    speed = max(SLOWEST, float(np.linalg.norm(relative)))
    turn = 2 * math.asin(1 / (1 + radius * planet.lowest * speed**2 / planet.gravity))
    i = relative / speed
    j = np.cross(i, body)
    j = j / max(SLOWEST, float(np.linalg.norm(j)))
    side = math.cos(plane) * j + math.sin(plane) * np.cross(i, j)
    return body + speed * (math.cos(turn) * i + math.sin(turn) * side)
