"""What an oracle answers."""

from typing import Any, NamedTuple


class Reading(NamedTuple):
    """What a reading brought, in NumPy or JAX arrays.

    value       the value, a scalar
    gradient    the force estimate g~(q) (eq. oracle_generic_force), (d,)
    cost        its cost in calls, a whole number
    fit         of a sum of squares: (residuals, Jacobian), (m,) and (m, d); else None
    """

    value: Any
    gradient: Any
    cost: Any
    fit: Any = None
