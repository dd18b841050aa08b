"""From what a user names as a policy to the policy."""

from typing import Any

from .optimizer import Policy

POLICIES = ("universal",)


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
