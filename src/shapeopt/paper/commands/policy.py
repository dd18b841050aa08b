"""The policy that an option names."""

from ...terminal.errors import UsageError, did_you_mean


def check_policy(policy: str) -> None:
    """Refuse a policy that can't be found or read before any call is spent."""
    from ..find import load_policy, stored

    try:
        load_policy(policy)
    except ValueError as error:
        hint = did_you_mean(policy, ["universal", *stored()])
        raise UsageError(
            f"--policy {policy}: {error}" if not hint else f"no policy is called {policy!r}{hint}"
        ) from error
