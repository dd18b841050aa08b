"""`shapeopt list`: what can be named on the command line."""

import inspect
import itertools
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .environment import keep_compiled_code

WIDE = 110  # columns of a terminal that has room for what each family is
PROBED = range(1, 121)  # dimensions that are tried to learn which a family takes


@dataclass(frozen=True)
class List:
    """List the built-in families and the shipped policies."""

    json: bool = False
    """Print JSON."""

    def run(self) -> int:
        keep_compiled_code()
        families, policies = list_families(), list_policies()
        if self.json:
            print(json.dumps({"families": families, "policies": policies}, indent=1))
            return 0
        from rich.console import Console

        console = Console(highlight=False)
        columns = ("name", "dimensions", "options", "about")
        console.print(_table("Families", families, columns if console.width >= WIDE else columns[:-1]), "")
        console.print(_table("Policies", policies, ("name", "about")))
        return 0


def list_families() -> list[dict[str, Any]]:
    """One entry for each row of the table of families."""
    from ..tasks import FAMILIES

    return [
        {
            "name": name,
            "dimensions": dimensions(constructor),
            "options": [flag for flag in ("rotated", "varied") if flag in inspect.signature(constructor).parameters],
            "about": _about(constructor),
        }
        for name, constructor in FAMILIES.items()
    ]


def list_policies() -> list[dict[str, Any]]:
    from ..policy import find_policy
    from ..policy.find import SHIPPED

    return [{"name": name, "about": _first_sentence(type(find_policy(name)))} for name in SHIPPED]


def dimensions(constructor: Callable[..., Any]) -> str:
    """Which dimensions a family takes, in words, learned by trying."""
    taken = [d for d in PROBED if _takes(constructor, d)]
    steps = {after - before for before, after in itertools.pairwise(taken)}
    if len(taken) > 2 and len(steps) == 1:
        step = steps.pop()
        return f"{taken[0]} or more" if step == 1 else f"multiples of {step}"
    return ", ".join(map(str, taken))


def _takes(constructor: Callable[..., Any], dimension: int) -> bool:
    try:
        constructor(dimension=dimension)
    except ValueError:
        return False
    return True


def _about(constructor: Any) -> str:
    """What a family is; for one made from a wider one, also the settings that make it."""
    fixed = getattr(constructor, "keywords", {})
    settings = ", ".join(
        f"{name} {getattr(value, '__name__', getattr(value, 'value', value))}" for name, value in fixed.items()
    )
    about = _first_sentence(getattr(constructor, "func", constructor))
    return f"{about} ({settings})" if settings else about


def _first_sentence(documented: Any) -> str:
    text = " ".join((inspect.getdoc(documented) or "").split("\n\n")[0].split())
    return text.partition(". ")[0].partition(";")[0].rstrip(".")


def _table(title: str, rows: list[dict[str, Any]], columns: tuple[str, ...]) -> Any:
    from rich.text import Text

    from .summary import make_table

    table = make_table(title)
    for column in columns:
        table.add_column(column, no_wrap=column == "name")
    for row in rows:
        cells = [row[column] for column in columns]
        table.add_row(*(Text(" ".join(cell) if isinstance(cell, list) else cell) for cell in cells))
    return table
