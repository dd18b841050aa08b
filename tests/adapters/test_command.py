"""External programs as objectives: their arguments, answers, failures, and the time that they may take."""

import os
import sys
import time

import numpy as np
import pytest

import shapeopt
from shapeopt import Command
from shapeopt.adapters.command import CommandFailed
from shapeopt.cli import main

BOWL = "import sys; x = [float(v) for v in sys.argv[1:]]; print(sum((v - 1) ** 2 for v in x))"
PAIR = BOWL + "; print(*(2 * (v - 1) for v in x), sep=', ')"


@pytest.fixture
def program(tmp_path):
    """Writes a Python program and says how it is started."""

    def write(code: str, name: str = "sim") -> str:
        path = tmp_path / name
        path.write_text(f"#!{sys.executable} -S\n{code}\n")
        path.chmod(0o755)
        return str(path)

    return write


def test_a_program_is_minimised_by_value_and_by_gradient(program):
    by_value = shapeopt.minimize(Command(f"{program(BOWL)} {{x}}"), [3.0, -2.0], budget=40)
    assert by_value.fun < 1e-6 and by_value.nfev <= 40
    by_gradient = shapeopt.minimize(Command(f"{program(PAIR)} {{x}}", gradient=True), [3.0, -2.0], jac=True, budget=8)
    np.testing.assert_allclose(by_gradient.x, 1, atol=1e-6)


def test_coordinates_are_arguments_of_their_own_or_joined_inside_a_word(program):
    count = Command(f"{program('import sys; print(len(sys.argv))')} -v {{x}} end")
    assert count(np.zeros(3)) == 6
    joined = Command(f"{program('import sys; print(sys.argv[1].count(chr(44)))')} --at={{x}}")
    assert joined(np.zeros(3)) == 2


def test_numbers_reach_the_program_to_the_last_bit(program):
    same = Command(f"{program('import sys; print(repr(float(sys.argv[1])))')} {{x}}")
    for number in (0.1, -1e-300, 2 / 3, 5e17):
        assert same(np.array([number])) == number


def test_no_shell_looks_at_the_command(program, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = Command(f"{program('import sys; print(len(sys.argv))')} {{x}} ; touch made > out $HOME * `id` | cat")
    assert words(np.zeros(1)) == 12
    assert sorted(os.listdir(tmp_path)) == ["sim"]


def test_a_call_that_takes_too_long_is_ended_with_all_that_it_started(program, tmp_path):
    mark = tmp_path / "mark"
    child = program(f"import time; time.sleep(1.5); open({str(mark)!r}, 'w')", "child")
    slow = Command(f"{program(f'import subprocess; subprocess.run([{child!r}])')} {{x}}", time_limit=0.5)
    with pytest.raises(CommandFailed, match=r"0\.5 s"):
        slow(np.zeros(1))
    time.sleep(2.0)
    assert not mark.exists(), "the child did not come to its end"


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("import sys; print('no mesh', file=sys.stderr); sys.exit(3)", ["exit code 3", "no mesh"]),
        ("print('value:', 3.0)", ["numbers alone", "value: 3.0"]),
        ("print(1, 2, 3)", ["printed 3", "--jac"]),
        ("pass", ["printed nothing"]),
    ],
)
def test_what_went_wrong_is_said(program, code, words):
    with pytest.raises(CommandFailed) as caught:
        Command(f"{program(code)} {{x}}")(np.zeros(2))
    assert all(word in str(caught.value) for word in words)


def test_a_program_without_a_value_says_nan(program):
    assert np.isnan(Command(f"{program('print(float(chr(110) + chr(97) + chr(110)))')} {{x}}")(np.zeros(1)))


@pytest.mark.parametrize(
    ("command", "settings", "words"),
    [
        ("true", {}, r"\{x\}"),
        ("/no/such/program {x}", {}, "no/such"),
        ("true '{x}", {}, "command"),
        ("true {x}", {"time_limit": 0.0}, "time_limit"),
    ],
)
def test_wrong_arguments_are_named(command, settings, words):
    with pytest.raises(ValueError, match=words):
        Command(command, **settings)


def run(*words: str) -> int:
    return main(["minimize", *words, "--bounds", "-5", "5", "--dim", "2", "--budget", "20"])


def test_a_program_from_the_shell(program, capsys, tmp_path):
    command = f"{program(PAIR)} {{x}}"
    out = tmp_path / "out.json"
    assert run("--command", command, "--jac", "--json", str(out)) == 0
    printed = capsys.readouterr().out
    assert "[1, 1]" in printed and "20 of 20" in printed
    assert main(["report", str(out), "--out", str(tmp_path / "page")]) == 0, "a report does not look for a family"


def test_a_failing_program_is_one_line_and_the_best_so_far(program, capsys, tmp_path):
    seen = tmp_path / "seen"
    code = f"import os, sys; open({str(seen)!r}, 'a').write('x'); os.path.getsize({str(seen)!r}) > 6 and sys.exit(5)"
    assert run("--command", f"{program(code + '; ' + PAIR.replace('import sys; ', ''))} {{x}}", "--jac") == 1
    out, err = capsys.readouterr()
    assert "exit code 5" in err and "Traceback" not in err and "best value" in out


def test_a_slow_call_from_the_shell_is_ended_and_can_be_skipped(program, capsys, tmp_path):
    mark = tmp_path / "mark"
    code = f"import os, time; os.path.exists({str(mark)!r}) or (open({str(mark)!r}, 'w'), time.sleep(30))"
    command = ("--command", f"{program(code + '; ' + PAIR)} {{x}}", "--jac", "--call-timeout", "1")
    assert run(*command) == 1
    assert "longer than 1 s" in capsys.readouterr().err
    mark.unlink()
    assert run(*command, "--on-error", "skip") == 0
    assert "20 of 20" in capsys.readouterr().out


def test_a_journal_tells_programs_apart(program, capsys, tmp_path):
    words = ("--jac", "--quiet", "--journal", str(tmp_path / "run.journal"))
    assert run("--command", f"{program(PAIR)} {{x}}", *words) == 0
    first = capsys.readouterr().out
    assert run("--command", f"{program(PAIR)} {{x}}", *words) == 0
    assert capsys.readouterr().out == first
    assert run("--command", f"{program(PAIR, 'other')} {{x}}", *words) == 2
    assert "objective" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--command", "true"], "{x}"),
        (["--command", "true {x}", "ackley"], "OBJECTIVE"),
        ([], "OBJECTIVE"),
        (["--command", "true {x}", "--rotated"], "--rotated"),
        (["--command", "true {x}", "--call-timeout", "0"], "--call-timeout"),
    ],
)
def test_wrong_words_are_one_line(words, said, capsys):
    assert run(*words) == 2
    err = capsys.readouterr().err
    assert said in err and len(err.strip().splitlines()) == 1
