"""Runs of some seconds, made once, that all tests about pages share."""

import json
import re
from pathlib import Path

import jax
import numpy as np
import pytest

import shapeopt
from shapeopt.bench.curves import Curves
from shapeopt.bench.records import Record
from shapeopt.report import Subject, write_run_report
from shapeopt.tasks import make_family

CALLS = 150


def draw(name, dimension):
    """A task of a family and its start."""
    with jax.enable_x64(True):
        task = make_family(name, dimension).sample(jax.random.key(3))
        return task, np.asarray(task.start(jax.random.key(4)))


def describe(task, x0):
    lower, upper = np.asarray(task.box.lower), np.asarray(task.box.upper)
    return Subject("A run", {"policy": "universal"}, x0, lower, upper, task, budget=CALLS)


def make(method, cell, rate):
    """A record of five runs whose gap falls by exp(-rate) a call."""
    gap = np.linspace(1, 5, 5)[:, None] * np.exp(-rate * np.arange(cell["budget"]))
    curves = Curves(gap, gap, gap, gap[:, -1], gap[:, -1], np.full(5, cell["budget"]), None, 5, 0, 0)
    return Record("box", cell, method, 0, curves, {"jax": "1"})


def read(page):
    """What a page's script is given."""
    return json.loads(re.search(r'id="data">(.*?)</script>', page.read_text(), re.DOTALL)[1])


@pytest.fixture
def drawn():
    return draw


@pytest.fixture
def subject_of():
    return describe


@pytest.fixture
def made():
    return make


@pytest.fixture
def data_of():
    return read


@pytest.fixture(scope="session")
def plane():
    """(task, x0, result) of a run in two dimensions."""
    task, x0 = draw("rastrigin", 2)
    bounds = (np.asarray(task.box.lower), np.asarray(task.box.upper))
    return task, x0, shapeopt.minimize(task, x0, bounds=bounds, budget=CALLS, stages=True)


@pytest.fixture(scope="session")
def page(plane, tmp_path_factory) -> Path:
    """The page about that run."""
    task, x0, result = plane
    return write_run_report(tmp_path_factory.mktemp("pages") / "run", result, describe(task, x0))
