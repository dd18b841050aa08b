"""`shapeopt report` makes pages of saved runs and of folders; `minimize --report` makes one at the end of a run."""

import json
import re
import sys

import pytest

from shapeopt.cli import main


def data_of(folder):
    return json.loads(re.search(r'id="data">(.*?)</script>', (folder / "index.html").read_text(), re.DOTALL)[1])


def test_a_saved_run_of_a_family_gives_the_page_that_the_run_itself_wrote(folder, capsys):
    words = ["minimize", "rastrigin", "--dim", "2", "--budget", "60", "--json", "run.json", "--report", "page"]
    assert main([*words, "--quiet"]) == 0
    assert main(["report", "run.json"]) == 0
    assert "wrote run-report/index.html" in capsys.readouterr().out
    at_once, later = data_of(folder / "page"), data_of(folder / "run-report")
    rivals = [data.pop("rivals") for data in (at_once, later)]
    assert at_once == later and len(at_once["stages"]) > 2 and at_once["view"]["source"] == "the task itself"
    assert [one["name"].partition(",")[0] for one in rivals[0]] == ["basinhopping", "multistart", "dual_annealing"]
    text = (folder / "page" / "index.html").read_text()
    assert all(word in text for word in ("rastrigin, 2 dimensions", "universal", "Settings and versions"))


def test_a_page_about_a_users_function_does_not_even_import_it(folder):
    assert main(["minimize", "objectives:pair", "--jac", "--x0", "0", "0", "--budget", "30", "--json", "run.json"]) == 0
    sys.modules.pop("objectives")
    (folder / "objectives.py").write_text("raise RuntimeError('imported')")
    assert main(["report", "run.json", "--out", "page"]) == 0
    data = data_of(folder / "page")
    assert data["rivals"] == [] and data["view"]["source"] != "the task itself"


@pytest.mark.full
def test_a_folder_of_records_has_a_page(folder):
    words = [
        "bench",
        "run",
        "near",
        "--quick",
        "--out",
        "runs",
        "--methods",
        "gd",
        "--cells",
        "ackley-2-",
        "--workers",
        "1",
    ]
    assert main(words) == 0
    assert main(["report", "runs"]) == 0
    assert [cell["name"] for cell in data_of(folder / "runs-report")["cells"]] == ["ackley 2, near"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["report", "nothing.json"], "nothing.json"),
        (["report", "objectives.py"], "no saved run"),
        (["report", "other.json"], "lacks about"),
        (["report", "empty"], "got none"),
        (["minimize", "ackley", "--dim", "2", "--report", "objectives.py"], "is a file"),
    ],
)
def test_what_no_page_can_be_made_of_is_refused_in_one_line(folder, capsys, words, said):
    (folder / "other.json").write_text("{}")
    (folder / "empty").mkdir()
    assert main(words) == 2
    err = capsys.readouterr().err
    assert said in err and "Traceback" not in err
