"""Every policy of the folder `weights` loads, is what its name says, learned something, and its card tells how."""

import shlex

import equinox as eqx
import pytest

from shapeopt.paper.find import CHECKOUT, FITTED, load_policy
from shapeopt.paper.training.config import from_plain, is_as_written
from shapeopt.paper.training.trainer import schedule
from shapeopt.paper.variants import initialised
from shapeopt.paper.weights import load_card
from shapeopt.tasks import StartLaw

NAMES = sorted(card.stem for card in CHECKOUT.glob("*.json"))
ENDINGS = {
    "no-controller": ("use_controller", False),
    "no-memory": ("use_memory", False),
    "horizon-4": ("event_horizon", 4),
    "described": ("descriptor_size", 7),
}
SMALL = [f"paper-{family}-2" for family in ("ackley", "levy", "rastrigin")]


def test_the_paper_s_cells_of_two_dimensions_have_a_policy_each():
    assert set(SMALL) <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_stored_policy_is_what_its_name_says(name):
    policy, found = load_policy(name), FITTED.fullmatch(name)
    assert policy.planner.d == int(found["dimension"])
    ending = found["variant"].lstrip("-").partition("seed-")[0].rstrip("-")
    boxed, ending = ending == "box", ending.removesuffix("box")
    assert (from_plain(load_card(CHECKOUT / name)["about"]["schedule"]).law is StartLaw.BOX) == boxed
    expected = {"use_controller": True, "use_memory": True, "event_horizon": 6, "descriptor_size": 0}
    expected |= dict([ENDINGS[ending]] if ending else [])
    assert {key: policy.settings[key] for key in expected} == expected
    trained_on = load_card(CHECKOUT / name)["about"]["family"]
    assert {"double_well": "multiwell"}.get(trained_on, trained_on) == found["family"].partition("-")[2]


@pytest.mark.parametrize("name", NAMES)
def test_only_the_paper_s_schedule_run_to_its_end_is_called_the_paper_s(name):
    about = load_card(CHECKOUT / name)["about"]
    config = from_plain(about["schedule"])
    whole = is_as_written(config) and about["updates"] == len(list(schedule(config)))
    assert name.startswith("paper-" if whole else "tuned-")


@pytest.mark.grid(4)
@pytest.mark.parametrize("name", NAMES)
def test_a_trained_policy_is_not_its_initialisation(name):
    policy = load_policy(name)
    assert not eqx.tree_equal(policy, initialised(policy, load_card(CHECKOUT / name)))


@pytest.mark.parametrize("name", [name for name in NAMES if name.startswith("tuned-")])
def test_a_tuned_policy_does_not_know_where_in_the_box_it_is(name):
    assert not load_policy(name).sees_place


@pytest.mark.parametrize("name", NAMES)
def test_a_card_tells_how_its_policy_was_made_and_what_it_reaches(name):
    about = load_card(CHECKOUT / name)["about"]
    config = from_plain(about["schedule"])
    assert (config.seed, config.dimension) == (about["seed"], about["dimension"])
    assert min(about["calls"], about["seconds"], about["updates"]) > 0
    assert about["best_validation"] == min(score for _, score in about["validation"])
    words = shlex.split(about["command"])
    assert words[:3] == ["shapeopt", "train", "OUT"]
    assert words[3:] == ["--config", f"{name}.json"] or words[3] == "--preset"
    assert {name, "initialised", "zero_networks"} <= set(about["results"])
    assert {"best_gap", "interval", "hit_rate"} == set(about["results"][name])
