"""Find a stored policy: by path, or by name in a folder `weights`."""

import os
import re
from collections.abc import Iterable
from pathlib import Path

import jax

from .policy import PaperPolicy
from .weights import PolicyFileError, policy_files, read_policy

CHECKOUT = Path(__file__).parents[3] / "weights"  # of the repository, where the package is run from a checkout
FITTED = re.compile(
    r"(?P<family>(paper|tuned)-\w+)-(?P<dimension>\d+)(?P<variant>(-[\w-]+)?)"
)  # for one family and dimension


def folders() -> tuple[Path, ...]:
    """The folders in which names are looked up: `weights` in the working directory, then that of the checkout."""
    return tuple(dict.fromkeys(folder for folder in (Path.cwd() / "weights", CHECKOUT) if folder.is_dir()))


def stored() -> tuple[str, ...]:
    """Names of the policies in these folders."""
    return tuple(sorted({card.stem for folder in folders() for card in folder.glob("*.json")}))


def find_stem(policy: str | os.PathLike) -> Path:
    """The stem of a policy's two files.

    Args:
        policy: a name in one of `folders()`, the stem of the files, or either of them.

    Raises:
        PolicyFileError: there are no such files; the message says where a name is looked up and how to get a policy.
    """
    for folder in folders() if Path(policy).name == str(policy) else ():
        if (folder / f"{policy}.json").is_file():
            return folder / policy
    if not policy_files(policy)[1].is_file():
        searched = ", ".join(map(str, folders())) or f"{Path.cwd() / 'weights'}, which does not exist"
        raise PolicyFileError(
            f"`policy` must be the path of a saved policy or a name in a folder `weights` (searched: {searched}); "
            f"got {str(policy)!r}. The paper's policies are in the folder `weights` of the repository: copy it here or "
            "work in a checkout. `shapeopt train OUT` trains one."
        )
    return Path(policy)


def load_policy(policy: str | os.PathLike | PaperPolicy) -> PaperPolicy:
    """Load a policy of the paper's kind.

    Args:
        policy: a name in a folder `weights` (see `folders`), the path of its files, or a policy, which is returned.

    Returns:
        The policy, in the precision in which it was saved.

    Raises:
        PolicyFileError: the files are missing, damaged, or of another kind.
        ValueError: `policy` is neither a name, a path nor a policy.

    Example:
        policy = shapeopt.paper.load_policy("paper-ackley-2")
    """
    if isinstance(policy, PaperPolicy):
        return policy
    if not isinstance(policy, str | os.PathLike):
        raise ValueError(f"`policy` must be a name, a path or a paper policy; got {policy!r}.")
    with jax.enable_x64(True):  # weights keep the precision in which they were saved; the run casts them to its own
        found = read_policy(find_stem(policy))
    assert isinstance(found, PaperPolicy)  # the only kind that `read_policy` knows
    return found


def grouped(names: Iterable[str]) -> dict[str, list[int]]:
    """Group names that differ in their dimension: the name with N in place of it -> the dimensions, if it has one."""
    groups: dict[str, list[int]] = {}
    for name in names:
        fitted = FITTED.fullmatch(name)
        group = groups.setdefault(name if fitted is None else f"{fitted['family']}-N{fitted['variant']}", [])
        group += [] if fitted is None else [int(fitted["dimension"])]
    return {name: sorted(groups[name]) for name in sorted(groups, key=lambda name: (bool(groups[name]), name))}
