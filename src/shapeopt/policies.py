"""From what a user names as a policy to the policy."""

from typing import Any

from .optimizer import Policy

POLICIES = ("universal",)
NOT_FOR_FITS = ("separable sum", "turned axes", "pair model")  # parameters of one model are coupled


def find_policy(policy: Any) -> Policy:
    """The policy of a name, or the policy itself.

    Raises:
        ValueError: for anything else.

    Example:
        find_policy("universal").without("sample")
    """
    if isinstance(policy, Policy):
        return policy
    if policy in POLICIES:
        return Policy()
    hint = " Policies of the paper are run by `shapeopt.paper.minimize`." if "paper" in str(policy) else ""
    raise ValueError(f"`policy` must be one of {', '.join(POLICIES)} or a `shapeopt.Policy`; got {policy!r}.{hint}")


def find_fit_policy(policy: Any) -> Policy:
    """The same for sums of squares, where the named policy does without tests for structure that a fit does not have.

    Raises:
        ValueError: as `find_policy` does.
    """
    found = find_policy(policy)
    return found if policy is found else found.without(*NOT_FOR_FITS)
