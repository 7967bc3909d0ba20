"""The outcome of one HTTP request: an answer, or the reason why there is none."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from mediakit.errors import ServiceError, quoted
from mediakit.records import without_lone_surrogates

_SURROGATE_ESCAPE = re.compile(rb"\\u[dD][89a-fA-F]")


class NoAnswerError(ConnectionError):
    """A request got no answer.

    Args:
        reason: Why, in words.
        sent: Whether the service may have received it.
        retry_after_s: Seconds that the service asks to wait; None when it does not.
        is_final: Whether a retry is of no use.
        status: The HTTP status of an answer that decides nothing; None without one.
    """

    def __init__(
        self,
        reason: str,
        *,
        sent: bool,
        retry_after_s: float | None = None,
        is_final: bool = False,
        status: int | None = None,
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.sent = sent
        self.retry_after_s = retry_after_s
        self.is_final = is_final
        self.status = status


@dataclass(frozen=True)
class Answer:
    """A response of the service; it may hold a signed URL or a secret."""

    status: int
    headers: Mapping[str, str] = field(repr=False)
    content: bytes = field(repr=False)

    def json(self) -> Any:
        """Parse the body.

        Raises:
            ServiceError: It is not JSON.
        """
        try:
            return _parsed(self.content)
        except (ValueError, RecursionError):
            raise ServiceError(
                f"The service answered {self.status} with something that is not JSON; "
                "is the base URL that of the service?",
                status=self.status,
            ) from None

    @cached_property
    def fields(self) -> Mapping[str, Any]:
        """Return the body if it is a JSON object, else nothing."""
        try:
            body = _parsed(self.content)
        except (ValueError, RecursionError):
            return {}
        return body if isinstance(body, dict) else {}

    @property
    def message(self) -> str:
        """Return the `message` of a request-level error, if there is one (spec 7.1)."""
        message = self.fields.get("message")
        return quoted(message) if isinstance(message, str) else ""


def _parsed(content: bytes) -> Any:
    body = json.loads(content)
    escapes = _SURROGATE_ESCAPE.search(content)
    return without_lone_surrogates(body) if escapes else body
