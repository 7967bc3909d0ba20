"""The three headers of a delivery: what it claims before anything is believed."""

from __future__ import annotations

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

# No full stop: it ends the id in what is signed. No comma: two headers were joined.
_ID = re.compile(r"[!-+\-/-~]{1,256}")
_SECONDS = re.compile(r"[1-9][0-9]{0,11}")
# HMAC-SHA256 has 32 bytes.
_SIGNATURE = re.compile(r"v1,[A-Za-z0-9+/]{43}=")


class HasItems(Protocol):
    """Headers of any library: a dict, or one that knows repeated names."""

    def items(self) -> Iterable[Any]:
        """Return the names and values."""


Headers = HasItems | Iterable[tuple[Any, Any]]


@dataclass(frozen=True)
class Claim:
    """What the headers of a delivery say.

    Args:
        id: The `webhook-id`.
        timestamp_s: When it was sent, seconds since 1970.
        signatures: Every `v1,<base64>` that came.
    """

    id: str
    timestamp_s: int
    signatures: tuple[str, ...] = field(repr=False)


def read_claim(headers: Headers, now: datetime) -> Claim:
    """Read the headers of a delivery, and whether it is of now.

    Args:
        headers: Its headers, of any library, or pairs of names and values.
        now: The receiver's time.

    Raises:
        SignatureError: One is missing, repeated or unreadable, or its time is more
            than five minutes away (spec 6.4).
    """
    found = _three(headers)
    event_id = found[ID]
    if _ID.fullmatch(event_id) is None:
        raise _refused(f"{ID} is not an id such as msg_…", "header")
    return Claim(
        id=event_id,
        timestamp_s=_timestamp_s(found[TIMESTAMP], now),
        signatures=_signatures(found[SIGNATURE]),
    )


def _three(headers: object) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, value in _pairs(headers):
        if name in found:
            raise _refused(f"{name} came more than once", "header")
        found[name] = _text(name, value)
    for name in NAMES:
        if not found.get(name):
            raise _refused(f"The header {name} is missing", "missing_header")
    return found


def _pairs(headers: object) -> Iterator[tuple[str, object]]:
    items = getattr(headers, "items", None)
    pairs = items() if callable(items) else headers
    if not isinstance(pairs, Iterable):
        raise _refused("The headers are no names and values", "header")
    for pair in pairs:
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise _refused("The headers are no names and values", "header")
        name = _name(pair[0])
        if name is not None and name in NAMES:
            yield name, pair[1]


def _name(name: object) -> str | None:
    if isinstance(name, bytes):
        name = name.decode("latin-1")
    # Beyond ASCII, letters exist whose small form is one of ASCII.
    return name.lower() if isinstance(name, str) and name.isascii() else None


def _text(name: str, value: object) -> str:
    if isinstance(value, bytes):
        value = value.decode("latin-1")
    if not isinstance(value, str):
        raise _refused(f"{name} came as {type(value).__name__}, not as text", "header")
    if not value.isascii():
        raise _refused(f"{name} holds characters beyond ASCII", "header")
    if len(value) > MAX_HEADER_CHARACTERS:
        words = f"{name} is longer than {MAX_HEADER_CHARACTERS:,} characters"
        raise _refused(words, "header")
    return value


def _timestamp_s(text: str, now: datetime) -> int:
    if _SECONDS.fullmatch(text) is None:
        raise _refused(f"{TIMESTAMP} is not whole seconds since 1970", "timestamp")
    ahead_s = int(text) - now.timestamp()
    if abs(ahead_s) > TOLERANCE_S:
        where = "in the future" if ahead_s > 0 else "ago"
        raise SignatureError(
            f"This webhook was sent {_span(abs(ahead_s))} {where} by this machine's "
            "clock, more than the five minutes that are allowed: it is an old message "
            "played again, or one of the two clocks is wrong.",
            reason="timestamp",
        )
    return int(text)


def _span(seconds: float) -> str:
    minutes = int(seconds // 60)
    return f"{minutes:,} minutes" if minutes < 120 else f"{minutes // 60:,} hours"


def _signatures(text: str) -> tuple[str, ...]:
    if ", " in text:  # how libraries join headers of one name
        raise _refused(f"{SIGNATURE} came more than once", "header")
    parts = tuple(part for part in text.split(" ") if _SIGNATURE.fullmatch(part))
    if not parts:
        words = f"{SIGNATURE} holds no v1, with the base64 of 32 bytes"
        raise _refused(words, "signature")
    return parts


def _refused(why: str, reason: str) -> SignatureError:
    return SignatureError(
        f"{why}: this is no webhook of the service, or something on its way changed "
        "its headers.",
        reason=reason,
    )
