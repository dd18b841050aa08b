"""A page about a run shows what was recorded, calls no user's function, and needs nothing from elsewhere."""

import dataclasses
import json
import re
from collections import Counter

import jax
import numpy as np
import pytest

import shapeopt
from shapeopt.report import ReportError, write_run_report
from shapeopt.report.rivals import rival_curves
from shapeopt.report.run_page import run_data
from shapeopt.report.view import Frame, evaluate, make_view

CALLS = 150  # of the run that the tests share
HOSTILE = "</script><img src=x onerror=alert(1)>"


def test_a_page_brings_all_that_it_needs(page):
    names = {path.name for path in page.parent.iterdir()}
    assert names == {"index.html", "plotly.min.js", "common.js", "run.js", "report.css"}
    ours = "".join((page.parent / name).read_text() for name in names - {"plotly.min.js"})
    assert not re.search(r"https?://|url\(|@import|fetch\(", ours)
    assert set(re.findall(r'(?:src|href)="([^"]+)"', page.read_text())) - {"data:,"} <= names


def test_nothing_that_a_page_shows_can_leave_its_place(plane, tmp_path, subject_of, data_of):
    task, x0, result = plane
    event = result.events[0] | {"cause": HOSTILE}
    wild = {**result, "message": HOSTILE, "events": [event, *result.events[1:]]}
    subject = dataclasses.replace(subject_of(task, x0), versions={HOSTILE: HOSTILE})
    subject = dataclasses.replace(subject, title=HOSTILE, settings={HOSTILE: HOSTILE})
    page = write_run_report(tmp_path / "wild", wild, subject, rivals=False)
    assert "<img" not in page.read_text()
    assert data_of(page)["title"] == HOSTILE


def test_readings_minima_and_best_values_are_those_of_the_run(plane, page, data_of):
    _, _, result = plane
    data = data_of(page)
    np.testing.assert_allclose(data["view"]["points"], result.trace.x, rtol=1e-4)
    np.testing.assert_allclose(data["best"], result.trace.best, rtol=1e-5)
    np.testing.assert_allclose([one["at"] for one in data["minima"]], [one.x for one in result.minima], rtol=1e-4)
    assert data["mode"] == list(result.trace.mode)
    names = [one["name"].removesuffix(", cut short") for one in data["rivals"]]
    assert names == ["basinhopping", "multistart", "dual_annealing"]
    assert all(one["calls"][-1] <= CALLS and one["best"][0] == data["best"][0] for one in data["rivals"])


def test_the_landscape_is_the_task_itself(plane, page, data_of):
    task, _, _ = plane
    grid = data_of(page)["view"]["grid"]
    x, y = np.meshgrid(grid["x"], grid["y"])
    values = evaluate(task, np.stack([x, y], axis=-1).reshape(-1, 2))
    np.testing.assert_allclose(np.ravel(grid["z"]), values, rtol=1e-2, atol=1e-2)


def test_every_reading_belongs_to_one_stage(plane, page, data_of):
    _, _, result = plane
    data = data_of(page)
    rows = [row for one in data["segments"] for row in range(one["first"], one["last"] + 1)]
    assert rows == list(range(len(result.trace.value)))
    modes = {row: one["mode"] for one in data["segments"] for row in range(one["first"], one["last"] + 1)}
    assert [modes[row] for row in rows] == list(result.trace.mode)


def test_the_account_of_energy_is_the_runs_own(plane, page, data_of):
    _, _, result = plane
    energy = data_of(page)["energy"]
    for term, values in energy.items():
        np.testing.assert_allclose(np.sum(values), result.energy[term].sum(), rtol=1e-4, atol=1e-6)
    parts = np.sum([values for term, values in energy.items() if term != "delta_H"], axis=0)
    scale = np.max(np.abs(list(energy.values())), axis=0)
    np.testing.assert_allclose(parts, energy["delta_H"], atol=1e-4 * scale.max())


def test_fields_that_a_page_does_not_know_do_not_disturb_it(plane, page, tmp_path, subject_of, data_of):
    task, x0, result = plane
    more = {**result, "energy": {**result.energy, "unheard_of": np.zeros(3)}, "monitor": object()}
    write_run_report(tmp_path / "more", more, subject_of(task, x0), rivals=False)
    shown, usual = data_of(tmp_path / "more" / "index.html"), data_of(page)
    assert shown["energy"] == usual["energy"] and shown["segments"] == usual["segments"]


def test_a_users_function_is_called_as_often_as_its_budget_says_and_no_more(tmp_path, data_of):
    calls = []

    def bumpy(x):
        calls.append(x)
        return float(np.sum((x - 1) ** 2) + np.sum(np.sin(5 * x)))

    result = shapeopt.minimize(bumpy, np.zeros(2), bounds=(-3, 3), budget=100, report=tmp_path / "mine")
    assert len(calls) == result.nfev <= 100
    data = data_of(tmp_path / "mine" / "index.html")
    assert data["view"]["source"] == "the readings alone" and data["minimum"] is None and data["rivals"] == []
    assert data["title"] == "bumpy, 2 dimensions"


def test_a_wrong_folder_is_refused_before_any_call(tmp_path):
    calls = []
    (tmp_path / "file").write_text("")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "precious.txt").write_text("")
    for name, words in (("file", "is a file"), ("full", "other files")):
        with pytest.raises(ReportError, match=words):
            shapeopt.minimize(calls.append, np.zeros(2), budget=10, report=tmp_path / name)
    assert calls == []


def test_a_cut_through_many_dimensions_keeps_what_lies_on_it_and_measures_what_does_not():
    rng = np.random.default_rng(0)
    lower, upper = -np.arange(1.0, 8.0), np.arange(2.0, 9.0)
    frame = Frame.of(lower, upper, np.zeros(7))
    minima, points = rng.uniform(lower, upper, (3, 7)), rng.uniform(lower, upper, (20, 7))
    view = make_view(frame, points, minima)
    np.testing.assert_allclose(view.axes @ view.axes.T, np.eye(2), atol=1e-12)
    shown, away = view.project(minima)
    np.testing.assert_allclose(shown[0], 0, atol=1e-12)
    np.testing.assert_allclose(away, 0, atol=1e-10)
    np.testing.assert_allclose(view.lift(shown), minima, atol=1e-10)
    shown, away = view.project(points)
    nearest = frame.inward(view.lift(shown))
    np.testing.assert_allclose(away, np.sum((frame.inward(points) - nearest) ** 2, axis=1))


@pytest.mark.parametrize("minima", [0, 1, 2])
def test_a_cut_is_found_however_few_minima_there_are(minima):
    points = np.random.default_rng(1).uniform(-1, 1, (9, 4))
    view = make_view(Frame.of(np.full(4, -np.inf), np.full(4, np.inf), np.zeros(4)), points, points[:minima])
    np.testing.assert_allclose(view.axes @ view.axes.T, np.eye(2), atol=1e-12)


@pytest.mark.grid(4)
@pytest.mark.parametrize(
    ("name", "dimension", "kind"),
    [
        ("lennard_jones", 18, "cluster"),
        ("navigation", 8, "path"),
        ("pendulum", 8, "motion"),
        ("phase_retrieval", 8, "signal"),
        ("multiwell", 1, None),
    ],
)
def test_a_scientific_point_is_shown_as_what_it_is(name, dimension, kind, drawn, subject_of):
    task, x0 = drawn(name, dimension)
    best = np.asarray(task.minimiser)
    one = {"x": best, "fun": float(task.minimum), "visits": 1}
    trace = {
        "value": np.array([1.0]),
        "best": np.array([1.0]),
        "calls": np.array([1]),
        "mode": ["refine"],
        "x": x0[None],
    }
    result = {"trace": trace, "events": [], "minima": [one], "energy": {}}
    scene = run_data(result, subject_of(task, x0), rivals=False)["scene"]
    assert (None if scene is None else scene["kind"]) == kind
    if kind == "cluster":
        assert len(scene["frames"][0]["atoms"]) == 6 and len(scene["frames"][0]["bonds"]) == 12  # an octahedron
    if kind == "signal":
        np.testing.assert_allclose(scene["frames"][0]["y"], scene["truth"])
    if kind == "path":
        path = np.array(scene["frames"][0]["path"])
        np.testing.assert_allclose(path[0], task.plant.x0, rtol=1e-4)
        np.testing.assert_allclose(np.diff(path, axis=0), task.plant.dt * best.reshape(-1, 2), atol=2e-4)


@pytest.mark.full
def test_a_report_of_500_calls_is_small(tmp_path, drawn, subject_of):
    task, x0 = drawn("ackley", 20)
    bounds = (np.asarray(task.box.lower), np.asarray(task.box.upper))
    result = shapeopt.minimize(task, x0, bounds=bounds, budget=500, stages=True)
    subject = dataclasses.replace(subject_of(task, x0), budget=500)
    page = write_run_report(tmp_path / "long", result, subject)
    assert sum(path.stat().st_size for path in page.parent.iterdir()) < 8e6


def test_a_swarm_and_a_tree_have_pages_too(tmp_path, data_of):
    def bowl(tree):
        return jax.numpy.sum(tree["a"] ** 2) + jax.numpy.sum((tree["b"] - 1) ** 2)

    start = {"a": np.ones((1, 1)), "b": np.zeros(1)}
    settings = {"bounds": (-3, 3), "budget": 60, "num_starts": 3}
    result = shapeopt.minimize(bowl, start, report=tmp_path / "tree", **settings)
    values = [x[0] ** 2 + (x[1] - 1) ** 2 for x in result.trace.x]
    np.testing.assert_allclose(values, result.trace.value, rtol=1e-9, atol=1e-12)
    data = data_of(tmp_path / "tree" / "index.html")
    assert data["particles"] == 3 and len(data["view"]["points"]) == len(data["calls"])
    rows = [row for one in data["segments"] for row in range(one["first"], one["last"] + 1, 3)]
    assert len(rows) == len(set(rows))


def test_a_rival_that_takes_too_long_is_cut_short(drawn):
    task, x0 = drawn("rastrigin", 2)
    (curve,) = rival_curves(task, x0, 100_000, 0, ("multistart",), seconds=0.05)
    assert curve["name"] == "multistart, cut short" and 1 < curve["calls"][-1] < 100_000


@pytest.mark.parametrize("value", [float("nan"), 1.0])
def test_a_run_that_learned_nothing_has_a_page_too(tmp_path, data_of, value):
    shapeopt.minimize(
        lambda x: (value, 0 * x), np.ones(2), bounds=(-2, 2), budget=5, jac=True, report=tmp_path / "flat"
    )
    data = data_of(tmp_path / "flat" / "index.html")
    assert len(data["calls"]) == 5 and (data["best"][-1] is None) == np.isnan(value)


def test_a_page_of_a_function_names_tactics_confidence_and_the_best_point_to_the_last_digit(tmp_path, data_of):
    def fun(x):
        z = x - 1.2345
        return float(np.sum(z**2 - 10 * np.cos(2 * np.pi * z) + 10)), 2 * z + 20 * np.pi * np.sin(2 * np.pi * z)

    folder = tmp_path / "page"
    result = shapeopt.minimize(fun, np.full(3, 3.3), bounds=(-5, 5), jac=True, budget=200, report=folder)
    text, data = (folder / "index.html").read_text(), data_of(folder / "index.html")
    shown = re.search(r'<code id="best">([^<]+)</code>', text)
    np.testing.assert_array_equal(json.loads(shown[1]), result.x)
    assert f"{result.confidence:.0%}" in text and "that no better basin is unseen" in text
    assert [(one["tactic"], one["phase"]) for one in data["segments"]] == [
        (event.tactic, event.phase) for event in result.events[: len(data["segments"])]
    ]
    assert data["minima"][0]["fun"] == result.minima[0].fun
    assert data["stages"] == [] and "What shaped each stage" not in text, "there is no landscape to draw them on"


def test_a_page_and_the_summary_count_the_same_basins(plane, page):
    from shapeopt.cli.summary import basins_left

    left = basins_left(plane[2].events)
    counts = dict(re.findall(r'data-cause="(\w+)">\w+ <span>(\d+)</span>', page.read_text()))
    assert {cause: int(times) for cause, times in counts.items()} == Counter(event.cause for event in left)
    assert f"<strong>{len(left)}</strong>" in page.read_text()
