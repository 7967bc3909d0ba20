"""Failures that a request asks for, to test how clients handle them."""

import re
from collections.abc import Mapping

from mediakit.records import ErrorCode
from mediakit.schema import canonical_json

_ASKED = re.compile(r"sandbox:fail=([a-z_]+)")


def asked_failure(body: Mapping[str, object]) -> tuple[ErrorCode, str] | None:
    """Find the failure that a body asks for, anywhere in its texts.

    `sandbox:fail=content_moderation` in the prompt, or after the `#` of a media URL,
    fails the job with that code (spec 7.3).

    Returns:
        The code and a message; None without a request or for an unknown code.
    """
    found = _ASKED.search(canonical_json(body).decode())
    if found is None or found[1] not in set(ErrorCode):
        return None
    message = f"The request asks for this failure ({found[0]})."
    return ErrorCode(found[1]), message
