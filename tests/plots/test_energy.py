"""The picture of the ledger: one line a term that did something, closing to H."""

import jax.numpy as jnp
import numpy as np
import pytest

import shapeopt
from shapeopt.plots import draw_energy
from shapeopt.plots.style import NothingToDraw, save


def bumpy(x):
    return jnp.sum(x * x + jnp.cos(5.0 * x)) + x[0] * x[1]


def test_the_lines_are_the_summed_terms_and_close_to_the_change_of_energy(tmp_path):
    result = shapeopt.minimize(bumpy, np.array([3.3, -2.1]), bounds=(-5, 5), budget=40)
    figure = draw_energy(result.energy, result.trace.calls, result.events)
    lines = [line.get_ydata() for line in figure.axes[0].lines]
    terms = [term for term in result.energy if term != "delta_H" and np.any(result.energy[term])]
    assert len(terms) > 2 and len(lines) == len(terms) + 2 + len(result.events)
    for term, line in zip(terms, lines, strict=False):
        np.testing.assert_array_equal(line, np.cumsum(result.energy[term]))
    change, total = lines[len(terms)], lines[len(terms) + 1]
    np.testing.assert_allclose(total, change, atol=1e-9 * np.max(np.abs(change)))
    np.testing.assert_array_equal(change, np.cumsum(result.energy.delta_H))
    assert save(figure, tmp_path / "energy.svg").stat().st_size > 5_000


def test_a_run_that_read_nothing_has_no_picture():
    with pytest.raises(NothingToDraw, match="energy"):
        draw_energy({}, [])
