"""Pictures show the numbers of the records, all of them, within the figure, and in ways that can be told apart."""

import dataclasses
import itertools

import numpy as np
import pytest

from shapeopt.bench.curves import Curves
from shapeopt.bench.methods import list_methods
from shapeopt.bench.profiles import Targets, data_profile, ecdf, performance_profile
from shapeopt.bench.protocols import PROTOCOLS
from shapeopt.bench.records import Record
from shapeopt.plots import (
    PICTURES,
    draw_budget,
    draw_data_profile,
    draw_ecdf,
    draw_performance_profile,
    draw_progress,
)
from shapeopt.plots.cells import cells_of
from shapeopt.plots.profile import GROUPS, RATIOS, TAU
from shapeopt.plots.progress import FLOOR
from shapeopt.plots.style import METADATA, NothingToDraw, looks, save

NAMED = {cell.name: dataclasses.replace(cell, tasks=4) for cell in PROTOCOLS["box"].cells}
SHORT, LONG, WIDE = NAMED["levy-2-box-100"], NAMED["levy-2-box-500"], NAMED["ackley-20-box-100"]


def made(method, cell, rate, seed=0):
    """Four runs whose gap falls by exp(-rate) a call."""
    spread = np.random.default_rng(seed).uniform(0.5, 1.5, (4, 1))
    gap = 50 * np.exp(-rate * spread * np.arange(cell.budget))
    curves = Curves(gap, gap, gap, gap[:, -1], gap[:, -1], np.full(4, cell.budget), None, 4, 0.0, 0.0)
    return Record("box", cell.describe(), method, 0, curves, {})


def records():
    return [made(name, cell, rate) for cell in (WIDE, SHORT, LONG) for name, rate in (("universal", 0.1), ("gd", 0.02))]


def drawn(axes):
    """Lines by colour."""
    return {line.get_color(): line for line in axes.lines}


UNIVERSAL, GD = (look.color for look in looks(["universal", "gd"]).values())


def test_the_ecdf_has_a_panel_a_budget_and_pools_its_cells():
    figure = draw_ecdf(records())
    short, long = figure.axes
    assert (short.get_title(), long.get_title()) == ("100 calls, 2 cells", "500 calls, 1 cell")
    parts = [ecdf(record.curves, Targets()) for record in records() if record.method == "gd"]
    np.testing.assert_allclose(drawn(short)[GD].get_ydata(), np.mean(parts[:2], axis=0))
    np.testing.assert_allclose(drawn(long)[GD].get_ydata(), parts[2])
    np.testing.assert_array_equal(drawn(long)[GD].get_xdata(), np.arange(1, 501))


def test_a_method_that_lacks_a_cell_is_not_compared_on_the_others():
    more = sorted([*records(), made("adam", SHORT, 0.1)], key=lambda record: record.cell["name"])
    figure = draw_ecdf(more)
    assert all(len(axes.lines) == 2 for axes in figure.axes)
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["universal", "gd", "adam lacks cells"]
    assert [text.get_text() for text in draw_data_profile(more).legends[0].get_texts()][-1] == "adam lacks cells"


@pytest.mark.parametrize(
    ("draw", "x", "profile"),
    [
        (draw_data_profile, GROUPS, lambda cell, curves: data_profile(curves, cell["dimension"], TAU, GROUPS)),
        (draw_performance_profile, RATIOS, lambda cell, curves: performance_profile(curves, TAU, RATIOS)),
    ],
)
def test_profiles_are_shares_over_the_runs_of_all_cells(draw, x, profile):
    (axes,) = draw(records()).axes
    shares = [profile(one.cell, one.curves)["gd"] for one in cells_of(records())]
    np.testing.assert_array_equal(drawn(axes)[GD].get_xdata(), x)
    np.testing.assert_allclose(drawn(axes)[GD].get_ydata(), np.mean(shares, axis=0))
    low, high = axes.get_xlim()
    assert low <= x[np.mean(shares, axis=0) > 0][0] and np.mean(shares, axis=0)[x <= high][-1] > 0


def test_progress_is_the_median_with_quartiles_one_panel_a_cell():
    figure = draw_progress(records())
    titles = [axes.get_title() for axes in figure.axes]
    assert titles == ["ackley 20\nbox, 100 calls", "levy 2\nbox, 100 calls", "levy 2\nbox, 500 calls"]
    line = drawn(figure.axes[2])[GD]
    gap = next(record.curves.best_gap for record in records() if record.method == "gd" and record.cell["budget"] == 500)
    calls = line.get_xdata()
    np.testing.assert_allclose(line.get_ydata(), np.maximum(np.median(gap, axis=0)[calls - 1], FLOOR))
    band = figure.axes[2].collections[1].get_paths()[0].vertices
    at_first = band[band[:, 0] == 1, 1]
    np.testing.assert_allclose([at_first.min(), at_first.max()], np.quantile(gap[:, 0], [0.25, 0.75]))


def test_what_is_not_finite_is_not_drawn_and_the_rest_is():
    one = made("gd", SHORT, 0.02)
    best = one.curves.best_gap.copy()
    best[:, :10] = np.inf
    broken = dataclasses.replace(one, curves=dataclasses.replace(one.curves, best_gap=best))
    (axes,) = draw_progress([broken]).axes
    y, calls = axes.lines[0].get_ydata(), axes.lines[0].get_xdata()
    assert np.isnan(y[calls <= 10]).all() and np.isfinite(y[calls > 10]).all()


def test_dimensions_share_a_row_and_budgets_do_not():
    cells = [cell for cell in PROTOCOLS["box"].cells if cell.family.name == "levy" and cell.budget < 2000]
    found = [made("gd", dataclasses.replace(cell, tasks=4), 0.02) for cell in cells]
    figure = draw_progress(found)
    grid = [axes.get_subplotspec() for axes in figure.axes]
    assert [(spec.rowspan.start, spec.colspan.start) for spec in grid] == [
        (row, col) for row in (0, 1) for col in range(4)
    ]
    assert figure.axes[5].get_title() == "levy 20\nbox, 500 calls"


def test_the_picture_of_budgets_has_the_ends_of_runs_that_were_told_them():
    (axes,) = draw_budget(records()).axes  # ackley 20 has one budget and is left out
    assert axes.get_title() == "levy 2, box"
    ends = [np.median(r.curves.best_gap[:, -1]) for r in records() if r.method == "gd" and r.cell["family"] == "levy"]
    np.testing.assert_array_equal(drawn(axes)[GD].get_xdata(), [100, 500])
    np.testing.assert_allclose(drawn(axes)[GD].get_ydata(), np.maximum(ends, FLOOR))
    with pytest.raises(NothingToDraw, match="cells that differ in their budget alone; got none"):
        draw_budget(records()[:4])


@pytest.mark.parametrize("kind", PICTURES)
def test_nothing_is_drawn_outside_the_figure(kind):
    methods = list(PROTOCOLS["box"].methods)
    found = [made(name, cell, 0.01 * (i + 1), i) for cell in (WIDE, SHORT, LONG) for i, name in enumerate(methods)]
    figure = PICTURES[kind].draw(found)
    figure.draw_without_rendering()
    box, (width, height) = figure.get_tightbbox(), figure.get_size_inches()
    assert box.x0 >= 0 and box.y0 >= 0 and box.x1 <= width and box.y1 <= height
    assert box.width > 0.85 * width and box.height > 0.85 * height


@pytest.mark.parametrize("ending", METADATA)
def test_the_same_records_give_the_same_bytes(ending, tmp_path):
    first, again = (save(draw_ecdf(records()), tmp_path / f"{i}{ending}").read_bytes() for i in range(2))
    assert first == again and len(first) > 1000


def test_an_ending_that_no_picture_has_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"`path` must end in one of .png, .pdf, .svg; got 'x.gif'"):
        save(draw_ecdf(records()), tmp_path / "x.gif")


def test_no_records_are_nothing_to_draw():
    for picture in PICTURES.values():
        with pytest.raises(NothingToDraw, match="`records` must have"):
            picture.draw([])


def test_records_that_do_not_come_cell_by_cell_are_refused():
    one, other = made("gd", SHORT, 0.1), made("gd", WIDE, 0.1)
    with pytest.raises(ValueError, match="`records` must come cell by cell; got levy-2-box-100 in two places"):
        list(cells_of([one, other, one]))


def test_thirty_methods_differ_in_colour_or_dashes_and_the_first_stands_out():
    names = list(list_methods())[:31]
    made_looks = looks(names)
    assert len({(look.color, str(look.linestyle)) for look in made_looks.values()}) == 31
    first, second = list(made_looks.values())[:2]
    assert next(iter(made_looks)) == "universal" and first.linewidth > second.linewidth
    assert [look.color for look in made_looks.values()].count(first.color) == 1
    neighbours = list(made_looks.values())
    assert all(a.color != b.color for a, b in itertools.pairwise(neighbours))


def test_only_few_methods_show_all_their_quartiles():
    few = draw_progress([made(name, SHORT, 0.05) for name in ("universal", "gd", "nag", "adam")])
    many = draw_progress([made(name, SHORT, 0.05) for name in ("universal", "gd", "nag", "adam", "cma")])
    assert (len(few.axes[0].collections), len(many.axes[0].collections)) == (4, 1)
    assert many.legends[0].get_texts()[-1].get_text() == "band: quartiles of universal"
