"""The protocols: which cells every comparison is made on (design §5 and §6)."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from ..tasks import StartLaw, make_family
from .cells import Cell, Protocol
from .metrics import PAPER_HIT
from .sensing import EXACT, Minibatch, Noisy, ValueOnly

SYNTHETIC = ("ackley", "levy", "rastrigin")
DIMENSIONS = (2, 20, 100, 500)
PAPER_HORIZON = {2: 48, 20: 48, 100: 56, 500: 64}  # steps with which the paper's baseline rows come out
PAPER_STARTS = {2: 32, 20: 32, 100: 24, 500: 12}
PAPER_TASKS = 64  # the paper speaks of 64 and its rows of 16: the same means, and a smaller error of ours
SCIENCE_HORIZON = 48  # as above, for phase retrieval and control
TASKS = 64
SIGMAS = (0.05, 0.2, 0.5, 1.0)
SETTINGS = {  # tab. ablation_ackley_compact_transposed: tasks, particles, calls
    "S1": (16, 128, 256),
    "S2": (32, 128, 256),
    "S3": (64, 128, 256),
    "S4": (64, 64, 512),
    "S5": (64, 32, 1024),
    "S6": (64, 16, 2048),
}
MULTIWELL_CALLS = 1251  # mean gradient calls of tab. multiwell_fair_budget
MULTIWELL_SIGMA = 0.1
ABLATION_SIGMA = 0.2

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

PAPER_BASELINES = ("gd", "momentum", "nag", "rmsprop", "adam", "lionk", "shampoo", "soap", "sophia")
PAPER_METHODS = ("universal", "paper", *PAPER_BASELINES)
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


def _paper() -> Iterator[Cell]:
    for name in SYNTHETIC:
        for d in DIMENSIONS:
            family = make_family(name, d, StartLaw.PAPER, varied=True)
            yield Cell(family, PAPER_HORIZON[d], PAPER_TASKS, PAPER_STARTS[d], rule=PAPER_HIT)


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


def _multiwell() -> Iterator[Cell]:
    for budget in (MULTIWELL_CALLS, 500, 100):
        yield Cell(make_family("multiwell", 1), budget, 500, sensing=Noisy(MULTIWELL_SIGMA))


def _settings() -> Iterator[Cell]:
    family = make_family("ackley", 2, StartLaw.BOX)
    for setting, (tasks, starts, budget) in SETTINGS.items():
        yield Cell(family, budget, tasks, starts, rule=PAPER_HIT, setting=setting, counts_minima=True)


def _oracles() -> Iterator[Cell]:
    family = make_family("ackley", 2, StartLaw.BOX)
    tasks, starts, budget = SETTINGS["S4"]
    for sensing in (EXACT, Noisy(ABLATION_SIGMA), ValueOnly(1)):
        yield Cell(family, budget, tasks, starts, sensing=sensing, rule=PAPER_HIT, setting="S4", counts_minima=True)


def _paper_science() -> Iterator[Cell]:
    for name, d in (
        ("lennard_jones", 6),
        ("lennard_jones", 18),
        ("phase_retrieval", 8),
        ("phase_retrieval", 32),
        ("double_integrator", 8),
        ("double_integrator", 32),
    ):
        family = make_family(name, d, StartLaw.PAPER)
        yield Cell(family, SCIENCE_HORIZON, PAPER_TASKS, 32, rule=PAPER_HIT)


def _ablated() -> Iterator[Cell]:
    """Cells of tab. ackley_memory_controller_ablation_main."""
    for cell in _paper():
        if cell.family.name == "ackley" and cell.family.dimension in (2, 20, 100):
            yield cell


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
            Protocol(
                "paper", "the paper's synthetic rows, calibrated on its baselines", tuple(_paper()), PAPER_METHODS
            ),
            Protocol("paper-science", "the paper's scientific rows, likewise", tuple(_paper_science()), PAPER_METHODS),
            Protocol("near", "starts 2 to 3.2 from the minimiser, 500 calls", tuple(_near()), PEER_METHODS),
            Protocol("box", "minimiser and start anywhere in the box", tuple(_box(False)), PEER_METHODS),
            Protocol("box-rotated", "the same under a random rotation", tuple(_box(True)), PEER_METHODS),
            Protocol("noisy", "near starts, noisy gradients", tuple(_noisy()), PEER_METHODS),
            Protocol("value-only", "1,000 values and no gradients", tuple(_value_only()), PEER_METHODS),
            Protocol(
                "multiwell",
                "500 one-dimensional multi-wells, noisy",
                tuple(_multiwell()),
                (*PAPER_METHODS, *PEER_METHODS[1:]),
            ),
            Protocol("settings", "the paper's S1 to S6 on Ackley", tuple(_settings()), PAPER_METHODS),
            Protocol("oracles", "the paper's oracle ablation on Ackley", tuple(_oracles()), PAPER_METHODS),
            Protocol(
                "ablation-controller",
                "the paper's policy without its controller",
                tuple(_ablated()),
                ("paper", "paper_without_controller"),
            ),
            Protocol(
                "ablation-memory",
                "the paper's policy without its memory",
                (*_ablated(), next(_multiwell())),
                ("paper", "paper_without_memory"),
            ),
            Protocol(
                "ablation-horizon",
                "the paper's policy with stages of 6 and of 4 readings",
                tuple(_ablated()),
                ("paper", "paper_horizon_4"),
            ),
            Protocol("science", "clusters, phase retrieval, control", tuple(_science()), PEER_METHODS),
            Protocol("unseen", "objectives that no policy was trained on", tuple(_unseen()), PEER_METHODS),
        )
    }
)
