"""A family's policy: what its training found, made into tactics for one problem of it.

All numbers are in the user's coordinates, so that they fit whatever bounds a problem of the family has; the policy for
a problem has them in the internal ones. On disk it is a safetensors file and a card (core/policy_files.py).
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar

import numpy as np

from ..core.box import REACH, Box
from ..core.policy_files import PolicyFileError, load_card, policy_files, read_arrays, write_arrays
from ..core.problem import Problem
from ..optimizer import TACTICS, Policy
from ..planner import FamilyOrder
from ..tactics import AbstractTactic, Recall, Refine
from .regression import Regression

LEAST_RADIUS = 0.03  # of a first step by root coordinate, where the box is 10 wide
WIDEST = 1e6  # eigenvalues of the metric are kept within this ratio
NAMES = ("places", "width", "reach", "shape", "reach_given", "profiles", "turn")  # of arrays
MOST_PLACES, MOST_DIMENSIONS = 1000, 10_000  # that a file may have


@dataclass(frozen=True, eq=False)
class FamilyPolicy:
    """What was learned of a family, as `train_family` makes it and `load_family` reads it.

    Args:
        places: (k, d), where good basins were found, the most useful first.
        width: (d,), of the kernel around each.
        reach: (d,), typical distance from the first place to a problem's best basin.
        shape: (d, d), an inverse Hessian of the family's basins, of any scale; or None.
        regression: from a descriptor to the first place; or None.
        reach_given: (d,), the typical distance from that one.
        opening: how many places are read before the first descent.
        prior: mean and scale of log R of descents (tactics/refine.py); or None.
        late: names of tactics that did not pay, and wait while the memory is believed.
        until: for how many calls they wait at most.
        later: whether places are read after basins, too, not only in the opening.
        calm: largest force at the first place, as a share of that at x0, that is usual in the family; infinite: any.
        fall: least fall from x0 to the first place, as a share of force times distance, that is usual in the family;
            with profiles and values alone that to the middle one of the first three, as a share of their range.
        pays: whether training saw it need fewer calls than the untrained policy; if not, that one is used.
        profiles: (rows, k), values of training instances at the places, above that at the first one
            (tactics/recall.py); or None: places are read in their order.
        seam: where the box opens in coordinates that are periodic, None for each of the others; None: all others.
        turn: (2, d), the bounds between which they are.
        descriptor: of the problem at hand; None: that of the objective's attribute `descriptor`, if it has one.
        card: how it was trained, and what it was worth.

    Example:
        policy = shapeopt.load_family("runs/mine/policy")
        result = shapeopt.minimize(fun, bounds=bounds, budget=100, policy=policy.given([0.3, 1.2]))
    """

    places: np.ndarray
    width: np.ndarray
    reach: np.ndarray
    shape: np.ndarray | None = None
    regression: Regression | None = None
    reach_given: np.ndarray | None = None
    opening: int = 1
    prior: tuple[float, float] | None = None
    late: tuple[str, ...] = ()
    until: float = 15.0
    calm: float = float("inf")
    fall: float = 0.0
    later: bool = False
    pays: bool = True
    profiles: np.ndarray | None = None
    seam: tuple[float | None, ...] | None = None
    turn: np.ndarray | None = None
    descriptor: Any = None
    card: Mapping[str, Any] = field(default_factory=dict)

    kind: ClassVar[str] = "family"

    def given(self, descriptor: Any) -> "FamilyPolicy":
        """The policy for the problem with this descriptor.

        Args:
            descriptor: the numbers that say which problem it is, as those of training did.

        Returns:
            The same policy with that descriptor.
        """
        return replace(self, descriptor=descriptor)

    def policy_for(self, problem: Problem, fun: Any = None) -> Policy:
        """The tactics for a problem.

        Args:
            problem: its start and bounds.
            fun: its objective, for the attribute `descriptor`.

        Returns:
            The policy that runs it; the untrained one where training did not pay.

        Raises:
            ValueError: the problem has other coordinates, or none on a side.
        """
        d = self.places.shape[1]
        if problem.x0.size != d:
            raise ValueError(f"`policy` is of a family with {d} coordinates; the problem has {problem.x0.size}.")
        if not (np.isfinite(problem.lower) & np.isfinite(problem.upper)).all():
            raise ValueError("`policy` is a family's, which needs `bounds` on both sides of every coordinate.")
        if not self.pays:
            return Policy()
        seam = self._seam_of(problem)
        box = Box.around(problem.lower.astype(float), problem.upper.astype(float)).turned(seam)
        descriptor = getattr(fun, "descriptor", None) if self.descriptor is None else self.descriptor
        places, reach, width, centres = self.places, self.reach, self.width, len(self.places)
        profiles = () if self.profiles is None else _plain(self.profiles)
        if self.regression is not None and self.reach_given is not None and descriptor is not None:
            places = np.concatenate([self.regression.predict(descriptor)[None, :], places[: self.opening - 1]])
            reach, width, centres, profiles = self.reach_given, self.reach_given, 1, ()
        scale = np.where(box.scale > 0, box.scale, 1.0)
        inside = np.clip(box.inward(places), -REACH, REACH)
        opening = min(self.opening, len(places))
        kernel = tuple((width / scale).tolist())
        recall = Recall(_plain(inside), kernel, opening, centres, self.calm, self.fall, self.later, profiles)
        radius = max(LEAST_RADIUS, float(np.sqrt(np.mean((reach / scale) ** 2))))
        late = tuple(i for i, tactic in enumerate(TACTICS, start=1) if tactic.name in self.late)
        tactics = (recall, *(self._fitted(tactic, scale, radius) for tactic in TACTICS))
        return Policy(tactics, FamilyOrder(late=late, until=self.until), seam, affine=True)

    def _seam_of(self, problem: Problem) -> tuple[float | None, ...] | None:
        """The seam, if the problem's bounds are those between which the family is periodic."""
        if self.seam is None or self.turn is None:
            return None
        same = np.allclose(np.stack([problem.lower, problem.upper]), self.turn, rtol=1e-9, atol=0.0)
        return self.seam if same else None

    def _fitted(self, tactic: AbstractTactic, scale: np.ndarray, radius: float) -> AbstractTactic:
        if not isinstance(tactic, Refine):
            return tactic
        tactic = replace(tactic, opening_radius=radius)
        if self.prior is not None:
            tactic = replace(tactic, prior_mean=self.prior[0], prior_scale=self.prior[1])
        if self.shape is None:
            return tactic
        return replace(tactic, shape=_plain(sound_shape(self.shape / np.outer(scale, scale))))

    # ------------------------------------------------------------------------------------------------- disk

    @property
    def arrays(self) -> dict[str, np.ndarray]:
        """What is stored, by name."""
        found = {name: getattr(self, name) for name in NAMES}
        if self.regression is not None:
            found |= {f"regression.{one.name}": getattr(self.regression, one.name) for one in fields(Regression)}
        return {name: np.ascontiguousarray(array, float) for name, array in found.items() if array is not None}

    def save(self, path: str | os.PathLike) -> None:
        """Write the policy: its arrays, and the card beside them.

        Args:
            path: the stem of the two files.
        """
        settings = {
            "opening": self.opening,
            "prior": self.prior,
            "late": list(self.late),
            "until": self.until,
            "later": self.later,
            "fall": self.fall,
            "pays": self.pays,
            "seam": None if self.seam is None else list(self.seam),
        }
        settings |= {"calm": self.calm if np.isfinite(self.calm) else None}
        write_arrays(path, self.kind, settings, self.arrays, self.card)


def load_family(path: str | os.PathLike, descriptor: Any = None) -> FamilyPolicy:
    """The family's policy at the stem `path`.

    Args:
        path: the stem of its two files, or either of them.
        descriptor: of the problem at hand, where the family has descriptors.

    Returns:
        The policy, for `minimize(policy=...)` and `Shape(policy=...)`.

    Raises:
        PolicyFileError: the files are missing, damaged, or of another kind.

    Example:
        shapeopt.minimize(fun, bounds=bounds, policy=shapeopt.load_family("runs/mine/policy", descriptor=[0.3, 1.2]))
    """
    weights, card_path = policy_files(path)
    card = load_card(path)
    if card["kind"] != FamilyPolicy.kind:
        raise PolicyFileError(f'{card_path} has kind "{card["kind"]}", not "{FamilyPolicy.kind}".')
    arrays = read_arrays(path, card)
    try:
        return _checked(arrays, card).given(descriptor)
    except (KeyError, TypeError, ValueError) as error:
        raise PolicyFileError(f"{weights} and its card make no family's policy: {error}.") from error


def is_family_file(path: Any) -> bool:
    """Whether there is a family's policy at the stem `path`."""
    if not isinstance(path, str | os.PathLike) or not str(path):
        return False
    try:
        return load_card(path)["kind"] == FamilyPolicy.kind
    except ValueError:
        return False


def sound_shape(shape: np.ndarray) -> np.ndarray:
    """A symmetric matrix as a positive definite one whose largest eigenvalue is 1."""
    values, vectors = np.linalg.eigh(0.5 * (shape + shape.T))
    values = np.maximum(values / values[-1], 1.0 / WIDEST)
    return (vectors * values) @ vectors.T


def _checked(arrays: Mapping[str, np.ndarray], card: Mapping[str, Any]) -> FamilyPolicy:
    """The policy of the arrays, whose shapes fit together and whose numbers are finite."""
    count, d = arrays["places"].shape
    if not (1 <= count <= MOST_PLACES and 1 <= d <= MOST_DIMENSIONS):
        raise ValueError(f"`places` has shape {(count, d)}")
    rows = arrays["profiles"].shape[0] if "profiles" in arrays else 0
    if rows > MOST_PLACES:
        raise ValueError(f"`profiles` has {rows} rows")
    sizes = {"profiles": (rows, count), "turn": (2, d)} | {
        "places": (count, d),
        "width": (d,),
        "reach": (d,),
        "shape": (d, d),
        "reach_given": (d,),
    }
    regression = {name.partition(".")[2]: array for name, array in arrays.items() if name.startswith("regression.")}
    if regression:
        n, p = regression["inputs"].shape
        wanted = {"inputs": (n, p), "alpha": (n, d), "mean": (d,), "centre": (p,), "spread": (p,), "kernel": (3,)}
        sizes |= {f"regression.{name}": size for name, size in wanted.items()}
    for name, array in arrays.items():
        if array.shape != sizes[name] or array.dtype != np.float64 or not np.isfinite(array).all():
            raise ValueError(f"`{name}` has shape {array.shape}, {array.dtype}, or numbers that are not finite")
    settings = card["settings"]
    prior = settings.get("prior")
    return FamilyPolicy(
        arrays["places"],
        arrays["width"],
        arrays["reach"],
        arrays.get("shape"),
        Regression(**regression) if regression else None,
        arrays.get("reach_given"),
        int(settings["opening"]),
        None if prior is None else (float(prior[0]), float(prior[1])),
        tuple(str(name) for name in settings["late"]),
        float(settings["until"]),
        float("inf") if settings.get("calm") is None else float(settings["calm"]),
        float(settings.get("fall", 0.0)),
        bool(settings["later"]),
        bool(settings.get("pays", True)),
        arrays.get("profiles"),
        _seam(settings.get("seam"), d),
        arrays.get("turn"),
        card=card["about"],
    )


def _seam(stored: Any, d: int) -> tuple[float | None, ...] | None:
    if stored is None:
        return None
    seam = tuple(None if one is None else float(one) for one in stored)
    if len(seam) != d or not all(one is None or np.isfinite(one) for one in seam):
        raise ValueError(f"`seam` has {len(seam)} numbers, or some that are not finite")
    return seam


def _plain(rows: np.ndarray) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(row) for row in rows.tolist())
