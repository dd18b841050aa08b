"""Every policy of the folder `weights` loads, is what its name says, and its card tells how it was made."""

import shlex

import pytest

from shapeopt.paper.find import CHECKOUT, load_policy
from shapeopt.paper.policy import PaperPolicy
from shapeopt.paper.training.config import from_plain
from shapeopt.paper.weights import load_card

NAMES = sorted(card.stem for card in CHECKOUT.glob("*.json"))
ENDINGS = {
    "no-controller": ("use_controller", False),
    "no-memory": ("use_memory", False),
    "horizon-4": ("event_horizon", 4),
}
SYNTHETIC = [f"paper-{family}-{d}" for family in ("ackley", "levy", "rastrigin") for d in (2, 20, 100, 500)]
SCIENCE = [f"paper-{family}-{d}" for family in ("phase_retrieval", "double_integrator") for d in (8, 32)]
CLUSTERS = ["paper-lennard_jones-6", "paper-lennard_jones-18"]


def test_the_paper_s_cells_have_a_policy_each():
    assert set(SYNTHETIC + SCIENCE + CLUSTERS + ["paper-multiwell-1"]) <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_stored_policy_is_what_its_name_says(name):
    policy = load_policy(name)
    _, family, d, *ending = name.split("-", 3)
    assert isinstance(policy, PaperPolicy)
    assert policy.planner.d == int(d)
    expected = {"use_controller": True, "use_memory": True, "event_horizon": 6} | dict(ENDINGS[e] for e in ending)
    assert {key: policy.settings[key] for key in expected} == expected
    assert load_card(CHECKOUT / name)["about"]["family"] == family


@pytest.mark.parametrize("name", NAMES)
def test_a_card_tells_how_its_policy_was_made_and_what_it_reaches(name):
    about = load_card(CHECKOUT / name)["about"]
    config = from_plain(about["schedule"])
    assert (config.seed, config.dimension) == (about["seed"], about["dimension"])
    assert about["calls"] > 0
    assert about["seconds"] > 0
    assert about["updates"] > 0
    assert about["best_validation"] == min(score for _, score in about["validation"])
    words = shlex.split(about["command"])
    assert words[:3] == ["shapeopt", "train", "OUT"]
    assert words[3:] == ["--config", f"{name}.json"] or words[3] == "--preset"
    assert len(about["results"]) > 1
    assert {"best_gap", "interval", "hit_rate"} == set(about["results"][name])
