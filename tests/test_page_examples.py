"""The examples of the pages on noise and on values alone end at the global minimum, whatever the seed."""

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parent.parent / "docs"
SEEDS = range(10)


def first_example(page, seed):
    """The names that the first Python block of a page leaves, with another seed for the run and for its noise."""
    code = re.search(r"```python\n(.*?)```", (DOCS / page).read_text(encoding="utf-8"), re.DOTALL)[1]
    assert "budget=400" in code
    code = code.replace("budget=400", f"budget=400, seed={seed}").replace("default_rng(0)", f"default_rng({seed})")
    names = {}
    exec(code, names)
    return names


@pytest.mark.parametrize("seed", SEEDS)
def test_noisy_gradients_end_at_the_global_minimum(seed):
    result = first_example("noisy_gradients.md", seed)["result"]
    assert result.fun < 0.01 and "it is wrong" not in result.message


@pytest.mark.parametrize("seed", SEEDS)
def test_values_alone_end_at_the_global_minimum(seed):
    assert first_example("value_only.md", seed)["result"].fun < 1e-6  # the next lowest minimum is above 8
