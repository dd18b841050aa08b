"""The command that makes a configuration again, for the card of what it trained."""

import shlex
from collections.abc import Mapping
from dataclasses import replace
from enum import Enum
from types import MappingProxyType
from typing import Any

from .config import PRESETS, TrainConfig, to_plain

# setting -> the flag of `shapeopt train` that changes it
FLAGS: Mapping[str, str] = MappingProxyType(
    {
        "family": "--family",
        "dimension": "--dimension",
        "law": "--law",
        "curriculum": "--curriculum",
        "sigma": "--sigma",
        "directions": "--directions",
        "event_horizon": "--event-horizon",
        "use_controller": "--no-controller",
        "use_memory": "--no-memory",
        "sees_place": "--no-place",
        "start": "--from",
        "seed": "--seed",
        "batch": "--batch",
        "readings": "--readings",
        "epochs": "--epochs",
        "estimator": "--estimator",
        "precision": "--precision",
    }
)


def with_flags(config: TrainConfig, chosen: Mapping[str, Any]) -> TrainConfig:
    """The configuration as the flags change it; runs of validation are as long as those of training."""
    lengths = {"validation_readings": chosen["readings"]} if "readings" in chosen else {}
    return replace(config, **chosen, **lengths)


def remake(config: TrainConfig) -> str:
    """The shortest command: a preset and flags, or the card itself where flags do not say it all."""
    commands = [words for name in PRESETS if (words := _from_preset(name, config)) is not None]
    shortest = min(commands, key=len, default=["--config", "policy.json"])
    return shlex.join(["shapeopt", "train", "OUT", *shortest])


def _from_preset(name: str, config: TrainConfig) -> list[str] | None:
    before = PRESETS[name]
    chosen = {field: getattr(config, field) for field in FLAGS if getattr(config, field) != getattr(before, field)}
    if with_flags(before, chosen) != config:
        return None
    words = ["--preset", name]
    for field, value in chosen.items():
        words += [FLAGS[field]] if value is False else [FLAGS[field], _word(value)]
    return words


def _word(value: Any) -> str:
    return str(value.value if isinstance(value, Enum) else value)


def differences(config: TrainConfig, other: Mapping[str, Any]) -> str:
    """What differs between a configuration and another in JSON values, in words."""
    ours = to_plain(config)
    names = [name for name in ours if name not in other or other[name] != ours[name]]
    names += [name for name in other if name not in ours]
    return ", ".join(f"`{name}` {other.get(name)!r} there and {ours.get(name)!r} here" for name in names)
