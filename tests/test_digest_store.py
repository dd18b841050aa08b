"""Digests come back as they were kept, and nothing else is taken for them."""

import runpy
from pathlib import Path

import numpy as np
import pytest

from shapeopt.bench.digest import Digest
from shapeopt.bench.records import RecordError

MAKE = runpy.run_path(str(Path(__file__).parents[1] / "docs" / "make_results.py"))
load_digests, save_digests = MAKE["load_digests"], MAKE["save_digests"]


def some(method: str, tasks: int) -> Digest:
    values = {"best_gap": np.linspace(1e-12, 3.0, tasks), "hit_best": np.array([np.nan, np.inf, *np.ones(tasks - 2)])}
    cell = {"name": "ackley-2-near-500", "family": "ackley", "dimension": 2, "budget": 500}
    return Digest("near", cell, method, 7, values, 1e-12, 0.25, 0.5, {"jax": "1.0"})


def test_digests_come_back(tmp_path: Path):
    kept = [some("adam", 4), some("universal", 6)]
    save_digests(tmp_path / "deep" / "kept.safetensors", kept)
    back = load_digests(tmp_path / "deep" / "kept.safetensors")
    for one, other in zip(kept, back, strict=True):
        assert (one.protocol, one.cell, one.method, one.seed) == (other.protocol, other.cell, other.method, other.seed)
        assert (one.lowest, one.area, one.area_over_calls, one.versions) == (
            other.lowest,
            other.area,
            other.area_over_calls,
            other.versions,
        )
        assert list(one.values) == list(other.values)
        for name, values in one.values.items():
            np.testing.assert_allclose(other.values[name], values, rtol=1e-6)
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["kept.safetensors"], "no scratch is left"


@pytest.mark.parametrize(
    "damage", [lambda b: b[:100], lambda b: b"{}" + b[2:], lambda b: b.replace(b"digests-2", b"digests-9")]
)
def test_what_is_not_a_file_of_digests_is_refused(tmp_path: Path, damage):
    path = tmp_path / "kept.safetensors"
    save_digests(path, [some("adam", 4)])
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(RecordError, match=r"kept\.safetensors"):
        load_digests(path)
