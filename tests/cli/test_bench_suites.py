"""`shapeopt bench run SUITE`, `scoreboard` and `show` on a toy suite."""

import json
from concurrent.futures import Executor, Future
from contextlib import contextmanager

import pytest
from toy_suite import TOY

from shapeopt.bench import pool, suite_names
from shapeopt.cli import main


class Here(Executor):
    def submit(self, function, job):
        future = Future()
        future.set_result(function(job))
        return future


@contextmanager
def here(workers):
    yield Here()


@pytest.fixture(autouse=True)
def toy(monkeypatch):
    monkeypatch.setitem(suite_names.SUITES, "toy", TOY)
    monkeypatch.setattr(pool, "local_processes", here)


def run(capsys, *words):
    code = main(["bench", *map(str, words)])
    told = capsys.readouterr()
    return code, told.out, told.err


@pytest.fixture
def records(tmp_path, capsys):
    assert run(capsys, "run", "toy", "--out", tmp_path, "--methods", "universal", "multistart", "bfgs")[0] == 0
    return tmp_path


def test_a_suite_is_run_by_name_and_resumed(records, capsys):
    assert sorted(path.name for path in (records / "toy" / "dev").iterdir()) == [
        "bfgs.jsonl",
        "multistart.jsonl",
        "universal.jsonl",
    ]
    code, out, _ = run(capsys, "run", "toy", "--out", records, "--methods", "universal", "multistart")
    assert code == 0 and "8 of 8 runs are there, 0 to make" in out


def test_the_test_half_comes_with_a_reminder(tmp_path, capsys):
    code, out, _ = run(capsys, "run", "toy", "--half", "test", "--out", tmp_path, "--methods", "multistart")
    assert code == 0 and "the test half is run to record a release" in out
    assert not (tmp_path / "toy" / "dev").exists()


def test_parts_of_names_budgets_and_quick_choose_problems(tmp_path, capsys):
    words = ("--out", tmp_path, "--methods", "multistart", "--cells", "bowl/d2")
    assert "0 of 1 runs" in run(capsys, "run", "toy", *words)[1]
    assert "0 of 1 runs" in run(capsys, "run", "toy-20", "--quick", *words)[1]
    assert (tmp_path / "toy-20" / "dev" / "multistart.jsonl").is_file()
    code, _, err = run(capsys, "run", "toy", "--out", tmp_path, "--cells", "nothing")
    assert code == 2 and "`cells` must be parts of names of problems of toy" in err


def test_json_says_what_was_run_and_what_failed(tmp_path, capsys):
    code, out, _ = run(capsys, "run", "toy", "--out", tmp_path, "--methods", "multistart", "--json")
    assert code == 0 and json.loads(out) == {"suite": "toy", "half": "dev", "runs": 4, "failed": []}


def test_the_scoreboard_shows_ratio_losses_and_pictures(records, capsys, tmp_path):
    code, out, _ = run(capsys, "scoreboard", records, "--details", "--pictures", tmp_path / "p")
    assert code == 0 and "**Scoreboard, dev halves**" in out and "| toy | 4 |" in out
    assert "universal (judged)" in out
    assert sorted(path.name for path in (tmp_path / "p").iterdir()) == ["toy-dev-data-profile.png", "toy-dev-ecdf.png"]
    code, out, _ = run(capsys, "scoreboard", records, "--json")
    assert code == 0 and {"tables", "lost"} == json.loads(out).keys()
    for loss in json.loads(out)["lost"]:
        assert loss["command"].startswith("shapeopt bench show toy ")


def test_problems_of_the_test_half_are_not_listed(tmp_path, capsys):
    words = ("--half", "test", "--out", tmp_path, "--methods", "universal", "multistart")
    run(capsys, "run", "toy", *words)
    out = run(capsys, "scoreboard", tmp_path, "--half", "test")[1]
    assert "bowl" not in out and "Scoreboard, test halves" in out


@pytest.mark.parametrize(
    "words, message",
    [
        (("scoreboard", "nowhere"), "`folder` must be a folder of records"),
        (("scoreboard", "."), "`folder` has no runs of 'universal' on a dev half"),
        (("show", "tyo", "bowl/d2"), "`suite` must be one of .*did you mean"),
        (("show", "toy", "bowl"), "`name` must be a problem of suite 'toy'"),
        (("run", "toy", "--out", "x", "--methods", "none"), "`methods` must be among universal"),
    ],
)
def test_wrong_names_are_told_in_one_line(words, message, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, _, err = run(capsys, *words)
    assert code == 2
    import re

    assert re.search(message, err) and len(err.splitlines()) == 1


def test_show_prints_the_events_of_the_very_run(records, capsys):
    code, out, _ = run(capsys, "show", "toy", "bowl/d2")
    assert code == 0 and "refine" in out and "certified 0" in out and "after 60 calls" in out
    kept = [json.loads(line[9:]) for line in (records / "toy/dev/universal.jsonl").read_text().splitlines()]
    found = json.loads(run(capsys, "show", "toy", "bowl/d2", "--json")[1])
    assert found["improvements"]["values"] == next(run["values"] for run in kept if run["problem"] == "bowl/d2")
