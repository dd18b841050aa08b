"""A page about comparisons shows every record's medians, and a large folder is soon written."""

import dataclasses

import numpy as np
import pytest

from shapeopt.bench.protocols import PROTOCOLS
from shapeopt.report import ReportError
from shapeopt.report.bench_page import FLOOR, write_bench_report

CELLS = [cell for cell in PROTOCOLS["box"].cells if cell.budget == 100]


def test_curves_are_the_medians_of_the_records(tmp_path, made, data_of):
    cells = [dataclasses.replace(cell, tasks=5).describe() for cell in CELLS[:2]]
    records = [made(name, cell, rate) for cell in cells for name, rate in (("gd", 0.1), ("universal", 0.5))]
    page = write_bench_report(tmp_path / "page", records, "runs & more")
    assert "runs &amp; more" in page.read_text()
    data = data_of(page)
    assert data["methods"] == ["universal", "gd"]
    for cell in data["cells"]:
        calls = np.array(cell["calls"])
        assert (calls[0], calls[-1]) == (1, 100)
        for one, rate in zip(cell["methods"], (0.5, 0.1), strict=True):
            np.testing.assert_allclose(one["gap"], np.maximum(3 * np.exp(-rate * (calls - 1)), FLOOR), rtol=1e-3)
            assert all(np.diff(one["targets"]) >= 0)


def test_no_records_make_no_page(tmp_path):
    with pytest.raises(ReportError, match="got none"):
        write_bench_report(tmp_path / "page", [], "nothing")


def test_two_hundred_cells_make_a_small_page(tmp_path, made, data_of):
    base = dataclasses.replace(CELLS[0], tasks=5).describe()
    records = (
        made(method, base | {"name": f"{base['name']}-{i}"}, 0.1) for i in range(200) for method in ("universal", "gd")
    )
    page = write_bench_report(tmp_path / "page", records, "many")
    assert len(data_of(page)["cells"]) == 200
    assert sum(path.stat().st_size for path in page.parent.iterdir()) < 20e6
