"""What can be named as a method on a suite, and what makes another version of it."""

import ast
import sys

import numpy as np
import pytest
from toy_suite import make, problem

from shapeopt import Policy
from shapeopt.bench.peer_solver import PeerSolver
from shapeopt.bench.suite_run import Tally
from shapeopt.core.attribute import UnknownNameError
from shapeopt.peers import PEERS
from shapeopt.solvers import MinimizeSolver, _bare, bounds_of, code_digest, find_solver

MODULE = """
from shapeopt import Policy
from shapeopt.peers import MultiStart

POLICY = Policy().without("sample")
Peer = MultiStart
number = 3
bfgs = Policy()
"""


@pytest.fixture
def brought(tmp_path, monkeypatch):
    (tmp_path / "brought_solvers.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    yield
    sys.modules.pop("brought_solvers", None)


def test_policies_peers_and_what_a_user_brings_are_found(brought):
    assert isinstance(find_solver("universal"), MinimizeSolver) and find_solver("universal").policy == Policy()
    assert find_solver("bfgs").peer is PEERS["bfgs"]
    assert find_solver("brought_solvers:POLICY") == MinimizeSolver("POLICY", Policy().without("sample"))
    assert isinstance(find_solver("brought_solvers:Peer"), PeerSolver)
    for wrong, message in (
        ("none", "`methods` must be among"),
        ("brought_solvers:number", "must name a policy"),
        ("brought_solvers:bfgs", "must not bring a built-in method's name"),
    ):
        with pytest.raises(UnknownNameError, match=message):
            find_solver(wrong)


def test_another_policy_or_other_code_is_another_version():
    one, other = find_solver("universal"), MinimizeSolver("universal", Policy().without("sample"))
    assert one.version != other.version and code_digest() in one.version and code_digest() in other.version
    assert _bare('"""a"""\nx = 1  # b') == _bare('"""c"""\nx = 1') != _bare("x = 2")
    assert ast.parse("x = 1")


def test_bounds_are_none_where_there_are_none():
    assert bounds_of(make("bowl", 2)) is None
    assert bounds_of(make("ripples", 2)) == [(-4.0, 5.0)] * 2


@pytest.mark.parametrize("kind", ["bowl", "ripples"])
def test_the_policy_is_run_as_a_user_runs_it(kind):
    one, objective = problem(kind, 2), make(kind, 2)
    tally = Tally(objective, one.gradients, one.budget)
    own = find_solver("universal").solve(tally, one, 5)
    assert own.reported == tally.spent == one.budget and tally.values[-1] < tally.values[0]
    np.testing.assert_array_equal(objective.x0, np.full(2, -3.0))


def test_peers_say_what_they_cannot_do():
    wide, narrow = problem("bowl", 30), problem("bowl", 2)
    assert find_solver("tpe").lacks(wide, make("bowl", 30)) == "not run beyond 20 dimensions"
    assert find_solver("least_squares").lacks(narrow, make("ripples", 2)) == "needs residuals"
    assert find_solver("least_squares").lacks(narrow, make("bowl", 2)) == ""
