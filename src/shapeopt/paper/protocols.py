"""The paper's protocols: the cells of its tables, and of its ablations."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from ..baselines import BASELINES
from ..bench.cells import Cell, Protocol
from ..bench.metrics import PAPER_HIT
from ..bench.protocols import DIMENSIONS, PEER_METHODS, SYNTHETIC
from ..bench.sensing import EXACT, Minibatch, Noisy, ValueOnly
from ..tasks import StartLaw, make_family

PAPER_HORIZON = {2: 48, 20: 48, 100: 56, 500: 64}  # steps with which the paper's baseline rows come out
PAPER_STARTS = {2: 32, 20: 32, 100: 24, 500: 12}
PAPER_TASKS = 64  # the paper speaks of 64 and its rows of 16: the same means, and a smaller error
SCIENCE_HORIZON = 48  # as above, for phase retrieval and control
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

PAPER_BASELINES = ("gd", "momentum", "nag", "rmsprop", "adam", "lionk", "shampoo", "soap", "sophia")
PAPER_METHODS = ("universal", "paper", *PAPER_BASELINES)
SETTINGS_METHODS = (*PAPER_METHODS, "tuned", "tuned_box")
OTHER_BASELINES = tuple(name for name in BASELINES if name not in PAPER_BASELINES)  # those that its tables leave out
TABLE_METHODS = (*PAPER_METHODS, "tuned", *OTHER_BASELINES)
# what learning does: each kind as trained, by other seeds, as it began, and with parts taken away; see `variants`
LEARNING_CHANGES = ("seed_1", "seed_2", "initialised", "zero_networks", "blind", "uncontrolled", "forgetful")
LEARNING_METHODS = (
    *(name for kind in ("paper", "tuned") for name in (kind, *(f"{kind}_{change}" for change in LEARNING_CHANGES))),
    "paper_described",
    "tuned_neighbour",
)


def _paper() -> Iterator[Cell]:
    for name in SYNTHETIC:
        for d in DIMENSIONS:
            family = make_family(name, d, StartLaw.PAPER, varied=True)
            yield Cell(family, PAPER_HORIZON[d], PAPER_TASKS, PAPER_STARTS[d], rule=PAPER_HIT)


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


def _paper_more() -> Iterator[Cell]:
    """What the paper's text has and its tables give no figures of their own for."""
    for d in (8, 32):
        family = make_family("phase_retrieval", d, StartLaw.PAPER)
        yield Cell(family, SCIENCE_HORIZON, PAPER_TASKS, 32, sensing=Minibatch(), rule=PAPER_HIT)
    for name in ("pendulum", "navigation"):
        for d in (8, 32):
            yield Cell(make_family(name, d, StartLaw.PAPER), SCIENCE_HORIZON, PAPER_TASKS, 32, rule=PAPER_HIT)


def _elsewhere() -> Iterator[Cell]:
    """The synthetic cells with optima and starts anywhere in the box."""
    for cell in _paper():
        family = make_family(cell.family.name, cell.family.dimension, StartLaw.BOX, varied=True)
        yield Cell(family, cell.budget, cell.tasks, cell.starts, rule=PAPER_HIT)


def _ablated() -> Iterator[Cell]:
    """Cells of tab. ackley_memory_controller_ablation_main."""
    for cell in _paper():
        if cell.family.name == "ackley" and cell.family.dimension in (2, 20, 100):
            yield cell


PROTOCOLS: Mapping[str, Protocol] = MappingProxyType(
    {
        protocol.name: protocol
        for protocol in (
            Protocol(
                "paper", "the paper's synthetic rows, calibrated on its baselines", tuple(_paper()), TABLE_METHODS
            ),
            Protocol("paper-science", "the paper's scientific rows, likewise", tuple(_paper_science()), TABLE_METHODS),
            Protocol(
                "paper-more",
                "phase retrieval by mini-batches, pendulum and navigation, of which the paper has no figures",
                tuple(_paper_more()),
                PAPER_METHODS,
            ),
            Protocol(
                "multiwell",
                "500 one-dimensional multi-wells, noisy",
                tuple(_multiwell()),
                (*TABLE_METHODS, *PEER_METHODS[1:]),
            ),
            Protocol("settings", "the paper's S1 to S6 on Ackley", tuple(_settings()), SETTINGS_METHODS),
            Protocol("oracles", "the paper's oracle ablation on Ackley", tuple(_oracles()), SETTINGS_METHODS),
            Protocol(
                "paper-learning",
                "trained policies with parts of what they learned taken away",
                (*_paper(), *_paper_science(), next(_multiwell())),
                LEARNING_METHODS,
            ),
            Protocol(
                "paper-learning-box",
                "the same on optima and starts anywhere in the box, on which none of them was trained",
                tuple(_elsewhere()),
                LEARNING_METHODS,
            ),
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
        )
    }
)
