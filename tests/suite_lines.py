"""Runs on a suite that tests make up."""

import dataclasses

from shapeopt.bench.suite_records import SuiteRun

RUN = SuiteRun(
    problem="bowl/d2",
    group="bowl",
    dimension=2,
    budget=50,
    seed=0,
    version="v1",
    start=0.1 + 0.2,
    minimum=None,
    calls=(1, 3),
    values=(0.3, 1e-17),
    spent=50,
    outside=0,
    overshoot=0,
    moved=0,
    reported=50,
    reported_asked=50,
    wall=0.1,
    cpu=0.1,
)


def made(problem, calls, values, group=None, **others):
    settings = {"start": 1.0, "minimum": 0.0, "budget": 100} | others
    return dataclasses.replace(
        RUN, problem=problem, group=group or problem, calls=tuple(calls), values=tuple(values), **settings
    )
