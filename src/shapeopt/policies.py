"""From what a user names as a policy to the policy."""

import os
from typing import Any

from .core.problem import Problem
from .family.policy import FamilyPolicy, is_family_file, load_family
from .optimizer import Policy

POLICIES = ("universal",)
NOT_FOR_FITS = ("separable sum", "turned axes", "pair model")  # parameters of one model are coupled


def find_policy(policy: Any, problem: Problem | None = None, fun: Any = None) -> Policy:
    """The policy of a name or a path, or the policy itself.

    Arguments:
        policy: a name, a `Policy`, a `FamilyPolicy`, or the path of one that `shapeopt train` made.
        problem: what it is for; a family's policy needs it.
        fun: the objective, whose attribute `descriptor` a family's policy uses.

    Raises:
        ValueError: for anything else.

    Example:
        find_policy("universal").without("sample")
    """
    if isinstance(policy, Policy):
        return policy
    if isinstance(policy, str) and policy in POLICIES:
        return Policy()
    if isinstance(policy, FamilyPolicy) or is_family_file(policy):
        if problem is None:
            raise ValueError("`policy` is a family's, which `minimize` and `Shape` take, and nothing else does.")
        family = policy if isinstance(policy, FamilyPolicy) else load_family(policy)
        return family.policy_for(problem, fun)
    hint = " Policies of the paper are run by `shapeopt.paper.minimize`." if "paper" in str(policy) else ""
    named = isinstance(policy, str | os.PathLike) and os.path.exists(f"{os.fspath(policy)}.json")
    if named and not hint:
        load_family(policy)  # says what is wrong with the files
    known = f"one of {', '.join(POLICIES)}, a `shapeopt.Policy`, or the path of a policy that `shapeopt train` made"
    raise ValueError(f"`policy` must be {known}; got {policy!r}.{hint}")


def find_fit_policy(policy: Any) -> Policy:
    """The same for sums of squares, where the named policy does without tests for structure that a fit does not have.

    Raises:
        ValueError: as `find_policy` does.
    """
    found = find_policy(policy)
    return found if policy is found else found.without(*NOT_FOR_FITS)
