"""The settings are the paper's figures, and what is derived from them is derived as documented."""

import pytest

from shapeopt.baselines import AdaDelta, Adam, BasinHopping, CrossEntropy, make_baseline

FAMILIES = ("ackley", "rastrigin", "levy", "multiwell", "lennard_jones", "phase_retrieval")  # the last has no row

# The three tables of the paper, a line a family in the order above.
PAPER = {
    "gd": ("lr", "0.030  0.012  0.018  0.014  0.0025  0.020"),
    "momentum": ("lr beta", "0.028 0.72  0.011 0.65  0.016 0.68  0.012 0.72  0.0020 0.65  0.018 0.75"),
    "nag": ("lr beta", "0.026 0.82  0.010 0.78  0.015 0.80  0.011 0.80  0.0018 0.75  0.016 0.82"),
    "rmsprop": ("lr alpha", "0.020 0.99  0.010 0.99  0.013 0.99  0.010 0.99  0.0015 0.99  0.012 0.99"),
    "adam": (
        "lr beta1 beta2",
        "0.025 0.9 0.999  0.012 0.9 0.999  0.016 0.9 0.999  0.012 0.9 0.999  0.0020 0.9 0.999  0.015 0.9 0.999",
    ),
    "lionk": (
        "lr beta1 beta2 kick_period kick_scale",
        "0.010 0.9 0.99 5 1.15  0.006 0.9 0.99 5 1.10  0.008 0.9 0.99 5 1.10"
        "  0.006 0.9 0.99 5 1.10  0.0015 0.9 0.99 4 1.05  0.008 0.9 0.99 5 1.10",
    ),
    "shampoo": ("lr", "0.020  0.010  0.013  0.010  0.0015  0.012"),
    "soap": (
        "lr beta nu",
        "0.012 0.95 0.99  0.008 0.95 0.99  0.010 0.95 0.99  0.008 0.95 0.99  0.0018 0.95 0.99  0.010 0.95 0.99",
    ),
    "sophia": (
        "lr beta1 beta2 rho",
        "0.030 0.965 0.99 0.030  0.012 0.965 0.99 0.025  0.016 0.965 0.99 0.030"
        "  0.012 0.965 0.99 0.025  0.0020 0.965 0.99 0.020  0.016 0.965 0.99 0.030",
    ),
}


@pytest.mark.parametrize("name", PAPER)
@pytest.mark.parametrize("family", FAMILIES)
def test_settings_are_the_papers(name, family):
    fields, lines = PAPER[name]
    expected = [float(figure) for figure in lines.split("  ")[FAMILIES.index(family)].split()]
    optimizer = make_baseline(name, family)
    assert [getattr(optimizer, field) for field in fields.split()] == expected


@pytest.mark.parametrize("name", ["rmsprop", "adam", "shampoo", "soap", "sophia"])
def test_the_stabiliser_is_the_papers(name):
    assert make_baseline(name, "levy").eps == 1e-8


def test_a_double_well_is_a_multi_well_and_unknown_families_fall_back():
    assert make_baseline("nag", "double_well") == make_baseline("nag", "multiwell") != make_baseline("nag", "levy")
    assert make_baseline("nag", "pendulum") == make_baseline("nag", "mine") != make_baseline("nag", "multiwell")


@pytest.mark.parametrize("family", FAMILIES)
def test_methods_without_a_row_take_the_rates_of_their_sibling(family):
    """Each with the defaults that its docstring names."""
    adam, gd = make_baseline("adam", family), make_baseline("gd", family)
    rmsprop, lionk = make_baseline("rmsprop", family), make_baseline("lionk", family)
    momentum, sghmc = make_baseline("momentum", family), make_baseline("sghmc", family)
    adamw, lion, sam = (make_baseline(name, family) for name in ("adamw", "lion", "sam"))
    assert (adamw.lr, adamw.beta1, adamw.beta2, adamw.weight_decay) == (adam.lr, adam.beta1, adam.beta2, 0.01)
    assert (lion.lr, lion.beta1, lion.beta2, lion.weight_decay) == (lionk.lr, lionk.beta1, lionk.beta2, 0.0)
    assert (sam.lr, sam.rho) == (gd.lr, 0.05)
    assert make_baseline("adagrad", family).lr == pytest.approx(10 * rmsprop.lr)
    assert (sghmc.eta**2, 1 - sghmc.gamma * sghmc.eta) == pytest.approx((momentum.lr, momentum.beta))
    assert (make_baseline("muon", family).lr, make_baseline("muon", family).mu) == (adam.lr, 0.95)
    assert make_baseline("adadelta", family) == AdaDelta(1.0, 0.9, 1e-6)


def test_search_methods_and_lookahead_hold_what_they_were_given():
    lookahead = make_baseline("lookahead", "levy")
    assert (lookahead.inner, lookahead.period, lookahead.alpha) == (Adam(0.016), 5, 0.5)
    assert make_baseline("basin_hopping", "levy") == BasinHopping(Adam(0.016), 20, 1.0, 1.0)
    assert make_baseline("cem", "levy") == CrossEntropy(40, 8, 0.7, 0.5)
