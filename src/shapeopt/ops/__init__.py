"""The one place that knows NumPy from JAX; everything below the engines is written once against an `ops` object.

`HOST` is NumPy's; `DEVICE`, of the module `device`, imports JAX.
"""

from .host import HOST, Host
from .random import normal, uniform

__all__ = ["HOST", "Host", "normal", "uniform"]
