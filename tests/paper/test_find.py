"""A stored policy is found by name or path, and what is missing is told with the folders that were searched."""

import equinox as eqx
import jax
import pytest

from shapeopt.paper import load_policy
from shapeopt.paper.find import CHECKOUT, find_stem, folders, grouped, stored
from shapeopt.paper.policy import PaperPolicy
from shapeopt.paper.weights import PolicyFileError, save_policy


@pytest.fixture
def stem(tmp_path, drawn):
    save_policy(tmp_path / "pilot", drawn(d=2), {})
    return tmp_path / "pilot"


def test_a_saved_policy_is_found_by_its_stem_or_either_file(stem, drawn):
    for path in (stem, f"{stem}", f"{stem}.json", f"{stem}.safetensors"):
        assert eqx.tree_equal(load_policy(path), drawn(d=2))
    policy = drawn(d=2)
    with jax.enable_x64(False):
        assert eqx.tree_equal(load_policy(stem), policy), "in the precision in which it was saved"
    assert load_policy(policy) is policy


def test_a_bare_name_is_looked_up_in_the_working_directory_s_folder(store, weights, drawn):
    store("paper-bowl-3", seed=1, d=3)
    assert stored() == ("paper-bowl-3",) and folders() == (weights,)
    assert find_stem("paper-bowl-3") == weights / "paper-bowl-3"
    assert eqx.tree_equal(load_policy("paper-bowl-3"), drawn(1, d=3))


def test_the_folder_of_the_working_directory_comes_before_that_of_the_checkout(tmp_path, monkeypatch, drawn):
    assert isinstance(load_policy("paper-ackley-2"), PaperPolicy) and find_stem("paper-ackley-2").parent == CHECKOUT
    (tmp_path / "weights").mkdir()
    save_policy(tmp_path / "weights" / "paper-ackley-2", drawn(d=2), {})
    monkeypatch.chdir(tmp_path)
    assert eqx.tree_equal(load_policy("paper-ackley-2"), drawn(d=2))
    assert "paper-levy-2" in stored()


def test_what_is_not_there_is_told_with_the_folders_and_how_to_get_it(weights, stem):
    with pytest.raises(PolicyFileError, match=r"searched: .*weights\); got 'paper-bowl-4'.*shapeopt train"):
        load_policy("paper-bowl-4")
    weights.rmdir()
    with pytest.raises(PolicyFileError, match=r"weights, which does not exist\); got 'paper-bowl-4'"):
        load_policy("paper-bowl-4")
    with pytest.raises(ValueError, match="`policy` must be a name, a path or a paper policy; got 3"):
        load_policy(3)
    stem.with_name("pilot.safetensors").write_bytes(b"")
    with pytest.raises(PolicyFileError, match="SHA-256"):
        load_policy(stem)


def test_names_that_differ_in_their_dimension_are_one_group():
    names = ["paper-bowl-20", "pilot", "paper-bowl-3", "paper-two_bowls-3-no-memory"]
    assert grouped(names) == {"pilot": [], "paper-bowl-N": [3, 20], "paper-two_bowls-N-no-memory": [3]}
