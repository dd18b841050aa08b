"""The paper's statements, checked on real runs; only its pictures need matplotlib (the extra `report`)."""

from .study import Cell, Statement, Study, make_cell, study

__all__ = ["Cell", "Statement", "Study", "make_cell", "study"]
