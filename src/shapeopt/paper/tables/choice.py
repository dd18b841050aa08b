"""The digests that a table of the paper is made of, those that it lacks, and the words of its verdicts."""

from collections.abc import Iterable, Sequence

from ...bench.digest import QUICK, Digest
from ...bench.statistics import Verdict

VERDICTS = {Verdict.WORSE: "worse", Verdict.BETTER: "better", Verdict.TIE: "not told apart"}  # in a table's words


def of_protocol(found: Iterable[Digest], name: str) -> list[Digest]:
    """Those of a protocol; of its quick form where there are no others."""
    found = list(found)
    whole = [one for one in found if one.protocol == name]
    return whole or [one for one in found if one.protocol == name + QUICK]


def lacking(found: Iterable[Digest], places: Sequence[str], methods: Sequence[str]) -> str:
    """A note that names what of methods × cells has no record; "" if nothing lacks."""
    there = {(one.place, one.method) for one in found}
    parts = []
    for method in methods:
        absent = [place for place in places if (place, method) not in there]
        if absent:
            parts.append(f"{method} ({'every cell' if len(absent) == len(places) else ', '.join(absent)})")
    return f"Records missing: {'; '.join(parts)}." if parts else ""
