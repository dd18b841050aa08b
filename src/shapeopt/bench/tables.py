"""The tables of whatever protocol the records are of, by name."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType

from .digest import Digest, natural
from .layout import Table
from .protocol_tables import overview_table, protocol_table

PER_PROTOCOL: Mapping[str, Callable[[Sequence[Digest], int], Table]] = MappingProxyType(
    {"overview": overview_table, "protocol": protocol_table}
)


def protocols_of(found: Iterable[Digest]) -> list[str]:
    """The protocols that the records are of, in reading order."""
    return sorted({one.protocol for one in found}, key=natural)
