"""Paths of functions: `vendor/model/function`."""

import re

from mediakit.errors import InputError

SEGMENT = r"[A-Za-z0-9_][A-Za-z0-9._~-]{0,99}"
_SEGMENT = re.compile(SEGMENT)


def path_of(path: object, field: str = "path") -> str:
    """Return a function's path in its normal form, without outer slashes.

    Args:
        path: The path.
        field: Its name, for errors.

    Raises:
        InputError: It does not have three segments, or one is not a plain name.
    """
    segments = path.strip("/").split("/") if isinstance(path, str) else []
    if len(segments) != 3 or not all(map(is_segment, segments)):
        raise InputError(field, got=path, accepted="vendor/model/function")
    return "/".join(segments)


def is_segment(name: str) -> bool:
    """Return whether a name can be part of a path: letters, digits and `._~-`."""
    return _SEGMENT.fullmatch(name) is not None
