"""The paper's published figures, beside the measured ones: one csv a table, as printed, with percentages as shares.

`metric` is a name of `metrics.METRICS`; where a table shows another statistic over runs than the mean, `_median` or
`_lowest` follows it. `dimension` is None where a row averages over the dimensions of its family. Figures that the paper
leaves out (a dash) are not here; "< 1e-10" stands as 1e-10.

Three things are inferred, not stated there. The ablations over budgets and oracles are of dimension 2, as only there
can minima be counted. Their column "Best gap" is the lowest of all runs, as a mean would contradict their hit rates;
each of those rates is a multiple of 1/512, whatever the numbers of tasks and particles beside it. The success rate of
the multi-well table is judged by the best value, so it is our `hit_best`.

The paper's best gap counts the last position, which is never read; by formula its `best_gap` and `auc_best_gap` are our
`lowest_gap` and `auc_lowest_gap`.
"""

import csv
import functools
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from importlib import resources
from types import MappingProxyType

TABLES = (
    "main:result_placeholder",
    "multiwell_fair_budget",
    "summary:synthetic:benchmarks",
    "real:world:example:summary",
    "ackley_budget_particle_ablation_full",
    "ackley_oracle_ablation_full",
    "ablation_ackley_compact_transposed",
    "ackley_memory_controller_ablation_main",
    "ackley_oracle_ablation_compact_transposed",
)  # their labels in the paper, without "tab:"

# (tasks, particles a task, calls a particle) of the settings of the budget ablation
BUDGET_SETTINGS: Mapping[str, tuple[int, int, int]] = MappingProxyType(
    {
        "S1": (16, 128, 256),
        "S2": (32, 128, 256),
        "S3": (64, 128, 256),
        "S4": (64, 64, 512),
        "S5": (64, 32, 1024),
        "S6": (64, 16, 2048),
    }
)


@dataclass(frozen=True)
class Published:
    """One figure of one of the paper's tables.

    `setting` tells rows of one family and dimension apart: a budget setting, an oracle, the controller; "" if nothing
    does. `std` is None where the paper gives none. `unit` is one of the last digit that the mean is printed with.

    Departs from the paper: nothing.
    """

    table: str
    family: str
    dimension: int | None
    setting: str
    method: str
    metric: str
    mean: float
    std: float | None
    unit: float


def published(table: str) -> list[Published]:
    """All figures of a table, in the paper's order."""
    return list(_rows(table).values())


def find(table: str, family: str, dimension: int | None, setting: str, method: str, metric: str) -> Published | None:
    """One figure, or None if the paper has no such one."""
    return _rows(table).get((family, dimension, setting, method, metric))


@functools.cache
def _rows(table: str) -> Mapping[tuple[str, int | None, str, str, str], Published]:
    if table not in TABLES:
        raise ValueError(f"`table` must be one of {', '.join(TABLES)}; got {table!r}.")
    path = resources.files(__package__) / "published" / f"{table.replace(':', '_')}.csv"
    found = [_parse(row) for row in csv.DictReader(path.read_text(encoding="utf-8").splitlines())]
    return {(row.family, row.dimension, row.setting, row.method, row.metric): row for row in found}


def _parse(row: dict[str, str]) -> Published:
    return Published(
        table=row["table"],
        family=row["family"],
        dimension=int(row["dimension"]) if row["dimension"] else None,
        setting=row["setting"],
        method=row["method"],
        metric=row["metric"],
        mean=float(row["mean"]),
        std=float(row["std"]) if row["std"] else None,
        unit=10.0 ** int(Decimal(row["mean"]).as_tuple().exponent),
    )
