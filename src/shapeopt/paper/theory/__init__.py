"""The paper's statements, checked on real runs; only its pictures need matplotlib (the extra `report`)."""

from .study import Cell, Statement, Study, check_cell, make_cell

__all__ = ["Cell", "Statement", "Study", "check_cell", "make_cell"]
