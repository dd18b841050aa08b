"""Scores in one file: read back as they were, refused where damaged."""

import dataclasses

import numpy as np
import pytest
from suite_lines import made

from shapeopt.bench.errors import RecordError
from shapeopt.bench.scoreboard import board
from shapeopt.bench.suite_methods import default_methods
from shapeopt.bench.suite_names import SuiteNames, parts_of
from shapeopt.bench.suite_store import load_boards, merged, renewed, save_boards
from shapeopt.bench.suites import SUITES
from shapeopt.peers import PEERS


def one(half="dev", calls=10):
    found = {
        method: {run.key: run for run in runs}
        for method, runs in {
            "universal": [made("p", [1, calls], [1.0, 1e-4]), made("q", [1, 90], [1.0, 0.0])],
            "multistart": [made("p", [1, 20], [1.0, 0.0])],
            "bfgs": [made("p", [1, 30], [1.0, 0.0]), made("q", [1, 30], [1.0, 0.0])],
        }.items()
    }
    return board("toy", half, found, "universal")


def test_boards_are_read_back(tmp_path):
    kept = one()
    save_boards(tmp_path / "a.safetensors", [kept])
    (found,) = load_boards(tmp_path / "a.safetensors")
    for name in ("suite", "half", "methods", "problems", "groups"):
        assert getattr(found.scores, name) == getattr(kept.scores, name)
    for name in ("hits", "goals", "there", "budgets", "dimensions", "areas"):
        np.testing.assert_array_equal(getattr(found.scores, name), getattr(kept.scores, name))
    np.testing.assert_allclose(found.scores.wall, kept.scores.wall)
    assert (found.rival, found.ratio, found.audit) == (kept.rival, kept.ratio, kept.audit) and found.rival == "bfgs"


def test_new_boards_take_the_place_of_those_of_the_same_half():
    old, new, other = one(), one(calls=50), one("test")
    assert merged([old, other], [new]) == [new, other]


def test_a_method_is_scored_anew_beside_peers_that_were_kept():
    kept, new = one(), one(calls=50)
    runs = {run.key: run for run in [made("p", [1, 50], [1.0, 1e-4]), made("q", [1, 90], [1.0, 0.0])]}
    (found,) = renewed([kept], {"universal": runs})
    np.testing.assert_array_equal(found.scores.areas, new.scores.areas)
    assert (found.scores.areas != kept.scores.areas).sum() == 1, "only that of the problem that was run otherwise"


def test_targets_do_not_move_when_a_method_is_scored_anew():
    runs = {run.key: run for run in [made("p", [1, 10], [1.0, -5.0]), made("q", [1, 90], [1.0, 0.0])]}
    (found,) = renewed([one()], {"universal": runs})
    np.testing.assert_array_equal(found.scores.hits[1:], one().scores.hits[1:])


def test_without_targets_or_a_problem_nothing_is_scored_anew():
    kept, runs = one(), {run.key: run for run in [made("p", [1], [1.0]), made("q", [1], [1.0])]}
    blind = dataclasses.replace(kept.scores, goals=np.full_like(kept.scores.goals, np.nan))
    with pytest.raises(RecordError, match="targets were not kept"):
        renewed([dataclasses.replace(kept, scores=blind)], {"universal": runs})
    with pytest.raises(RecordError, match="such as q"):
        renewed([kept], {"universal": dict(list(runs.items())[:1])})


@pytest.mark.parametrize("content", [b"", b"x" * 100])
def test_another_file_is_refused(tmp_path, content):
    (tmp_path / "a.safetensors").write_bytes(content)
    with pytest.raises(RecordError):
        load_boards(tmp_path / "a.safetensors")


def test_a_suite_is_found_at_other_budgets():
    names, own = SuiteNames(), SUITES["nist"]
    assert names["nist"] is own and set(names) == set(SUITES)
    assert {problem.budget for problem in names["nist-50"].problems} == {50}
    each = names["nist-10d"]
    assert all(problem.budget == 10 * problem.dimension for problem in each.problems) and each.name == "nist-10d"
    assert [p.half for p in each.problems] == [p.half for p in own.problems]
    assert "nist-50" in names and not {"nist-0", "none-5", "nist-x"} & {
        n for n in ("nist-0", "none-5", "nist-x") if n in names
    }


def test_parts_of_a_suite_are_looked_at_apart():
    assert {part: len(names) for part, names in parts_of("molecules").items()}.keys() == {"gradients", "values"}
    assert parts_of("cutest").keys() == {"bounded", "unbounded"} and parts_of("nist") == parts_of("none") == {}
    whole = one().scores
    part = whole.only({"q"}, "values")
    assert part.problems == ("q",) and part.title == "toy, values" and part.hits.shape == (3, 1, 13)
    np.testing.assert_array_equal(part.areas, whole.areas[:, 1:])


def test_the_default_methods_fit_what_a_suite_gives_and_are_installed():
    for name, suite in SUITES.items():
        methods = default_methods(suite)
        assert methods[0] == "universal" and len(methods) > 8 and len(set(methods)) == len(methods)
        assert set(methods[1:]) <= {*PEERS, "universal_fit"} and ("least_squares" in methods) is (name == "nist")
        assert len(default_methods(suite, quick=True)) <= 9
    assert "bobyqa" in default_methods(SUITES["bbob"]) and "bobyqa" not in default_methods(SUITES["gp"])
