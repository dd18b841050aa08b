"""Checks the built site: links within it lead somewhere, and no page is taller than ten screens or wider than one.

python docs/check_site.py [FOLDER OF THE SITE]

`dev.py docs` runs it after the build. Heights and widths are measured in the system's Chromium, where there is one.
"""

import shutil
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlparse

SITE = Path(__file__).parent / "_build" / "html"
SCREENS = 10
WIDTH, HEIGHT, PHONE = 1280, 900, 390  # of a screen, in pixels
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
FLAGS += ["--disable-sync", "--no-first-run"]


class Page(HTMLParser):
    """What a page links to, and the names that can be linked to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.names: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.names |= {name for name in (given.get("id"), given.get("name")) if name}
        link = given.get("src" if tag in ("img", "script") else "href")
        if link:
            self.links.append(link)


def pages(site: Path) -> list[Path]:
    return sorted(path for path in site.rglob("*.html") if not {"_static", "_modules"} & set(path.parts))


def broken_links(site: Path) -> Iterator[str]:
    """Links within the site to a file or to a place on a page that is not there."""
    known = {path.resolve(): Page(path.read_text(encoding="utf-8")) for path in pages(site)}
    for path, page in known.items():
        for link in page.links:
            target, place = urldefrag(link)
            if urlparse(link).scheme or link.startswith("//"):
                continue
            file = (path.parent / unquote(target.partition("?")[0])).resolve() if target else path
            if not file.exists():
                yield f"{path.relative_to(site.resolve())}: {link} is not there"
            elif place and file in known and unquote(place) not in known[file].names:
                yield f"{path.relative_to(site.resolve())}: {link} has no such place"


def misfits(site: Path, chromium: str) -> Iterator[str]:
    """Pages that are too tall, or that must be scrolled sideways on a desk or a phone."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=FLAGS)
        shown = browser.new_page()
        for path in pages(site):
            shown.set_viewport_size({"width": WIDTH, "height": HEIGHT})
            shown.goto(path.resolve().as_uri())
            screens = shown.evaluate("document.documentElement.scrollHeight") / HEIGHT
            if screens > SCREENS:
                yield f"{path.relative_to(site)}: {screens:.1f} screens tall"
            for width in (WIDTH, PHONE):
                shown.set_viewport_size({"width": width, "height": HEIGHT})
                wide = shown.evaluate("document.documentElement.scrollWidth")
                if wide > width:
                    yield f"{path.relative_to(site)}: {wide} pixels wide in a window of {width}"
        browser.close()


def main(site: Path = SITE) -> int:
    found = list(broken_links(site))
    chromium = shutil.which("chromium")
    if chromium is None:
        print("check_site.py: no Chromium here; heights and widths were not measured")
    else:
        found += misfits(site, chromium)
    print("\n".join(found) or f"check_site.py: {len(pages(site))} pages are fine")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(*map(Path, sys.argv[1:2])))
