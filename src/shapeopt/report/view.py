"""The plane on which a run is drawn: the box itself in two dimensions, a cut through the best basins in more."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core import REACH
from ..core.box import by_logarithm, logarithm

if TYPE_CHECKING:
    from ..tasks import AbstractTask

CELLS = 120  # of a landscape, along each side
MARGIN = 0.12  # around what is drawn, as a share of its width
SAME = 1e-6  # internal distance below which a direction is none


@dataclass(frozen=True)
class Frame:
    """Coordinates q = (x - centre) / scale, of log x where `logs`, in which a run's box is a cube and distances are the
    policy's."""

    centre: np.ndarray
    scale: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    logs: np.ndarray

    @staticmethod
    def of(lower: np.ndarray, upper: np.ndarray, x0: np.ndarray, by_values: bool = False) -> "Frame":
        """As `Box.around`, `by_orders` in a run by values, but a coordinate without width gets a scale, too."""
        closed = np.isfinite(lower) & np.isfinite(upper) & (upper > lower)
        logs = by_logarithm(lower, upper, x0) & by_values
        with np.errstate(invalid="ignore"):
            low, high = (logarithm(np, logs, side) for side in (lower, upper))
            centre = np.where(closed, 0.5 * low + 0.5 * high, x0)
            half = np.where(closed, 0.5 * high - 0.5 * low, REACH * np.maximum(1.0, np.abs(x0)))
        return Frame(centre, half / REACH, lower, upper, logs)

    def inward(self, x: np.ndarray) -> np.ndarray:
        return (logarithm(np, self.logs, np.asarray(x, float)) - self.centre) / self.scale

    def outward(self, q: np.ndarray) -> np.ndarray:
        x = self.centre + self.scale * q
        return np.where(self.logs, np.exp(np.where(self.logs, x, 0.0)), x)


@dataclass(frozen=True)
class View:
    """A plane q = origin + axes^T (u, v) with orthonormal axes; what is shown of it is shift + stretch (u, v).

    In two dimensions that is the user's own coordinates, or their decimal logarithms; in one there is a single axis.
    """

    frame: Frame
    origin: np.ndarray
    axes: np.ndarray
    shift: np.ndarray
    stretch: np.ndarray
    labels: tuple[str, ...]
    about: str

    def project(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(shown coordinates, squared distance from the plane) of points; the distance is internal."""
        offset = self.frame.inward(x) - self.origin
        inside = offset @ self.axes.T
        away = np.sum(offset**2, axis=-1) - np.sum(inside**2, axis=-1)
        return self.shift + self.stretch * inside, np.maximum(away, 0.0)

    def lift(self, shown: np.ndarray) -> np.ndarray:
        """The user's x of shown coordinates."""
        return self.frame.outward(self.origin + (shown - self.shift) / self.stretch @ self.axes)


def make_view(frame: Frame, points: np.ndarray, minima: np.ndarray) -> View:
    """The view of a run that read `points` and found `minima`, best first."""
    d = frame.centre.size
    if d <= 2:
        names = ("x",) if d == 1 else ("x<sub>1</sub>", "x<sub>2</sub>")
        labels = tuple(f"log {name}" if log else name for name, log in zip(names, frame.logs, strict=True))
        unit = np.where(frame.logs, np.log(10.0), 1.0)
        return View(frame, np.zeros(d), np.eye(d), frame.centre / unit, frame.scale / unit, labels, "")
    inner, places = frame.inward(points), frame.inward(minima)
    origin = places[0] if len(places) else inner[-1]
    first, second = _directions(places[1:] - origin, inner - origin)
    about = (
        f"A flat cut through {d} dimensions: the best minimum lies at (0, 0), and the axes lead to the next best ones. "
        "Readings are projected onto it; the fainter a point, the farther it lies from the cut."
    )
    labels = ("towards the second best minimum", "towards the third")
    return View(frame, origin, np.stack([first, second]), np.zeros(2), np.ones(2), labels, about)


def _directions(towards: np.ndarray, spread: np.ndarray) -> list[np.ndarray]:
    """Two orthonormal directions: to the first minima that give any, else along the spread of the readings."""
    found: list[np.ndarray] = []
    main = np.linalg.svd(spread, full_matrices=False)[2] if len(spread) else np.zeros((0, towards.shape[1]))
    for candidate in [*towards, *main, *np.eye(towards.shape[1])[:3]]:
        rest = candidate - sum((candidate @ axis) * axis for axis in found)
        size = np.linalg.norm(rest)
        if size > SAME and size > SAME * np.linalg.norm(candidate):
            found.append(rest / size)
        if len(found) == 2:
            break
    return found


def extent(view: View, shown: np.ndarray, marks: np.ndarray) -> np.ndarray:
    """(lower, upper) of what is drawn: the box where there is one, else around readings and minima."""
    d = view.frame.centre.size
    lower, upper = (logarithm(np, view.frame.logs, side) for side in (view.frame.lower, view.frame.upper))
    lower, upper = (np.where(view.frame.logs, side / np.log(10.0), side) for side in (lower, upper))
    if d <= 2 and np.isfinite(lower).all() and np.isfinite(upper).all():
        return np.stack([lower, upper])
    share = 0.02 if d <= 2 else 0.1  # in many dimensions far readings say little about the cut
    inner = np.quantile(shown, [share, 1 - share], axis=0) if len(shown) else np.zeros((0, shown.shape[1]))
    both = np.concatenate([inner, marks])
    low, high = both.min(axis=0), both.max(axis=0)
    pad = MARGIN * np.maximum(high - low, 1e-9 + 1e-3 * np.abs(high))
    if d <= 2:
        return np.stack([np.maximum(low - pad, lower), np.minimum(high + pad, upper)])
    return np.stack([low - pad, high + pad])


def surface(task: "AbstractTask", view: View, area: np.ndarray) -> Mapping[str, np.ndarray]:
    """The task's values on a grid over `area`; nan where the cut leaves the box. Nothing of the budget is spent."""
    axes = [np.linspace(low, high, CELLS + 1) for low, high in area.T]
    grid = np.stack(np.meshgrid(*axes), axis=-1)
    x = view.lift(grid.reshape(-1, len(axes)))
    inside = np.all((x >= view.frame.lower - 1e-9) & (x <= view.frame.upper + 1e-9), axis=1)
    values = np.where(inside, evaluate(task, x), np.nan).reshape(grid.shape[:-1])
    return {"x": axes[0], "z": values} if len(axes) == 1 else {"x": axes[0], "y": axes[1], "z": values}


def surface_of_readings(shown: np.ndarray, values: np.ndarray, area: np.ndarray) -> Mapping[str, np.ndarray] | None:
    """Values between the readings, by triangles; None where there are too few. Nothing is evaluated."""
    from scipy.interpolate import LinearNDInterpolator
    from scipy.spatial import QhullError

    known = np.isfinite(values)
    points, first = np.unique(shown[known], axis=0, return_index=True)
    if len(points) < 8:
        return None
    try:
        between = LinearNDInterpolator(points, values[known][first], rescale=True)
    except QhullError:  # all on one line
        return None
    axes = [np.linspace(low, high, CELLS + 1) for low, high in area.T]
    return {"x": axes[0], "y": axes[1], "z": between(*np.meshgrid(*axes))}


def evaluate(task: "AbstractTask", x: np.ndarray) -> np.ndarray:
    """The task's values at the rows of x, in double precision."""
    import jax

    with jax.enable_x64(True):
        many: Callable[..., Any] = jax.jit(lambda task, x: jax.vmap(task)(x))
        return np.asarray(many(task, np.asarray(x, float)))
