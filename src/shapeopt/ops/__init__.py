"""The one place that knows NumPy from JAX; everything below the engines is written once against an `ops` object."""

from typing import Any

from .host import HOST, Host
from .random import normal, uniform

__all__ = ["HOST", "Host", "device", "normal", "uniform"]


def device() -> Any:
    """The traced operations; imports JAX."""
    from .device import DEVICE

    return DEVICE
