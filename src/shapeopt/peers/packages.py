"""Libraries of peers, which only some installations have."""

import importlib
import importlib.util
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

# Package -> the extra of this project that brings it; SciPy is always there.
EXTRAS: Mapping[str, str] = MappingProxyType(
    {"cma": "peers", "nlopt": "peers", "nevergrad": "nevergrad", "optuna": "optuna"}
)


def available(package: str) -> bool:
    """Whether `package` can be imported; it is not imported here."""
    return importlib.util.find_spec(package) is not None


def load(package: str) -> Any:
    """The imported package; where it is missing, an error that names the extra to install."""
    if not available(package):
        raise ModuleNotFoundError(
            f"This peer needs the package {package!r}; install it with: pip install 'shapeopt[{EXTRAS[package]}]'.",
            name=package,
        )
    return importlib.import_module(package)
