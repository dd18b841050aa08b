"""The example of a user's own family keeps running."""

import runpy
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "own_family.py"


@pytest.mark.full
def test_own_family_example_reports_a_misfit_that_vanishes_at_the_truth(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(EXAMPLE), run_name="__main__")
    line = capsys.readouterr().out
    assert line.startswith("mean misfit at the start") and "at the truth 0.000" in line
    assert float(line.split("start ")[1].split(",")[0]) > 0.1
