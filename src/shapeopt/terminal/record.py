"""A result as JSON, written at once or not at all."""

import json
import math
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .errors import UsageError

FIELDS = (
    "x",
    "fun",
    "success",
    "status",
    "message",
    "nfev",
    "njev",
    "nit",
    "minima",
    "events",
    "trace",
    "energy",
    "passivity",
    "gradient_fit",
)
OPTIONAL = ("stages",)


STANDARD_OUTPUT = Path("-")


def print_json(value: Any) -> None:
    """`value` on the standard output; NaN and infinities become null."""
    print(json.dumps(plain(value), indent=1, allow_nan=False))


def check_writable(path: Path) -> None:
    """Refuse, before any call is spent, a place where no file can be made."""
    if path == STANDARD_OUTPUT:
        return
    if path.is_dir():
        raise UsageError(f"--json must name a file; {str(path)!r} is a folder.")
    if not path.absolute().parent.is_dir():
        raise UsageError(f"--json needs an existing folder; {str(path.parent)!r} does not exist.")
    if not os.access(path.absolute().parent, os.W_OK):
        raise UsageError(f"--json needs a folder that can be written to; {str(path.parent)!r} can't.")


def write_record(path: Path, about: Mapping[str, Any], result: Mapping[str, Any]) -> None:
    """`about` (the run's settings) and the fields of `result` that it has; NaN and infinities become null. The path -
    is the standard output."""
    content = {"about": dict(about)} | {name: result[name] for name in (*FIELDS, *OPTIONAL) if name in result}
    lines = (f" {json.dumps(name)}: {json.dumps(plain(value), allow_nan=False)}" for name, value in content.items())
    text = "{\n" + ",\n".join(lines) + "\n}\n"  # a line for each field: small, and still fit for a look
    if path == STANDARD_OUTPUT:
        print(text, end="")
        return
    handle, scratch = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.absolute().parent)
    try:
        with os.fdopen(handle, "w") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(scratch, 0o666 & ~mask)  # mkstemp makes files private
        os.replace(scratch, path)
    except BaseException:
        os.unlink(scratch)
        raise


def plain(value: Any) -> Any:
    """`value` in JSON's own types."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if hasattr(value, "tolist"):  # NumPy's arrays and scalars
        return plain(value.tolist())
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value
