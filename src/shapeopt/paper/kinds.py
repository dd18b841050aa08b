"""The closed table of policies that a weights file may hold."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import equinox as eqx

from .policy import PaperPolicy

# kind on the card -> the policy of the card's settings with jax.ShapeDtypeStruct in place of arrays
POLICY_KINDS: Mapping[str, Callable[[dict[str, Any]], eqx.Module]] = MappingProxyType({"paper": PaperPolicy.skeleton})
