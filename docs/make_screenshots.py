"""Photographs the interactive report for the documents: docs/images/report-*.png.

python docs/make_screenshots.py

Needs playwright and the system's Chromium.
"""

import shutil
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from shapeopt.cli import main as shapeopt

IMAGES = Path(__file__).parent / "images"
RUN = ["minimize", "rastrigin", "--dim", "2", "--budget", "300", "--quiet", "--report"]
CLUSTER = ["minimize", "lennard_jones", "--dim", "39", "--budget", "500", "--seed", "2", "--quiet", "--report"]
FLAGS = ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
STAGE = "D.segments.findIndex((one) => one.mode === 'refine' && one.last - one.first > 4 && one.call > 30)"


def photograph(browser: Browser, page: Path, name: str, width: int, scheme: str, act: str, place: str = "") -> None:
    """What the window shows after the script `act`, or the element `place`."""
    context = browser.new_context(viewport={"width": width, "height": 860}, color_scheme=scheme, offline=True)
    shown = context.new_page()
    shown.goto((page / "index.html").as_uri())
    shown.wait_for_timeout(1500)
    shown.evaluate(act)
    shown.wait_for_timeout(500)
    (shown.locator(place) if place else shown).screenshot(path=IMAGES / f"report-{name}.png")
    context.close()
    print(f"wrote report-{name}.png")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        run, cluster = Path(folder, "run"), Path(folder, "cluster")
        shapeopt([*RUN, str(run)])
        shapeopt([*CLUSTER, str(cluster)])
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        photograph(browser, run, "top", 1280, "light", f"chooseSegment({STAGE})")
        hide = "document.querySelector('.player').style.position = 'static'; chooseMinimum(1);"
        photograph(browser, run, "landscape", 1280, "light", hide + f"chooseSegment({STAGE})", "section:nth-of-type(2)")
        photograph(browser, run, "timeline", 1280, "dark", hide + f"chooseSegment({STAGE})", "section:nth-of-type(3)")
        photograph(browser, run, "stage", 1280, "light", hide + "chooseStage(3)", "section:nth-of-type(4)")
        photograph(browser, cluster, "cluster", 1280, "light", hide + "chooseMinimum(0)", "section:nth-of-type(6)")
        look = "byId('landscape').scrollIntoView({block: 'center'}); setRow(150)"
        photograph(browser, run, "phone", 390, "dark", look)
        browser.close()


if __name__ == "__main__":
    main()
