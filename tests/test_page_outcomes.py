"""Every Python block of the README and of the pages is run, and what it leaves or prints is what the page says."""

import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest

import shapeopt
import shapeopt.cli

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
FENCE = re.compile(r"^```(?:\{code-cell\} )?python\n(.*?)^```", flags=re.MULTILINE | re.DOTALL)
PIECES = {"own_optimizer"}  # shows parts of a file, which tests/test_examples.py runs whole
ALONE = {"adapters"}  # pages whose blocks stand alone, each for another library

Check = Callable[[dict[str, Any], str], Any]  # of the names that the blocks so far left, and of what this one printed

OUTCOMES: dict[str, list[Check | None]] = {  # a check for each block; None: the block asserts its outcome itself
    "README": [
        lambda n, out: n["result"].fun < 1e-9 and len(n["result"].minima) > 2 and "('refine', 'converged')" in out,
        lambda n, out: "held-out problems" in out and n["result"].fun < 1e-6 and n["result"].nfev == 100,
    ],
    "adapters": [
        lambda n, _: abs(n["result"].fun - 0.2490) < 1e-3 and n["result"].x @ [1, 2] < 1 + 1e-6,
        lambda n, _: n["result"].fun < 1e-9 and shapeopt.Shape.load("run.safetensors").left == 196,
        lambda n, _: n["energy"] <= n["atoms"].get_potential_energy() + 1e-6 and Path("relax.traj").stat().st_size,
        lambda n, _: n["process"].score(n["X"], n["y"]) > 0.99,
        lambda n, _: all(abs(fit.params["rate"].value - 3.3) < 1e-6 for fit in (n["fit"], n["result"])),
        lambda n, _: n["result"].fun < 1e-9 and n["values"].fun < 1e-6,
        lambda n, _: n["result"].optimize_result.fval[0] < 1e-9,
        lambda n, _: n["loss"](n["params"])[0] < 1e-9,
        lambda n, _: n["optimizer"].best == n["closure"]().item() and n["result"].fun < 1e-9,
        lambda n, _: n["study"].best_value < 1e-3,
        lambda n, _: np.allclose(n["found"].value, 1, atol=1e-3),
        lambda n, _: n["shape"].best.fun < 1e-9,
    ],
    "budget": [
        lambda n, out: out.startswith("last gain at call ") and n["result"].minima[0].visits > 1,
        lambda _, out: len(out.split()) == 3 and np.all(np.isfinite(eval(out))),
        lambda n, _: n["result"].fun < 1e-6 and n["result"].nfev < 300,
    ],
    "faq": [None, None],
    "get_started": [
        lambda n, _: n["result"].fun < 1e-6 and n["result"].nfev == 400,
        lambda n, _: n["result"].fun < 1e-9,
        lambda n, out: n["result"].minima[0].visits > 1 and len(out.splitlines()) == 10 and "refine" in out,
        lambda _, out: jax.numpy.zeros(1).dtype == np.float64,
    ],
    "how_it_works": [
        lambda n, _: n["result"].fun < 1e-9 and n["hops"].fun < 1e-3,
        lambda _, out: not plt.get_fignums(),
        lambda n, _: len(n["figure"].axes) > 0 and any(axes.lines for axes in n["figure"].axes),
        lambda n, _: np.max(np.abs(n["error"])) < 1e-12,
        lambda n, _: n["best"].shape == (32,) and n["best"].min() < 1e-9,
    ],
    "least_squares": [
        lambda n, _: (
            np.allclose(n["fit"].x, [238.94212918, 5.5015643181e-4], rtol=1e-6)
            and abs(2 * n["fit"].cost / 0.12455138894 - 1) < 1e-9
        ),
        lambda n, _: np.allclose(n["error"], [2.7070075241, 7.2668688436e-06], rtol=1e-4),
        lambda n, _: np.allclose(n["fit"].x, [238.94212918, 5.5015643181e-4], rtol=0.05),  # in spite of the outlier
    ],
    "noisy_gradients": [  # tests/test_page_examples.py runs the first with ten seeds
        lambda n, out: n["result"].fun < 0.01 and "noise check" in out,
        lambda n, _: abs(n["result"].mean) < 4 * n["result"].standard_error and 0.1 < n["result"].noise < 1,
        lambda n, out: abs(n["result"].mean) < 4 * n["result"].standard_error and abs(float(out.split()[-1])) < 0.5,
    ],
    "own_family": [
        lambda n, _: n["Wells"]().name == "wells",
        lambda n, _: n["result"].fun < 1e-9 and n["task"].distance(n["result"].x) < 1e-4,
        lambda n, _: n["best"].value.shape == (100,) and np.mean(n["best"].value < 1e-6) > 0.9,
    ],
    "own_tactic": [
        lambda n, _: n["Compass"]().name == "compass",
        lambda n, out: 1 <= out.count("compass done") <= 6 and n["result"].nfev == 150,
        lambda _, out: out.startswith("['start', 'refine'") and int(out.split()[-1]) > 0,
    ],
    "parallel": [
        lambda n, _: n["result"].nfev == 240 and n["result"].fun < 2,
        lambda n, _: n["result"].nfev == 100 and n["result"].fun < 5,
    ],
    "read_the_report": [
        lambda n, out: abs(n["result"].fun + 5.4895) < 1e-3 and out.splitlines()[-1].startswith("refine")
    ],
    "stopping": [lambda n, out: n["result"].fun < 1e-9 and n["result"].confidence >= 0.9 and "`confidence`" in out],
    "suites": [lambda n, out: out.startswith("dev 500 ") and n["gradient"].shape == (2,) and n["value"] > 1],
    "train": [lambda n, _: (n["settings"].readings, n["settings"].epochs) == (40, 120)],
    "train_family": [
        lambda n, out: "4 held-out problems" in out and n["trained"].policy is not None,
        lambda n, _: n["result"].fun < 1e-6,
        lambda n, _: isinstance(n["policy"], shapeopt.FamilyPolicy),
    ],
    "value_only": [  # tests/test_page_examples.py runs the first with ten seeds
        lambda n, _: n["result"].fun < 1e-6 and n["result"].nfev == 400,
        lambda n, _: abs(n["printed"].fun - 1000) < 0.5 and n["printed"].value_precision == pytest.approx(0.1),
        lambda n, _: n["result"].fun < 1e-3,
    ],
    "which_tool": [None],
}


def blocks(path: Path) -> list[str]:
    """The Python of a page, without the options of notebook cells."""
    return [re.sub(r"\A(:\w+:.*\n)+", "", code) for code in FENCE.findall(path.read_text())]


def commands(path: Path) -> list[str]:
    """The blocks of a page that name no language."""
    fences = re.findall(r"^```([^\n]*)\n(.*?)^```$", path.read_text(), flags=re.MULTILINE | re.DOTALL)
    return [block for language, block in fences if language in ("", "text")]


def bowls() -> dict[str, Any]:
    """What the README's second block takes for granted: eight related functions, their bounds, and another one."""

    def bowl(seed: int) -> Callable:
        place = np.array([1.0, -2.0]) + 0.3 * np.random.default_rng(seed).normal(size=2)
        return lambda x: (np.sum((x - place) ** 2), 2 * (x - place))

    return {"objectives": [bowl(seed) for seed in range(8)], "another": bowl(30), "bounds": [(-5, 5)] * 2}


PAGES = {path.stem: path for path in [*DOCS.glob("*.md"), *DOCS.glob("*/*.md"), ROOT / "README.md"] if blocks(path)}
CASES = [(name, None) for name in sorted(PAGES.keys() - PIECES - ALONE)]
CASES += [(name, place) for name in sorted(ALONE) for place in range(len(blocks(PAGES[name])))]


def test_every_block_has_an_outcome():
    assert OUTCOMES.keys() == PAGES.keys() - PIECES
    for name, checks in OUTCOMES.items():
        for code, check in zip(blocks(PAGES[name]), checks, strict=True):
            assert check is not None or re.search(r"^assert ", code, flags=re.MULTILINE), f"{name}:\n{code}"


def test_python_is_marked_as_python():
    for path in [*DOCS.glob("*.md"), *DOCS.glob("*/*.md"), ROOT / "README.md"]:
        for block in commands(path):
            assert not re.search(r"^(from|import) |^\w+ = |^shapeopt\.", block, flags=re.MULTILINE), f"{path}:\n{block}"


def command_lines() -> list[str]:
    """The commands that the pages show, without their comments."""
    text = "\n".join("\n".join(commands(path)) for path in [*DOCS.glob("*.md"), ROOT / "README.md"])
    lines = [line.partition("  #")[0] for line in text.replace("\\\n", " ").splitlines()]
    return sorted({part.strip() for line in lines for part in line.split("&&") if part.strip().startswith("shapeopt ")})


@pytest.mark.parametrize("line", command_lines())
def test_commands_of_the_pages_are_commands(line, monkeypatch):
    parsed: list[Any] = []

    def noted(command: Any) -> int:
        parsed.append(command)
        return 0

    monkeypatch.setattr(shapeopt.cli, "_run", noted)
    assert shapeopt.cli.main(shlex.split(line)[1:]) == 0 and len(parsed) == 1


@pytest.mark.parametrize(("name", "place"), CASES)
def test_the_blocks_of_a_page_end_as_it_says(name, place, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    matplotlib.use("Agg")
    plt.close("all")
    names: dict[str, Any] = {"__name__": "page", **(bowls() if name == "README" else {})}
    pairs = list(zip(blocks(PAGES[name]), OUTCOMES[name], strict=True))
    for code, check in pairs if place is None else pairs[place : place + 1]:
        for package in re.findall(r"^import shapeopt\.(\w+)$", code, flags=re.MULTILINE):
            pytest.importorskip(package)
        capsys.readouterr()
        with jax.numpy_dtype_promotion("standard"):  # as users have it
            exec(compile(code, str(PAGES[name]), "exec"), names)
        if check is not None:
            assert check(names, capsys.readouterr().out), code
