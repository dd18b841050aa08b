"""The command line for people and for programs: completion, JSON everywhere, one line for what is misspelt."""

import json
import shutil
import subprocess
import sys
from concurrent.futures import Future
from contextlib import nullcontext

import pytest

import shapeopt.cli
from shapeopt.bench import pool
from shapeopt.cli import NAMES, main

COMMAND = [sys.executable, "-m", "shapeopt.cli"]


def test_every_command_has_its_name_listed_and_only_those():
    import typing

    parts = typing.get_args(shapeopt.cli._commands([]))
    assert [part.__metadata__[0].name for part in parts] == list(NAMES)


@pytest.mark.parametrize(("word", "meant"), [("minimise", "minimize"), ("lst", "list"), ("complete", "completion")])
def test_a_misspelt_command_is_one_line_with_the_nearest(word, meant, capsys):
    assert main([word, "ackley"]) == 2
    err = capsys.readouterr().err
    assert f"did you mean {meant!r}?" in err and len(err.splitlines()) == 1


def test_a_command_far_from_all_is_told_which_there_are(capsys):
    assert main(["xyz"]) == 2
    err = capsys.readouterr().err
    assert all(name in err for name in NAMES)


def test_a_misspelt_option_is_told_the_nearest(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["minimize", "ackley", "--budgt", "5"])
    assert ended.value.code == 2 and "--budget" in capsys.readouterr().err


@pytest.mark.full
@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
def test_bash_completes_commands_and_options(tmp_path):
    script = tmp_path / "completion.bash"
    script.write_text(
        subprocess.run([*COMMAND, "completion", "bash"], capture_output=True, text=True, check=True).stdout
    )
    words = 'COMP_WORDS=(shapeopt {}); COMP_CWORD={}; COMP_LINE="${{COMP_WORDS[*]}}"; COMP_POINT=${{#COMP_LINE}}'

    def complete(*typed: str) -> list[str]:
        code = (
            f'source "{script}"; {words.format(" ".join(typed), len(typed))}; _tyro_shapeopt; echo "${{COMPREPLY[@]}}"'
        )
        return subprocess.run(["bash", "-c", code], capture_output=True, text=True, check=True).stdout.split()

    assert complete("mini") == ["minimize"]
    assert "--command" in complete("minimize", "--co")


def test_zsh_has_a_script_too(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["completion", "zsh"])
    assert not ended.value.code and capsys.readouterr().out.startswith("#compdef shapeopt")


def printed(capsys, *words):
    """The JSON that a command prints, and nothing else, on the standard output."""
    assert main(list(words)) == 0
    return json.loads(capsys.readouterr().out)


def test_a_run_as_json_on_the_standard_output(capsys):
    record = printed(capsys, "minimize", "rastrigin", "--dim", "2", "--budget", "60", "--json", "-")
    assert record["nfev"] == 60 and record["about"]["objective"] == "rastrigin" and record["minima"]


def test_the_demonstration_as_json(capsys):
    record = printed(capsys, "demo", "--json", "--seed", "3", "--runs", "1")
    assert record["seed"] == 3 and record["budget"] == 100 and len(record["energies"]) == 1
    assert record["energies"][0]["shapeopt"] >= record["lowest"] - 1e-5


class Here:
    """Runs jobs at once in this process."""

    def submit(self, function, *arguments):
        future = Future()
        future.set_result(function(*arguments))
        return future


def test_comparisons_as_json(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(pool, "local_processes", lambda workers: nullcontext(Here()))
    runs = str(tmp_path / "runs")
    methods = ["--methods", "direct", "multistart"]
    words = ["bench", "run", "near", "--out", runs, "--quick", "--workers", "1", "--cells", "rastrigin-2-", *methods]
    made = printed(capsys, *words, "--json")
    assert made["protocol"] and {one["method"] for one in made["made"]} == {"direct", "multistart"}
    assert made["failed"] == made["left_out"] == []
    (table, *_) = printed(capsys, "bench", "table", runs, "--table", "overview", "--json")
    assert table["columns"] and table["groups"][0]["rows"]
    verdict = printed(capsys, "bench", "compare", runs, "--method", "direct", "--json")
    assert len(verdict["groups"][0]["rows"][0]) == len(verdict["columns"])


COMMANDS = "demo;minimize;train;bench run;bench table;bench compare;bench plot;report;figures;theory;list"


@pytest.mark.parametrize("words", COMMANDS.split(";"))
def test_every_command_can_print_json(words, capsys):
    with pytest.raises(SystemExit):
        main([*words.split(), "--help"])
    assert "--json" in capsys.readouterr().out


def test_a_reader_that_has_gone_is_no_crash():
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen([*COMMAND, "completion", "bash"], **pipes) as process:
        process.stdout.close()
        err = process.stderr.read()
    assert process.returncode == 141 and b"Traceback" not in err


def test_importing_the_package_warns_of_nothing():
    done = subprocess.run([sys.executable, "-W", "error", "-c", "import shapeopt"], capture_output=True, check=False)
    assert done.returncode == 0 and not done.stderr
