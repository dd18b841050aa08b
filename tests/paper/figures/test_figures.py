"""The paper's figures show the numbers of their records, and each has a source and a command."""

import dataclasses
import typing

import jax
import numpy as np
import pytest

from shapeopt.bench.curves import Curves
from shapeopt.bench.records import Record, RecordError
from shapeopt.paper.commands.figures import Name
from shapeopt.paper.figures.counted import been_at, draw_minima, draw_science
from shapeopt.paper.figures.mechanism import draw_field, draw_shaped
from shapeopt.paper.figures.sheets import Sheet, load_sheet, save_sheet
from shapeopt.paper.figures.single_runs import field_sheet, routes_sheet, stages_sheet
from shapeopt.paper.figures.sources import FIGURE_PROTOCOLS, FIGURE_SHEETS
from shapeopt.paper.figures.table import FIGURES
from shapeopt.paper.figures.trajectories import draw_multiwell, draw_trajectories
from shapeopt.plots.style import NothingToDraw, looks, save

MINIMA, SCIENCE = (
    dataclasses.replace(FIGURE_PROTOCOLS[name].cells[0], tasks=1, starts=3) for name in ("minima", "science")
)


def counted(method, index):
    """A record whose runs were at the minima of `index`."""
    cell = dataclasses.replace(MINIMA, budget=index.shape[1])
    gap = np.ones(index.shape)
    ends = gap[:, 0]
    curves = Curves(gap, gap, gap, ends, ends, np.full(len(index), index.shape[1]), index.astype(np.int32), 1, 0.0, 0.0)
    return Record("figure-minima", cell.describe(), method, 0, curves, {})


def sheet(**more):
    """A landscape in two dimensions with a bowl at (1, -2)."""
    x, y = np.meshgrid(*[np.linspace(-5, 5, 21)] * 2)
    box = {
        "lower": np.full(2, -5.0),
        "upper": np.full(2, 5.0),
        "minimiser": np.array([1.0, -2.0]),
        "minimum": np.array(0.0),
    }
    return Sheet({}, box | {"landscape": (x - 1) ** 2 + (y + 2) ** 2} | more)


def routes(methods, dimension=2):
    base = (
        sheet()
        if dimension == 2
        else Sheet(
            {},
            {
                "lower": np.array([-5.0]),
                "upper": np.array([5.0]),
                "minimiser": np.array([1.0]),
                "minimum": np.array(-1.0),
                "landscape": np.linspace(-5, 5, 21) ** 2,
            },
        )
    )
    rng, parts = np.random.default_rng(0), {"start": np.zeros(dimension)}
    for method in methods:
        parts |= {f"{method}/points": rng.uniform(-5, 5, (9, dimension)), f"{method}/values": rng.uniform(0, 1, 9)}
        parts |= {f"{method}/calls": np.arange(1, 10)}
    return Sheet({"cell": {"family": "bowl", "budget": 9}, "methods": methods}, base.arrays | parts)


def test_every_figure_has_a_source_and_a_command():
    assert set(FIGURES) == {*FIGURE_PROTOCOLS, *FIGURE_SHEETS} == set(typing.get_args(Name))


def test_minima_are_counted_once_a_run():
    index = np.array([[-1, 2, 2, 0], [0, 0, -1, 0], [-1, -1, -1, 3]])
    first = been_at(counted("gd", index).curves)
    inf = np.inf
    np.testing.assert_array_equal(first, [[4, inf, 2, inf], [1, inf, inf, inf], [inf, inf, inf, 4]])
    counts, shares = draw_minima([counted("gd", index)]).axes
    np.testing.assert_allclose(counts.lines[0].get_ydata(), np.array([1, 2, 2, 4]) / 3)
    np.testing.assert_allclose(shares.lines[0].get_ydata(), np.array([2, 0, 1, 1]) / 3)


def test_records_without_minima_are_refused_by_name():
    with pytest.raises(NothingToDraw, match="count minima"):
        draw_minima([])


def test_science_curves_are_mean_distances_and_hits_so_far():
    cell = dataclasses.replace(SCIENCE, budget=4)
    distance = np.array([[1.0, 0.1, 3.0, 3.0], [np.nan, 2.0, 0.15, 2.0], [5.0, 5.0, 5.0, 0.2]])
    gap = np.ones((3, 4))
    curves = Curves(gap, gap, distance, gap[:, 0], gap[:, 0], np.full(3, 4), None, 1, 0.0, 0.0)
    above, below = draw_science([Record("paper-science", cell.describe(), "gd", 0, curves, {})]).axes
    np.testing.assert_allclose(above.lines[0].get_ydata(), [3.0, 7.1 / 3, 8.15 / 3, 5.2 / 3])
    np.testing.assert_allclose(below.lines[0].get_ydata(), np.array([0, 1, 2, 2]) / 3)  # below 0.2, not at it


def test_trajectories_are_drawn_as_they_were_run():
    methods = ["universal", "gd", "adam"]
    one = routes(methods)
    (axes,) = draw_trajectories([one]).axes
    lines = {line.get_color(): line for line in axes.lines if len(line.get_xdata()) > 1}
    for method, look in looks(methods).items():
        np.testing.assert_array_equal(np.transpose(lines[look.color].get_data()), one[f"{method}/points"])


def test_the_wells_show_places_and_best_gaps():
    one = routes(["universal", "gd"], 1)
    _, places, bests = draw_multiwell([one]).axes
    np.testing.assert_array_equal(places.lines[0].get_ydata(), one["universal/points"][:, 0])
    np.testing.assert_allclose(bests.lines[0].get_ydata(), np.minimum.accumulate(one["universal/values"]) + 1)


def test_figures_of_mechanism_have_a_panel_for_each_part(tmp_path):
    stages = {
        "points": np.zeros((9, 2)),
        "added": np.ones((2, 21, 21)),
        "anchors": np.ones((2, 2)),
        "rows": np.array([1, 4]),
    }
    shaped = draw_shaped([dataclasses.replace(sheet(**stages, modes=np.array([0, 2])), about={"calls": [3, 8]})])
    assert [axes.get_title() for axes in shaped.axes] == ["after 3 calls", "after 8 calls", "settle", "escape"]
    places = np.random.default_rng(0).uniform(-5, 5, (6, 2))
    forces = dict.fromkeys(("velocity", "descent", "anchor_force", "port_force", "sum"), places[::-1])
    drawn = [draw_field([sheet(places=places, anchor=np.zeros(2), **forces)]) for _ in "ab"]
    assert len(drawn[0].axes) == 5
    first, second = (save(figure, tmp_path / f"{i}.pdf").read_bytes() for i, figure in enumerate(drawn))
    assert first == second and first.startswith(b"%PDF")


def test_a_sheet_comes_back_as_it_was_and_a_damaged_one_is_refused(tmp_path):
    path = save_sheet(tmp_path / "folder" / "one.safetensors", sheet(more=np.arange(3)))
    back = load_sheet(path)
    assert set(back.arrays) == {*sheet().arrays, "more"} and back["more"].tolist() == [0, 1, 2]
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    with pytest.raises(RecordError, match="damaged"):
        load_sheet(path)


def test_routes_begin_at_one_start_and_hold_what_was_read():
    cell = dataclasses.replace(MINIMA, budget=12)
    one = routes_sheet(cell, ("gd", "multistart"))
    for method in ("gd", "multistart"):
        np.testing.assert_allclose(one[f"{method}/points"][0], one["start"], atol=1e-12)
        assert one[f"{method}/calls"][-1] <= 12
    np.testing.assert_allclose(one["gd/values"][0], one["multistart/values"][0])


@pytest.mark.full
def test_forces_of_a_stage_are_those_of_its_equations():
    cell = next(iter(FIGURE_SHEETS["field"].values())).args[0]
    one = field_sheet(cell, 8)
    np.testing.assert_allclose(one["sum"], one["anchor_force"] + one["port_force"])
    offsets = one["anchor"] - one["places"]
    turn = offsets[:, 0] * one["anchor_force"][:, 1] - offsets[:, 1] * one["anchor_force"][:, 0]
    np.testing.assert_allclose(turn, 0, atol=1e-9 * np.abs(one["anchor_force"]).max())
    assert np.all(np.sum(offsets * one["anchor_force"], axis=1) >= 0)
    assert np.linalg.norm(one["port_force"]) > 0 and np.isfinite(one["velocity"]).all()
    stages = stages_sheet(dataclasses.replace(cell, budget=8), (3, 7))
    assert stages["added"].shape == (2, *stages["landscape"].shape) and stages["added"].min() >= 0
    for added, anchor in zip(stages["added"], stages["anchors"], strict=True):
        low = np.array(np.unravel_index(added.argmin(), added.shape))[::-1]
        np.testing.assert_allclose(
            low * 10 / 160 - 5, np.clip(anchor, -5, 5), atol=0.3
        )  # no memory yet: the anchor alone


def test_keys_of_routes_are_those_of_comparisons():
    with jax.enable_x64(True):
        one = routes_sheet(dataclasses.replace(MINIMA, budget=2), ("gd",), seed=3)
        other = routes_sheet(dataclasses.replace(MINIMA, budget=3), ("gd",), seed=3)
    np.testing.assert_array_equal(one["start"], other["start"])
