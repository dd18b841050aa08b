"""The declared mechanisms are the paper's summary (tab. summary:short)."""

import pytest

from shapeopt.baselines import BASELINES
from shapeopt.paper.mechanisms import MECHANISMS, Mechanisms, Presence

SIGNS = {Presence.PRESENT: "+", Presence.ABSENT: "-", Presence.IMPLICIT: "o"}

# Columns: Mom., Aux., Prec., H_shp, Port, Diff., extra gradients (a star: auxiliary statistics but no reading).
PAPER = """
Heavy-ball + - - - - - 0
NAG + - - - - - 0
AdaGrad - + + - - - 0
RMSProp - + + - - - 0
Adam - + + - - - 0
AdamW - + + - - - 0
SGHMC + - o - - + 0
Lookahead - + - - o - 0
SAM - - - + - - 1
Shampoo - + + - - - 0
SOAP - + + - - - 0*
Sophia - + + - - - 0*
Lion o + o - - - 0
Muon o + + - - - 0*
"""


def line(title, row):
    columns = (row.momentum, row.auxiliary, row.preconditioner, row.shaped_energy, row.port, row.diffusion)
    extra = f"{row.extra_gradients}{'*' * row.auxiliary_statistics}"
    return " ".join([title, *(SIGNS[presence] for presence in columns), extra])


def test_the_table_made_from_the_declarations_is_the_papers():
    made = [line(row.title, MECHANISMS[name]) for name, row in BASELINES.items() if MECHANISMS[name].in_paper]
    assert made == PAPER.split("\n")[1:-1]


def test_methods_that_the_papers_table_lacks_say_so():
    ours = {name for name, row in MECHANISMS.items() if not row.in_paper}
    assert ours == {"gd", "adadelta", "lionk", "basin_hopping", "cem"}


def test_every_baseline_has_a_row():
    assert list(MECHANISMS) == list(BASELINES)


def test_a_negative_count_is_refused():
    with pytest.raises(ValueError, match="`extra_gradients` must not be negative; got -1"):
        Mechanisms(extra_gradients=-1)
