"""Reference geometries of Lennard-Jones clusters (eq. lj_energy) in units of sigma and epsilon, in NumPy.

2 atoms: a pair; 6: an octahedron; 13: a centred icosahedron; 38: a truncated octahedron cut from an fcc crystal. The
first three have one free length; the fourth has four, relaxed once by Newton's method on the reduced energy. A test
checks that the force vanishes at all of them and that the energies are those published for the global minima
(D. J. Wales and J. P. K. Doye, J. Phys. Chem. A 101, 5111 (1997); The Cambridge Cluster Database).
"""

import functools
import itertools
from collections.abc import Callable

import numpy as np

# Relaxed shells of the 38-atom cluster: (a, 0, 0), (b, b, b) and (c, d, 0) with all signs and permutations.
SHELLS_38 = (0.7759309576204478, 0.7790009250831655, 1.5655837414624079, 0.7808894437219709)


def _signed(*points: tuple[float, float, float]) -> np.ndarray:
    """Every distinct point got from `points` by changing signs."""
    signs = itertools.product((1.0, -1.0), repeat=3)
    return np.unique(np.array([np.multiply(s, p) for s in signs for p in points]) + 0.0, axis=0)


def _rolled(x: float, y: float, z: float) -> list[tuple[float, float, float]]:
    return [(x, y, z), (y, z, x), (z, x, y)]


def _pair() -> np.ndarray:
    return np.array([[-0.5, 0.0, 0.0], [0.5, 0.0, 0.0]])


def _octahedron() -> np.ndarray:
    return _signed(*_rolled(1.0, 0.0, 0.0))


def _icosahedron() -> np.ndarray:
    golden = 0.5 * (1 + 5**0.5)
    return np.concatenate([np.zeros((1, 3)), _signed(*_rolled(0.0, 1.0, golden))])


def _truncated_octahedron() -> np.ndarray:
    a, b, c, d = SHELLS_38
    return _signed(*_rolled(a, 0.0, 0.0), (b, b, b), *_rolled(c, d, 0.0), *_rolled(d, c, 0.0))


SHAPES: dict[int, Callable[[], np.ndarray]] = {
    2: _pair,
    6: _octahedron,
    13: _icosahedron,
    38: _truncated_octahedron,
}


@functools.cache
def reference(atoms: int) -> tuple[np.ndarray, float]:
    """Coordinates (atoms, 3) of the global minimum, centred, and its energy.

    A shape scaled by s has energy 4 (A s^-12 - B s^-6), so its best scale is s^6 = 2A/B, with energy -B^2/A.
    """
    shape = SHAPES[atoms]()
    i, j = np.triu_indices(atoms, 1)
    inverse6 = np.sum((shape[i] - shape[j]) ** 2, axis=1) ** -3
    A, B = np.sum(inverse6**2), np.sum(inverse6)
    coordinates = shape * (2 * A / B) ** (1 / 6)
    coordinates.setflags(write=False)
    return coordinates, float(-(B**2) / A)
