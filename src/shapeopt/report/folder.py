"""The folder of a report: one page, its scripts and styles, and plotly's own script beside them."""

import json
import math
import os
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parent / "page"
INDEX = "index.html"
PLOTLY = "plotly.min.js"


class ReportError(ValueError):
    """A report that can't be written, or a file that none can be made of."""


def check_folder(folder: str | os.PathLike[str]) -> Path:
    """Refuse, before anything is spent, a place where no report can be written. Returns the path."""
    missing = [name for name in ("plotly", "jinja2") if find_spec(name) is None]
    if missing:
        raise ReportError(f"`report` needs {' and '.join(missing)}; install shapeopt[report].")
    path = Path(folder)
    if path.exists() and not path.is_dir():
        raise ReportError(f"`report` must name a folder; {str(path)!r} is a file.")
    if path.is_dir() and any(path.iterdir()) and not (path / INDEX).is_file():
        raise ReportError(f"`report` must name an empty folder or an earlier report; {str(path)!r} holds other files.")
    there = next(parent for parent in (path, *path.absolute().parents) if parent.exists())
    if not os.access(there, os.W_OK):
        raise ReportError(f"`report` must name a folder that can be written to; {str(path)!r} can't.")
    return path


def write_page(folder: Path, template: str, script: str, title: str, words: Mapping[str, Any], data: Any) -> Path:
    """The page of `template`, with `data` for its `script`; returns the path of the page."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from plotly.offline import get_plotlyjs

    environment = Environment(
        loader=FileSystemLoader(PAGE),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    page = environment.get_template(template).render(title=title, script=script, data=script_safe(data), **words)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / PLOTLY).write_text(get_plotlyjs(), encoding="utf-8")
    for name in ("report.css", "common.js", script):
        (folder / name).write_text((PAGE / name).read_text(encoding="utf-8"), encoding="utf-8")
    (folder / INDEX).write_text(page, encoding="utf-8")
    return folder / INDEX


def script_safe(data: Any) -> str:
    """`data` as JSON that can stand inside a page: nothing in it ends the element that holds it."""
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


def numbers(values: Any, digits: int = 6) -> Any:
    """Arrays of any shape as lists of numbers with so many digits; None where a number is not finite."""
    if hasattr(values, "tolist"):
        values = values.tolist()
    if isinstance(values, list | tuple):
        return [numbers(value, digits) for value in values]
    if values is None or not math.isfinite(values):
        return None
    return values if isinstance(values, int) else float(f"{values:.{digits}g}")
