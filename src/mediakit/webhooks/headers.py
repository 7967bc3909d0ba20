"""The three headers of a delivery, parsed before anything is verified."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from mediakit.errors import SignatureError

ID, TIMESTAMP, SIGNATURE = "webhook-id", "webhook-timestamp", "webhook-signature"
NAMES = (ID, TIMESTAMP, SIGNATURE)
TOLERANCE_S = 300
MAX_HEADER_CHARACTERS = 2_048

# No full stop: the signed content uses it after the id. No comma: joined headers.
_ID = re.compile(r"[!-+\-/-~]{1,256}")
_SECONDS = re.compile(r"[1-9][0-9]{0,11}")
# HMAC-SHA256 signatures have 32 bytes.
_SIGNATURE = re.compile(r"v1,[A-Za-z0-9+/]{43}=")


class HasItems(Protocol):
    """Headers of any library: a dict, or a multi-dict with repeated names."""

    def items(self) -> Iterable[Any]:
        """Return the names and values."""


Headers = HasItems | Iterable[tuple[Any, Any]]


@dataclass(frozen=True)
class DeliveryHeaders:
    """The parsed headers of a delivery; nothing is verified yet.

    Args:
        id: The `webhook-id`.
        timestamp_s: The time of sending, seconds since 1970.
        signatures: Every `v1,<base64>` signature.
    """

    id: str
    timestamp_s: int
    signatures: tuple[str, ...] = field(repr=False)


def parse_headers(headers: Headers, now: datetime) -> DeliveryHeaders:
    """Parse the headers of a delivery, and check the age of its timestamp.

    Args:
        headers: The headers, from any library, or pairs of names and values.
        now: The receiver's current time.

    Raises:
        SignatureError: A header is missing, repeated or unreadable, or the timestamp
            differs by more than five minutes (spec 6.4).
    """
    found = _required_headers(headers)
    event_id = found[ID]
    if _ID.fullmatch(event_id) is None:
        raise _refused(f"{ID} is not an id such as msg_…", "header")
    return DeliveryHeaders(
        id=event_id,
        timestamp_s=_timestamp_s(found[TIMESTAMP], now),
        signatures=_signatures(found[SIGNATURE]),
    )


def _required_headers(headers: object) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, value in _pairs(headers):
        if name in found:
            raise _refused(f"{name} was sent more than once", "header")
        found[name] = _text(name, value)
    for name in NAMES:
        if not found.get(name):
            raise _refused(f"The header {name} is missing", "missing_header")
    return found


def _pairs(headers: object) -> Iterator[tuple[str, object]]:
    items = getattr(headers, "items", None)
    pairs = items() if callable(items) else headers
    if not isinstance(pairs, Iterable):
        raise _refused("The headers are not pairs of names and values", "header")
    for pair in pairs:
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise _refused("The headers are not pairs of names and values", "header")
        name = _name(pair[0])
        if name is not None and name in NAMES:
            yield name, pair[1]


def _name(name: object) -> str | None:
    if isinstance(name, bytes):
        name = name.decode("latin-1")
    # Some letters beyond ASCII become ASCII letters when lowercased.
    return name.lower() if isinstance(name, str) and name.isascii() else None


def _text(name: str, value: object) -> str:
    if isinstance(value, bytes):
        value = value.decode("latin-1")
    if not isinstance(value, str):
        raise _refused(f"{name} is {type(value).__name__}, not text", "header")
    if not value.isascii():
        raise _refused(f"{name} contains characters beyond ASCII", "header")
    if len(value) > MAX_HEADER_CHARACTERS:
        words = f"{name} is longer than {MAX_HEADER_CHARACTERS:,} characters"
        raise _refused(words, "header")
    return value


def _timestamp_s(text: str, now: datetime) -> int:
    if _SECONDS.fullmatch(text) is None:
        raise _refused(f"{TIMESTAMP} must be whole seconds since 1970", "timestamp")
    ahead_s = int(text) - now.timestamp()
    if abs(ahead_s) > TOLERANCE_S:
        where = "in the future" if ahead_s > 0 else "ago"
        raise SignatureError(
            f"This webhook was sent {_span(abs(ahead_s))} {where} by this machine's "
            "clock; at most five minutes are allowed. Either it is an old message that "
            "was sent again, or one of the two clocks is wrong.",
            reason="timestamp",
        )
    return int(text)


def _span(seconds: float) -> str:
    # In seconds near the limit of five minutes, which a whole minute could hide.
    if seconds < 600:
        return f"{math.ceil(seconds)} seconds"
    minutes = int(seconds // 60)
    return f"{minutes:,} minutes" if minutes < 120 else f"{minutes // 60:,} hours"


def _signatures(text: str) -> tuple[str, ...]:
    if ", " in text:  # libraries join headers of the same name this way
        raise _refused(f"{SIGNATURE} was sent more than once", "header")
    parts = tuple(part for part in text.split(" ") if _SIGNATURE.fullmatch(part))
    if not parts:
        words = f"{SIGNATURE} contains no v1 signature with the base64 of 32 bytes"
        raise _refused(words, "signature")
    return parts


def _refused(why: str, reason: str) -> SignatureError:
    return SignatureError(
        f"{why}: either this is not a webhook of the service, or its headers were "
        "changed in transit.",
        reason=reason,
    )
