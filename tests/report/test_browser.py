"""A page opens from disk in a browser without a network, answers to hands, and is legible on a desk and on a phone."""

import os
import shutil

import numpy as np
import pytest

from shapeopt.bench.protocols import PROTOCOLS
from shapeopt.report import write_run_report
from shapeopt.report.bench_page import write_bench_report

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed (Debian: apt-get install chromium)")

DESK, PHONE = 1280, 390
CELLS = PROTOCOLS["near"].cells[:3]
SMALLEST = 11  # pixels of the smallest text
DRAWN = "[...document.querySelectorAll('.chart')].every((one) => one.querySelector('.main-svg'))"
# Elements that hold text of their own, with its size and its contrast against the nearest background.
TEXTS = """() => {
  const bright = (colour) => {
    const linear = (v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    const [r, g, b] = colour.match(/[\\d.]+/g).map((v) => linear(v / 255));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (one) => {
    for (; one; one = one.parentElement) {
      const colour = getComputedStyle(one).backgroundColor;
      if (!colour.startsWith("rgba(0, 0, 0, 0")) return colour;
    }
    return "rgb(255, 255, 255)";
  };
  const speaks = (one) => [...one.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
  return [...document.querySelectorAll("body *:not(script):not(svg *)")]
    .filter((one) => speaks(one) && one.offsetParent)
    .map((one) => {
      const style = getComputedStyle(one);
      const [a, b] = [bright(style.color), bright(behind(one))].sort((x, y) => y - x);
      const text = one.textContent.trim().slice(0, 40);
      return { size: parseFloat(style.fontSize), contrast: (a + 0.05) / (b + 0.05), text };
    });
}"""


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as driver:
        flags = ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]  # WebGL without a card
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=flags)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def opened(browser):
    """open(page, width, scheme) -> a browser's page; at the end nothing may have gone wrong or asked for a network."""
    faults, contexts = [], []

    def watch(request):
        if not request.url.startswith(("file:", "data:", "blob:")):
            faults.append(f"asked for {request.url}")

    def open_page(path, width=DESK, scheme="light"):
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme, offline=True)
        contexts.append(context)
        page = context.new_page()
        page.on("request", watch)
        page.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.goto(path.as_uri())
        page.wait_for_function(DRAWN)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert faults == []


@pytest.fixture(scope="module")
def shown(opened, page):
    """The page about a run, on a desk."""
    return opened(page)


def place_of(page, uid):
    """Where the trace of that name stands on the landscape."""
    trace = f"document.getElementById('landscape').data.find((one) => one.uid === '{uid}')"
    return page.evaluate(f"(() => {{ const t = {trace}; return [...t.x].map((x, i) => [x, t.y[i]]); }})()")


def slide(page, row):
    page.evaluate(
        "(row) => { const s = document.getElementById('slider'); s.value = row; s.dispatchEvent(new Event('input')); }",
        row,
    )
    page.wait_for_function("(row) => chosen.row === row && !waiting", arg=row)


def test_the_slider_moves_the_point_along_the_run(plane, shown):
    _, _, result = plane
    for row in (0, 40, 120):
        slide(shown, row)
        np.testing.assert_allclose(place_of(shown, "now"), result.trace.x[row : row + 1], rtol=1e-4)
        assert f"call {result.trace.calls[row]} of" in shown.inner_text("#where")
        assert len(place_of(shown, "path")) == row + 1
        cursors = shown.evaluate(
            "['progress', 'timeline', 'energy'].map((id) => document.getElementById(id).layout.shapes[0].x0)"
        )
        assert cursors == [result.trace.calls[row]] * 3


def test_the_timeline_has_a_row_for_each_tactic_and_no_label_is_cut(plane, page, opened):
    phone = opened(page, PHONE)
    labels = phone.evaluate("[...document.querySelectorAll('#timeline .ytick text')].map((one) => one.textContent)")
    assert {event.tactic for event in plane[2].events} <= set(labels)
    sides = "[...document.querySelectorAll('.chart .ytick text')].map((one) => one.getBoundingClientRect().left)"
    assert min(phone.evaluate(sides)) >= 0
    titles = """[...document.querySelectorAll('.chart')].flatMap((chart) => {
        const room = chart.getBoundingClientRect();
        return [...chart.querySelectorAll('.ytitle, .xtitle')].map((one) => {
            const box = one.getBoundingClientRect();
            return [one.textContent, box.top - room.top, room.bottom - box.bottom, room.right - box.right]; }); })"""
    cut = [title for title, *room in phone.evaluate(titles) if min(room) < -0.5]
    assert cut == []
    lines = """[...document.querySelectorAll('#minima th')].map((one) => {
        const text = document.createRange(); text.selectNodeContents(one);
        return [one.textContent, new Set([...text.getClientRects()].map((box) => box.top)).size]; })"""
    assert [word for word, count in phone.evaluate(lines) if count > len(word.split())] == []


def test_the_best_point_can_be_copied(plane, shown):
    shown.click("#copy")
    shown.wait_for_function("document.getElementById('copy').textContent !== 'Copy'")
    assert shown.evaluate("getSelection().toString()").strip() == repr(plane[2].x.tolist())


def test_clicking_a_minimum_shows_it(plane, shown):
    _, _, result = plane
    shown.click("[data-minimum='2']")
    assert f"Minimum 3: value {result.minima[2].fun:.4}"[:20] in shown.inner_text("#minimum-told")
    np.testing.assert_allclose(place_of(shown, "chosen"), [result.minima[2].x], rtol=1e-4)
    assert "x = [" in shown.inner_text("#coordinates")
    shown.focus("[data-minimum='0']")
    shown.keyboard.press("Enter")
    np.testing.assert_allclose(place_of(shown, "chosen"), [result.minima[0].x], rtol=1e-4)


def test_clicking_a_stage_lights_up_its_readings(plane, shown):
    _, _, result = plane
    shown.locator("#timeline").scroll_into_view_if_needed()
    k = shown.evaluate("D.segments.findIndex((one) => one.mode === 'refine' && one.last - one.first > 3)")
    stage = shown.evaluate("(k) => D.segments[k]", k)
    spot = shown.evaluate(
        """(stage) => {
        const g = document.getElementById("timeline"), box = g.getBoundingClientRect(), full = g._fullLayout;
        return [box.x + full.xaxis._offset + full.xaxis.d2p((stage.after + stage.call) / 2),
                box.y + full.yaxis._offset + full.yaxis.d2p(stage.mode)]; }""",
        stage,
    )
    shown.mouse.click(*spot)
    shown.wait_for_function("chosen.segment !== null")
    assert shown.evaluate("chosen.segment") == k
    lit = result.trace.x[stage["first"] : stage["last"] + 1]
    np.testing.assert_allclose(place_of(shown, "stage"), lit, rtol=1e-4)
    assert "refine" in shown.inner_text("#told")


def test_the_stage_panel_names_the_tactic(plane, shown):
    _, _, result = plane
    names = [shown.evaluate("(k) => (chooseStage(k), byId('stage-name').textContent)", k) for k in (1, 2, 3)]
    tactics = {event.tactic for event in result.events}
    assert all(any(f": {tactic}" in name for tactic in tactics) for name in names), names


def test_the_shaped_landscape_is_the_true_one_and_what_the_stage_added(plane, shown):
    _, _, result = plane
    k = next(k for k, stage in enumerate(result.stages) if stage.kappa > 0)
    stage = result.stages[k]
    x = np.array([0.5, -2.0])
    added = shown.evaluate("([k, x]) => shaping(D.stages[k], x[0], x[1])", [k, x.tolist()])
    np.testing.assert_allclose(added, 0.5 * stage.kappa * np.sum(((x - stage.q_bar) / stage.scale) ** 2), rtol=1e-4)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [DESK, PHONE])
def test_text_is_legible_and_the_page_is_no_wider_than_the_window(page, opened, width, scheme):
    shown = opened(page, width, scheme)
    shown.click("[data-minimum='0']")
    assert shown.evaluate("document.documentElement.scrollWidth") <= width
    texts = shown.evaluate(TEXTS)
    assert len(texts) > 50
    assert [one for one in texts if one["size"] < SMALLEST or one["contrast"] < 4.5] == []
    sizes = shown.evaluate(
        "[...document.querySelectorAll('.chart svg text')].map((one) => parseFloat(getComputedStyle(one).fontSize))"
    )
    assert min(sizes) >= SMALLEST - 2  # exponents are smaller


def test_a_cluster_turns_in_space(tmp_path, opened, drawn, subject_of):
    task, x0 = drawn("lennard_jones", 18)
    trace = {
        "value": np.ones(2),
        "best": np.ones(2),
        "calls": np.arange(1, 3),
        "mode": ["refine"] * 2,
        "x": np.stack([x0, x0]),
    }
    minima = [
        {"x": np.asarray(task.minimiser), "fun": float(task.minimum), "visits": 1},
        {"x": x0, "fun": 9.0, "visits": 1},
    ]
    result = {
        "trace": trace,
        "events": [],
        "minima": minima,
        "energy": {},
        "x": np.asarray(task.minimiser),
        "fun": 1.0,
        "nfev": 2,
        "njev": 2,
        "message": "",
    }
    page = write_run_report(tmp_path / "cluster", result, subject_of(task, x0), rivals=False)
    shown = opened(page)
    assert shown.evaluate("document.getElementById('scene').data[1].type") == "scatter3d"
    shown.click("[data-minimum='1']")
    np.testing.assert_allclose(shown.evaluate("[...document.getElementById('scene').data[1].x]"), x0[::3], rtol=1e-3)


def test_a_comparison_opens_and_a_cell_can_be_chosen(tmp_path, opened, made):
    records = [made(name, cell.describe() | {"tasks": 5}, 0.2) for cell in CELLS for name in ("universal", "gd")]
    page = write_bench_report(tmp_path / "bench", records, "runs")
    for width in (DESK, PHONE):
        shown = opened(page, width)
        shown.click("[data-cell='2']")
        assert shown.evaluate("chosen.cell") == 2
        assert shown.locator("#ends tbody tr").count() == 2
        assert shown.evaluate("document.documentElement.scrollWidth") <= width
        shown.fill("#filter", "no such cell")
        assert shown.locator("#cells li:visible").count() == 0
