"""What an objective may answer and what an oracle may be built from; a refusal names the argument and the value."""

import math
import numbers
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np

from ..core.arrays import is_tracer


def require(name: str, value: Any, holds: Callable[[Any], Any], wanted: str) -> None:
    """Raise unless `holds(value)` everywhere; a value that is known only inside a trace is taken on trust."""
    if not is_tracer(value) and not np.all(holds(np.asarray(value))):
        raise ValueError(f"`{name}` must be {wanted}; got {value}.")


def require_bounds(lower: Any, upper: Any) -> None:
    """Raise unless lower <= upper everywhere (NaN is refused too)."""
    if not is_tracer(lower) and not is_tracer(upper):
        require("lower", lower, lambda side: side <= np.asarray(upper), f"at most `upper` = {upper}")


def real_scalar(value: Any, name: str, dtype: Any) -> Any:
    """The answer of a traceable objective as a JAX scalar of `dtype`; one element in any shape counts as a scalar."""
    import jax.numpy as jnp

    array = _real_array(value, name, "a real scalar", jnp.asarray)
    if array.size != 1:
        raise ValueError(f"`{name}` must return a real scalar; got shape {array.shape}.")
    return array.reshape(()).astype(dtype)


def real_gradient(gradient: Any, name: str, like: Any) -> Any:
    """The gradient that a traceable objective answered, with the shape and dtype of the point it was asked at."""
    import jax.numpy as jnp

    array = _real_array(gradient, name, f"a real gradient of shape {like.shape}", jnp.asarray)
    if array.squeeze().shape != like.squeeze().shape:
        raise ValueError(f"`{name}` must return a gradient of shape {like.shape}; got shape {array.shape}.")
    return array.reshape(like.shape).astype(like.dtype)


def host_scalar(value: Any, name: str) -> float:
    """The answer of a host objective as a Python float; NaN and infinities pass."""
    if isinstance(value, float):  # np.float64 is one too
        return float(value)
    if isinstance(value, tuple | list) and len(value) == 2:
        hint = "a function that returns (value, gradient) needs `jac=True` (in a shell, --jac)"
        raise ValueError(f"`{name}` must return a real scalar; got a pair, {short(value)}: {hint}.")
    if isinstance(value, numbers.Real | Decimal):  # whole numbers of any size, fractions
        return _as_float(value)
    if value is np.ma.masked:
        return math.nan
    array = _real_array(value, name, "a real scalar", np.asarray)
    if array.size != 1:
        raise ValueError(f"`{name}` must return a real scalar; got shape {array.shape}: {short(value)}.")
    return float(array.reshape(()))


def _as_float(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:  # beyond the range of a float, which has infinities for that
        return math.inf if value > 0 else -math.inf


def host_gradient(gradient: Any, name: str, like: np.ndarray) -> np.ndarray:
    """The gradient of a host objective, copied, with the shape and dtype of the point it was asked at."""
    if type(gradient) is np.ndarray and gradient.dtype == like.dtype and gradient.shape == like.shape:
        return gradient.copy()
    array = _real_array(gradient, name, f"a real gradient of shape {like.shape}", np.asarray)
    if array.squeeze().shape != like.squeeze().shape:  # a row or a column of the right length is taken as it is meant
        raise ValueError(f"`{name}` must return a gradient of shape {like.shape}; got shape {array.shape}.")
    with np.errstate(over="ignore"):  # a value too large for the dtype becomes inf, which optimizers handle
        return array.astype(like.dtype).reshape(like.shape)


def split_pair(answer: Any, name: str, both: str = "(value, gradient)") -> tuple[Any, Any]:
    """(value, gradient) of a callable that promises both."""
    if not isinstance(answer, tuple | list) or len(answer) != 2:
        raise ValueError(f"`{name}` must return a pair {both}; got {short(answer)}.")
    return answer[0], answer[1]


def _real_array(value: Any, name: str, wanted: str, as_array: Callable[[Any], Any]) -> Any:
    try:
        array = as_array(value)
    except (TypeError, ValueError) as error:  # ragged, or not made of numbers
        raise ValueError(f"`{name}` must return {wanted}; got {short(value)}.") from error
    if array.dtype.kind not in "fiub" and not _is_short_float(array.dtype):
        raise ValueError(f"`{name}` must return {wanted}; got dtype {array.dtype}: {short(value)}.")
    return array


def _is_short_float(dtype: Any) -> bool:
    """Whether it is one of JAX's further floating types, such as bfloat16."""
    return dtype.type.__module__.partition(".")[0] == "ml_dtypes" and "float" in dtype.name


def short(value: Any) -> str:
    """The value on one line, as an error shows it."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 80 else text[:77] + "..."
