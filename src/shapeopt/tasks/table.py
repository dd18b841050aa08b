"""The one table of families, which every generic test and the command line read."""

import functools
import inspect
from collections.abc import Callable, Mapping
from types import MappingProxyType

from .ackley import Ackley
from .base import AbstractFamily, StartLaw
from .classic import DixonPrice, Quadratic, Rosenbrock
from .control import Control
from .generated import GENERATED
from .held_out import HELD_OUT_LANDSCAPES
from .landscapes import LandscapeFamily
from .lennard_jones import LennardJones
from .levy import Levy
from .multiwell import Multiwell
from .phase_retrieval import PhaseRetrieval, Sensing
from .plants import DoubleIntegrator, Navigation, Pendulum
from .published import PUBLISHED, AbstractProblem, PublishedFamily
from .rastrigin import Rastrigin


def _published(problem: type[AbstractProblem]) -> Callable[..., AbstractFamily]:
    if problem.dimension is None:
        return functools.partial(PublishedFamily, problem=problem)
    return functools.partial(PublishedFamily, problem=problem, dimension=problem.dimension)


# Each constructor takes `dimension` and `law`; some take `rotated` and `varied`, and options of their own.
FAMILIES: Mapping[str, Callable[..., AbstractFamily]] = MappingProxyType(
    {
        "multiwell": Multiwell,
        "double_well": functools.partial(Multiwell, wells=2),
        "ackley": Ackley,
        "levy": Levy,
        "rastrigin": Rastrigin,
        "lennard_jones": LennardJones,
        "phase_retrieval": PhaseRetrieval,
        "coded_diffraction": functools.partial(PhaseRetrieval, sensing=Sensing.CODED, oversampling=4),
        "double_integrator": functools.partial(Control, plant=DoubleIntegrator),
        "pendulum": functools.partial(Control, plant=Pendulum),
        "navigation": functools.partial(Control, plant=Navigation),
        "quadratic": Quadratic,
        "rosenbrock": Rosenbrock,
        "dixon_price": DixonPrice,
        **{kind.name: functools.partial(LandscapeFamily, kind=kind) for kind in (*GENERATED, *HELD_OUT_LANDSCAPES)},
        **{problem.name: _published(problem) for problem in PUBLISHED},
    }
)

# What a policy may be trained on, and what it is only ever judged on.
HELD_OUT: tuple[str, ...] = (*(kind.name for kind in HELD_OUT_LANDSCAPES), *(problem.name for problem in PUBLISHED))
TRAINING: tuple[str, ...] = tuple(name for name in FAMILIES if name not in HELD_OUT)


def make_family(
    name: str,
    dimension: int,
    law: StartLaw = StartLaw.BOX,
    rotated: bool | None = None,
    varied: bool | None = None,
) -> AbstractFamily:
    """The family of the table called `name`; None leaves `rotated` and `varied` at the family's own default."""
    if name not in FAMILIES:
        raise ValueError(f"`name` must be one of {', '.join(FAMILIES)}; got {name!r}.")
    constructor = FAMILIES[name]
    options = {key: value for key, value in {"rotated": rotated, "varied": varied}.items() if value is not None}
    for key in options.keys() - inspect.signature(constructor).parameters.keys():
        if options.pop(key):
            raise ValueError(f"`{key}` is not an option of the family {name!r}; got True.")
    return constructor(dimension=dimension, law=law, **options)
