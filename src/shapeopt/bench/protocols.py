"""The protocols: which cells every comparison of optimizers is made on."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from ..tasks import StartLaw, make_family
from .cells import Cell, Protocol
from .sensing import Minibatch, Noisy, ValueOnly

SYNTHETIC = ("ackley", "levy", "rastrigin")
DIMENSIONS = (2, 20, 100, 500)
TASKS = 64
SIGMAS = (0.05, 0.2, 0.5, 1.0)
UNSEEN_TASKS = 32
UNSEEN = (  # family, dimension, rotated; families that hold only in their own box have no rotation
    ("griewank", 2, False),
    ("griewank", 10, True),
    ("griewank", 50, True),
    ("salomon", 10, False),
    ("drop_wave", 2, False),
    ("drop_wave", 5, True),
    ("schaffer_f7", 5, False),
    ("schaffer_f7", 20, True),
    ("zakharov", 10, False),
    ("zakharov", 30, True),
    ("powell_singular", 24, True),
    ("trid", 20, False),
    ("bohachevsky", 2, True),
    ("bohachevsky", 20, False),
    ("weierstrass", 10, False),
    ("katsuura", 5, False),
    ("lunacek", 5, False),
    ("lunacek", 20, True),
    ("gallagher", 2, False),
    ("gallagher", 5, True),
    ("gallagher", 20, True),
    ("styblinski_tang", 5, False),
    ("styblinski_tang", 20, True),
    ("styblinski_tang", 50, False),
    ("happy_cat", 10, True),
    ("schwefel", 5, None),
    ("schwefel", 20, None),
    ("michalewicz", 5, None),
    ("michalewicz", 10, None),
    ("goldstein_price", 2, None),
    ("six_hump_camel", 2, None),
    ("branin", 2, None),
    ("eggholder", 2, None),
    ("holder_table", 2, None),
    ("shekel", 4, None),
    ("hartmann_6", 6, None),
)

PEER_METHODS = (
    "universal",
    "basinhopping",
    "basinhopping_step_0.7",
    "basinhopping_step_2",
    "monotonic_hopping",
    "monotonic_hopping_near",
    "monotonic_hopping_loose",
    "monotonic_hopping_few",
    "multistart",
    "mlsl",
    "dual_annealing",
    "differential_evolution_10",
    "cma",
    "bipop_cma",
    "direct",
)


def _near() -> Iterator[Cell]:
    for name in SYNTHETIC:
        for d in DIMENSIONS:
            yield Cell(make_family(name, d, StartLaw.NEAR), 500, TASKS)


def _box(rotated: bool) -> Iterator[Cell]:
    for budget in (500, 100, 2000):
        for name in SYNTHETIC:
            for d in DIMENSIONS[:3] if rotated or budget == 2000 else DIMENSIONS:
                yield Cell(make_family(name, d, StartLaw.BOX, rotated=rotated), budget, TASKS)


def _noisy() -> Iterator[Cell]:
    for sigma in SIGMAS:
        for name in SYNTHETIC:
            for d in (20, 100):
                yield Cell(make_family(name, d, StartLaw.NEAR), 500, TASKS, sensing=Noisy(sigma))


def _value_only() -> Iterator[Cell]:
    for law in (StartLaw.BOX, StartLaw.NEAR):
        for name in SYNTHETIC:
            for d in (20, 2):
                yield Cell(make_family(name, d, law), 1000, TASKS, sensing=ValueOnly())


def _science() -> Iterator[Cell]:
    cells = [("lennard_jones", d) for d in (18, 39, 114)]
    cells += [(name, d) for name in ("phase_retrieval", "double_integrator", "pendulum", "navigation") for d in (8, 32)]
    for name, d in cells:
        yield Cell(make_family(name, d, StartLaw.BOX), 500, TASKS)
    for d in (8, 32):
        yield Cell(make_family("phase_retrieval", d, StartLaw.BOX), 500, TASKS, sensing=Minibatch())
    yield Cell(make_family("lennard_jones", 114, StartLaw.BOX), 2000, TASKS)


def _unseen() -> Iterator[Cell]:
    for name, d, rotated in UNSEEN:
        yield Cell(make_family(name, d, StartLaw.BOX, rotated=rotated), 500, UNSEEN_TASKS)


PROTOCOLS: Mapping[str, Protocol] = MappingProxyType(
    {
        protocol.name: protocol
        for protocol in (
            Protocol("near", "starts 2 to 3.2 from the minimiser, 500 calls", tuple(_near()), PEER_METHODS),
            Protocol("box", "minimiser and start anywhere in the box", tuple(_box(False)), PEER_METHODS),
            Protocol("box-rotated", "the same under a random rotation", tuple(_box(True)), PEER_METHODS),
            Protocol("noisy", "near starts, noisy gradients", tuple(_noisy()), PEER_METHODS),
            Protocol("value-only", "1,000 values and no gradients", tuple(_value_only()), PEER_METHODS),
            Protocol("science", "clusters, phase retrieval, control", tuple(_science()), PEER_METHODS),
            Protocol("unseen", "objectives that no policy was trained on", tuple(_unseen()), PEER_METHODS),
        )
    }
)
