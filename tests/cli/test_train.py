"""`shapeopt train`: settings from flags and files, progress, summary, exit codes, Ctrl-C, one line for a mistake."""

import json
import os
import re
import shlex
import signal
import sys
from dataclasses import replace
from typing import get_args

import pytest

from shapeopt.cli import main
from shapeopt.paper import training
from shapeopt.paper.commands import train as command
from shapeopt.paper.commands.train import Train
from shapeopt.paper.commands.train_progress import LINES, Lines, speed
from shapeopt.paper.training import PRESETS, Curriculum, Estimation, Precision, Progress, TrainConfig, write_toml
from shapeopt.paper.training.command import FLAGS, remake
from shapeopt.tasks import StartLaw

MODULE = """
from shapeopt.tasks import Rastrigin, StartLaw

built = Rastrigin(dimension=3, law=StartLaw.BOX)
number = 3

def make():
    return built

def needs(argument):
    return built
"""
TINY = TrainConfig(
    dimension=2,
    hidden=8,
    batch=4,
    readings=8,
    use_controller=False,
    planner_pretrain=2,
    epochs=3,
    joint_updates=1,
    estimator=Estimation.EVOLUTION,
    pairs=1,
    validation_tasks=4,
    validation_readings=8,
    validate_every=1,
    checkpoint_every=1,
)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The working folder, with a user's families and a tiny configuration."""
    (tmp_path / "mine.py").write_text(MODULE)
    write_toml(tmp_path / "tiny.toml", TINY)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield tmp_path
    sys.modules.pop("mine", None)


@pytest.fixture
def asked(monkeypatch):
    """The configurations that were to be trained; nothing is."""
    seen = []
    card = {"validation": [(0, -0.1)], "best_validation": -0.2, "family": "f", "dimension": 2, "updates": 5}
    card |= {"stopped_early": False, "skipped_updates": 1, "seed": 0, "seconds": 1.0, "calls": 9.0, "command": "c"}

    def train(config, folder, observer):
        seen.append(config)
        return training.Trained(None, card, None)

    monkeypatch.setattr(training, "train", train)
    return seen


def run(capsys, *words):
    """Exit code, lines of standard output, lines of standard error."""
    code = main(["train", *words])
    out, err = capsys.readouterr()
    return code, out.splitlines(), err.splitlines()


@pytest.mark.full
def test_a_run_trains_reports_and_goes_on_after_ctrl_c(folder, capsys, monkeypatch, ctrl_c):
    words = ("out", "--config", "tiny.toml")
    show = Lines.show

    def press(lines, progress):
        show(lines, progress)
        if progress.done == 3:
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(Lines, "show", press)
    code, out, err = run(capsys, *words)
    assert code == 130 and out == []
    assert re.match(r"1/5 planner  loss \S+  validation -\S+, best -\S+  \S+ updates/s, \d:\d\d:\d\d left", err[0])
    assert re.match(r"3/5 joint  loss \S+ \(term .* port \S+\)", err[2])
    assert err[-2:] == [
        "stopping after this update; Ctrl-C again stops at once",
        "shapeopt: stopped by Ctrl-C; out keeps the checkpoint, and the same command goes on from there",
    ]
    monkeypatch.undo()
    monkeypatch.chdir(folder)
    code, out, err = run(capsys, *words, "--json", "--quiet")
    assert code == 0 and err == []
    summary = json.loads("\n".join(out))
    assert summary["updates"] == 5 and summary["policy"] == "out/policy.safetensors"
    assert summary["best"] <= summary["untrained"] < 0 and summary["skipped_updates"] == 0
    card = json.loads((folder / "out" / "policy.json").read_text())["about"]
    assert card["versions"].keys() >= {"shapeopt", "jax", "python"}
    assert card["command"] == "shapeopt train OUT --config policy.json"
    assert training.read_config(folder / "out" / "policy.json") == TINY
    code, out, _ = run(capsys, *words, "--seed", "7")
    assert code == 2 and out == []


def test_the_summary_for_people_says_what_was_skipped(folder, asked, capsys):
    code, out, _ = run(capsys, "out", "--preset", "small-2", "--quiet")
    assert code == 0 and asked == [PRESETS["small-2"]]
    assert out == [
        "out/policy.safetensors: f in 2 dimensions, 5 updates",
        "validation -0.1000 untrained, -0.2000 at best; 9 calls, 1.0 s",
        "1 updates were not finite and were skipped",
    ]


def test_every_flag_changes_its_setting(folder, asked, capsys):
    words = "--preset paper-20 --family ackley --dimension 10 --law box --curriculum all --sigma 0.5 --directions 2"
    words += (
        " --event-horizon 4 --no-controller --no-memory --no-place --from p --seed 3 --epochs 7 --batch 8 --readings 32"
    )
    words += " --estimator evolution --precision float64"
    assert run(capsys, "out", *words.split())[0] == 0
    (config,) = asked
    assert config == replace(
        PRESETS["paper-20"],
        family="ackley",
        dimension=10,
        law=StartLaw.BOX,
        curriculum=Curriculum.ALL,
        sigma=0.5,
        directions=2,
        event_horizon=4,
        use_controller=False,
        use_memory=False,
        sees_place=False,
        start="p",
        seed=3,
        epochs=7,
        batch=8,
        readings=32,
        validation_readings=32,
        estimator=Estimation.EVOLUTION,
        precision=Precision.DOUBLE,
    )
    assert len(FLAGS) == words.count("--") - 1


@pytest.mark.parametrize(
    "config",
    [
        PRESETS["small-2"],
        replace(PRESETS["paper-100"], family="levy", law=StartLaw.NEAR, seed=9, use_memory=False),
        replace(PRESETS["small-20"], family="mine:built", dimension=3, readings=64, validation_readings=64),
        replace(PRESETS["small-2"], start="a policy", estimator=Estimation.EVOLUTION, use_controller=False),
    ],
)
def test_the_command_on_a_card_makes_the_configuration_again(folder, asked, capsys, config):
    words = shlex.split(remake(config))
    assert words[:3] == ["shapeopt", "train", "OUT"] and "--preset" in words
    assert main(words[1:]) == 0
    assert asked == [config]


def test_what_flags_can_t_say_is_remade_from_the_card():
    assert remake(replace(PRESETS["small-2"], clip=2.0)) == "shapeopt train OUT --config policy.json"


def test_the_choices_of_the_flags_are_those_of_the_settings():
    choices = {"law": StartLaw, "curriculum": Curriculum, "estimator": Estimation, "precision": Precision}
    for name, kind in choices.items():
        literal = get_args(get_args(Train.__annotations__[name])[0])[0]
        assert set(get_args(literal)) == {member.value for member in kind}


@pytest.mark.parametrize("name", ["mine:built", "mine:make"])
def test_a_family_of_one_s_own_brings_its_dimension_and_the_schedule_that_fits(folder, asked, capsys, name):
    assert run(capsys, "out", "--family", name)[0] == 0
    assert asked == [replace(PRESETS["small-2"], family=name, dimension=3)]
    assert asked[0].plan(0).family.dimension == 3


def test_the_schedule_fits_the_dimension(folder, asked, capsys):
    assert run(capsys, "out", "--dimension", "99")[0] == 0
    assert asked == [replace(PRESETS["small-20"], dimension=99)]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--preset", "paper-3"), r"`preset` must be one of paper-2, .*; got 'paper-3'; did you mean 'paper-\d+'\?"),
        (("--family", "akley"), r"`family` must be one of multiwell, .*; got 'akley'; did you mean 'ackley'\?"),
        (("--family", "mine:nothing"), "`family` must name something .*'mine:nothing': module 'mine' has no"),
        (("--family", "absent:thing"), "`family` must name something .*No module named 'absent'"),
        (("--family", "mine:number"), "`family` must name a family, .*; 'mine:number' is 3"),
        (("--family", "mine:needs"), "`family` must name a family, or what makes one without arguments; 'mine:needs'"),
        (("--family", "mine:built", "--dimension", "2"), "`dimension` must be 3, that of mine:built; got 2"),
        (("--family", "lennard_jones", "--dimension", "4"), "`dimension` must "),
        (("--config", "lost.toml"), "`config` lost.toml can't be read: .*No such file"),
        (("--config", "wrong.toml"), "A configuration has no `famly`; did you mean `family`"),
        (("--config", "broken.toml"), "`config` broken.toml: "),
        (("--config", "card.json"), "card.json is no card of a trained policy: it has no schedule"),
        (("--config", "tiny.toml", "--preset", "small-2"), "--config and --preset exclude each other"),
        (("--preset", "small-2", "--seed", "-1"), r"`seed` must lie in \[0, 2\^32\); got -1"),
        (("--batch", "0"), "`batch` must be at least 1; got 0"),
        (("--from", "lost"), r"`policy` must be the path of a saved policy or a name .*; got 'lost'"),
        (("--process", "0/2"), "--coordinator and --process go together"),
        (("--coordinator", "here", "--process", "0/2"), "--coordinator must look like HOST:PORT; got 'here'"),
        (("--coordinator", "h:1", "--process", "2/2"), "--process must look like 0/2, .*; got '2/2'"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_what_can_t_be_trained_is_one_clear_line_and_exit_code_2(folder, capsys, words, message):
    (folder / "wrong.toml").write_text('famly = "ackley"\n')
    (folder / "broken.toml").write_text("family =\n")
    (folder / "card.json").write_text('{"about": {}}')
    code, out, err = run(capsys, "out", *words)
    assert code == 2 and out == [] and len(err) == 1
    assert re.match(f"shapeopt: error: {message}", err[0]), err[0]
    assert not (folder / "out").exists()


def test_a_folder_that_can_t_be_used_is_one_clear_line(folder, capsys):
    (folder / "out").write_text("a file in the way")
    code, _, err = run(capsys, "out", "--config", "tiny.toml")
    assert code == 2 and len(err) == 1 and err[0].startswith("shapeopt: error: `out` out can't be used: ")


def test_lines_are_few_and_the_first_and_last_are_among_them(capsys):
    lines = Lines()
    for done in range(1, 1001):
        lines.show(Progress(done, 1000, "joint", 1.0, {}, -0.5, -0.6, 2.0, (1000 - done) / 2))
    shown = capsys.readouterr().err.splitlines()
    assert shown[0].startswith("1/1000 ") and shown[-1].startswith("1000/1000 ") and len(shown) == LINES + 1


def test_time_left_is_in_hours_minutes_and_seconds():
    progress = Progress(1, 2, "joint", 1.0, {}, -0.5, -0.6, 0.123, 3725.4)
    assert speed(progress) == "0.12 updates/s, 1:02:05 left"


def test_a_terminal_gets_a_live_bar(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    display = command.make_display(quiet=False)
    with display:
        display.show(Progress(1, 2, "joint", 1.0, {"term": 2.0}, -0.5, -0.6, 0.1, 5.0))
        display.stopping()
    (task,) = display.progress.tasks
    assert (task.completed, task.total) == (1, 2) and task.fields["losses"] == "loss 1 (term 2)"
