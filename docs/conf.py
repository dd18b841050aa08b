"""How Sphinx builds the site; `python3 dev.py docs` runs it."""

import importlib.util
import os
import sys
from pathlib import Path

import shapeopt

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS))

import site_pages  # noqa: E402  the pages that are made from the sources

site_pages.write(DOCS / "generated")

os.environ.setdefault("JAX_PLATFORMS", "cpu")  # what the notebooks' kernels inherit
absent = [
    name
    for name in ("ase", "lmfit", "nevergrad", "optimagic", "optuna", "pypesto", "sklearn", "torch")
    if importlib.util.find_spec(name) is None
]

project = "shapeopt"
author = "The shapeopt developers"
copyright = author
version = release = shapeopt.__version__
language = "en"

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["_build", "conf.py", "make_*.py", "check_site.py", "site_pages.py", "generated/*.md"]
nitpick_ignore_regex = [("py:.*", r"(?!shapeopt\b).*")]  # types of other libraries, whose pages are elsewhere

myst_enable_extensions = ["colon_fence", "deflist", "fieldlist"]
myst_heading_anchors = 3

nb_custom_formats = {".py": ["jupytext.reads", {"fmt": "py:percent"}]}
nb_execution_mode = "cache"
nb_execution_raise_on_error = True
nb_execution_timeout = 300
nb_execution_excludepatterns = ["examples/torch_*"] if "torch" in absent else []
nb_merge_streams = True

autodoc_mock_imports = absent
autodoc_typehints = "none"  # the text says what may be given
autodoc_member_order = "bysource"
highlight_language = "text"  # blocks without a language are commands
default_role = "code"  # docstrings have Markdown's backticks
napoleon_numpy_docstring = False
napoleon_use_ivar = True

html_theme = "furo"
html_title = "shapeopt"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_show_sphinx = False
html_copy_source = False
html_show_copyright = False


def show_code(app, what, name, obj, options, lines):
    """An indented paragraph of a docstring is code or a formula, and shown as it stands; so is an example."""
    if "Example:" in lines:
        after = lines.index("Example:") + 1
        lines[after:] = ["    ::", "", *(f"    {line}" if line.strip() else line for line in lines[after:])]
    for i in range(len(lines) - 1, 0, -1):
        if lines[i].startswith("    ") and not lines[i - 1].strip():
            before = next((line for line in reversed(lines[:i]) if line.strip()), "")
            if not before.startswith(" "):
                lines[i:i] = ["::", ""]


def setup(app):
    app.connect("autodoc-process-docstring", show_code, priority=400)  # before napoleon reads its sections
