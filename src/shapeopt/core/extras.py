"""Packages that are not there unless they were asked for."""

from importlib.util import find_spec

PACKAGES = {  # of extras that are more than the package of their name
    "jax": ("jax", "equinox", "optax", "jaxtyping"),
    "suites": ("jax", "sif2jax", "ase", "rdkit", "sklearn", "ioh"),
}


class MissingExtra(ModuleNotFoundError):
    """What was asked for needs an extra that is not installed; the message is one line that says how to install it."""


def require(extra: str, needed_by: str) -> None:
    """Raise `MissingExtra` unless all packages of an extra can be imported; none of them is imported for it.

    Arguments:
        extra: its name in `pyproject.toml`.
        needed_by: what is shown to need it, such as "shapeopt.tasks".

    Example:
        require("jax", "shapeopt.tasks")  # shapeopt.tasks needs jax; pip install "shapeopt[jax]"
    """
    for package in PACKAGES.get(extra, (extra,)):
        if not _is_there(package):
            raise MissingExtra(f'{needed_by} needs {package}; pip install "shapeopt[{extra}]"', name=package)


def _is_there(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except ImportError:
        return False
