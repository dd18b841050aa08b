"""The fast port-Hamiltonian layer: one step of the plant with its line of the ledger, and secant metrics."""

from .inverse import Limited
from .move import H_STEP, LEDGER_TERMS, Channels, Line, Move, Stepped, close, no_line, step

__all__ = ["H_STEP", "LEDGER_TERMS", "Channels", "Limited", "Line", "Move", "Stepped", "close", "no_line", "step"]
