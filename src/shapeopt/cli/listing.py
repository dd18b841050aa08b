"""`shapeopt list`: what can be named on the command line."""

import dataclasses
import inspect
import itertools
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..core.extras import require
from ..terminal.environment import keep_compiled_code

WIDE = 110  # columns of a terminal that has room for what each family is
CITATION = re.compile(r",? ?\((?:eqs?|tab)\. [^)]*\)")
PROBED = range(1, 121)  # dimensions that are tried to learn which a family takes


@dataclass(frozen=True)
class List:
    """List the built-in families, the policies, and the methods, protocols and suites of comparisons."""

    json: bool = False
    """Print JSON."""

    def run(self) -> int:
        require("jax", "shapeopt list")
        keep_compiled_code()
        families, policies, methods, protocols = list_families(), list_policies(), list_methods(), list_protocols()
        suites = list_suites()
        if self.json:
            named = {"families": families, "policies": policies, "methods": methods, "protocols": protocols}
            named |= {"suites": suites}
            print(json.dumps(named, indent=1))
            return 0
        from rich.console import Console

        console = Console(highlight=False)
        wide = console.width >= WIDE
        columns = ("name", "dimensions", "options", "about")
        console.print(_table("Families", families, columns if wide else columns[:-1]), "")
        console.print(_table("Policies", _by_group(policies), ("name", "N", "about")), "")
        if wide:
            console.print(_table("Methods", methods, ("name", "kind", "about")), "")
        else:
            console.print(_table("Methods", _by_kind(methods), ("kind", "names")), "")
        console.print(_table("Protocols", protocols, ("name", "cells", "about")), "")
        console.print(_table("Suites", suites, ("name", "dev", "test", "extra", "about")))
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
    """One entry for each shipped policy, and for each of the paper's in a folder `weights`."""
    from ..optimizer import Optimizer
    from ..paper.find import stored
    from ..paper.policy import PaperPolicy
    from ..policies import POLICIES

    rows = [(name, Optimizer) for name in POLICIES] + [(name, PaperPolicy) for name in stored()]
    return [{"name": name, "about": _first_sentence(kind)} for name, kind in rows]


def list_methods() -> list[dict[str, Any]]:
    """One entry for each method that a comparison can name."""
    from ..baselines import BASELINES
    from ..paper import methods
    from ..peers import PEERS

    policies = {row["name"]: row["about"] for row in list_policies()}

    def about(name: str, kind: str) -> str:
        if kind == "peer":
            return _with_settings(PEERS[name])
        if name in methods.FITTED:
            one = methods.FITTED[name]
            less = f", {one.change.replace('_', ' ')}" if one.change else ""
            return f"The policy {one.kind}-FAMILY-N{one.ending} of the cell's family and dimension{less}"
        if name == methods.NEIGHBOUR.name:
            return "The policy tuned-FAMILY-N of the cell's family and the nearest other dimension"
        return policies[name] if kind == "policy" else _first_sentence(BASELINES[name].constructor)

    kinds = methods.list_methods().items()
    return [{"name": name, "kind": kind, "about": about(name, kind)} for name, kind in kinds]


def list_protocols() -> list[dict[str, Any]]:
    from .bench import all_protocols

    return [{"name": one.name, "cells": len(one.cells), "about": one.about} for one in all_protocols().values()]


def list_suites() -> list[dict[str, Any]]:
    """One entry for each suite, with the problems of its halves."""
    from ..bench.suites import SUITES

    counts = [{half: len(one.half(half)) for half in ("dev", "test")} for one in SUITES.values()]
    rows = zip(SUITES.values(), counts, strict=True)
    return [{"name": one.name, **count, "extra": one.extra, "about": one.about} for one, count in rows]


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


def _with_settings(peer: Any) -> str:
    """What a peer is, with the settings that differ from its class's own."""
    own = [field for field in dataclasses.fields(peer) if field.name != "name"]
    other = [field.name for field in own if getattr(peer, field.name) != field.default]
    values = [getattr(peer, name) for name in other]
    settings = ", ".join(f"{key} {getattr(value, 'name', value)}" for key, value in zip(other, values, strict=True))
    return _first_sentence(type(peer)) + (f" ({settings})" if settings else "")


def _by_group(policies: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Policies that differ in their dimension alone as one, with the dimensions."""
    from ..paper.find import grouped

    about = {row["name"]: row["about"] for row in policies}
    groups = grouped(about).items()
    return [
        {
            "name": name,
            "N": ", ".join(map(str, dimensions)) or "any",
            "about": about[name.replace("-N", f"-{dimensions[0]}") if dimensions else name],
        }
        for name, dimensions in groups
    ]


def _by_kind(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Names of each kind together, where there is no room for a line each."""
    kinds = dict.fromkeys(row["kind"] for row in rows)
    return [{"kind": kind, "names": [row["name"] for row in rows if row["kind"] == kind]} for kind in kinds]


def _first_sentence(documented: Any) -> str:
    text = " ".join((inspect.getdoc(documented) or "").split("\n\n")[0].split())
    text = CITATION.sub("", text)
    return text.partition(". ")[0].partition(";")[0].rstrip(".")


def _table(title: str, rows: list[dict[str, Any]], columns: tuple[str, ...]) -> Any:
    from rich.text import Text

    from .summary import make_table

    table = make_table(title)
    for column in columns:
        table.add_column(column, no_wrap=column == "name")
    for row in rows:
        cells = [row[column] for column in columns]
        table.add_row(*(Text(" ".join(cell) if isinstance(cell, list) else str(cell)) for cell in cells))
    return table
