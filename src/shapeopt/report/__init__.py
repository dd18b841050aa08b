"""Pages about runs and comparisons that open offline in a browser; needs plotly and jinja2 (the extra `report`).

A page shows what was recorded. It evaluates a task of a built-in family to draw its landscape; it never calls a user's
function.
"""

from .folder import ReportError, check_folder
from .run_page import Subject, write_run_report

__all__ = ["ReportError", "Subject", "check_folder", "write_run_report"]
