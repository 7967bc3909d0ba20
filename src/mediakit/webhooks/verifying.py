"""Verifies webhooks: sender, age and content (spec 6.4)."""

from __future__ import annotations

import math
import re
from base64 import b64decode
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hmac import compare_digest
from typing import Any, Protocol

from standardwebhooks import Webhook

from mediakit.clock import Clock, SystemClock
from mediakit.errors import SignatureError
from mediakit.webhooks.events import Event, read_event

MAX_BODY_BYTES = 1024 * 1024
_SYSTEM = SystemClock()

PREFIX = "whsec_"
# Standard Webhooks: a secret has 24 to 64 random bytes. Fewer means a truncated copy.
MIN_KEY_BYTES = 24

Secrets = str | Iterable[str]

ID, TIMESTAMP, SIGNATURE = "webhook-id", "webhook-timestamp", "webhook-signature"
NAMES = (ID, TIMESTAMP, SIGNATURE)
TOLERANCE_S = 300
MAX_HEADER_CHARACTERS = 2_048

# No full stop: the signed content uses it after the id. No comma: joined headers.
_ID = re.compile(r"[!-+\-/-~]{1,256}")
_SECONDS = re.compile(r"[1-9][0-9]{0,11}")
# HMAC-SHA256 signatures are 32 bytes long.
_SIGNATURE = re.compile(r"v1,[A-Za-z0-9+/]{43}=")


class HasItems(Protocol):
    """Headers of any library: a dict, or a multi-dict with repeated names."""

    def items(self) -> Iterable[Any]:
        """Return the names and values."""


Headers = HasItems | Iterable[tuple[Any, Any]]


def verify(
    body: bytes, headers: Headers, secret: Secrets, *, clock: Clock = _SYSTEM
) -> Event:
    """Verify a webhook and return its event (spec 6.4).

    >>> import mediakit as mk
    >>> event = mk.verify_webhook(body, headers, secret)  # doctest: +SKIP
    >>> event.type, event.job.id                          # doctest: +SKIP

    Args:
        body: The raw bytes as received: JSON that was parsed and serialised again
            does not match the signature. At most 1 MiB.
        headers: The request headers, from any library, or pairs of names and values.
        secret: The endpoint's secret, or the organization's for a `webhook_url`:
            `whsec_` and base64. During a rotation both, in any order.
        clock: The clock that the time of sending is compared with.

    Raises:
        SignatureError: The webhook could not be verified; `reason` says why. No other
            exception is raised, whatever was received.
    """
    keys = keys_of(secret)
    check_body(body)
    delivery = parse_headers(headers, clock.now())
    check_signature(delivery, body, keys)
    return read_event(delivery.id, body)


def check_body(body: object) -> None:
    """Check that a value is the raw bytes of a body, of an allowed size."""
    if not isinstance(body, bytes):
        raise _bad_body(
            f"The body is of type {type(body).__name__}. Pass the raw bytes as "
            "received: JSON that was parsed and serialised again does not match the "
            "signature."
        )
    if not 0 < len(body) <= MAX_BODY_BYTES:
        raise _bad_body(f"The body is empty or larger than {MAX_BODY_BYTES:,} bytes.")


def check_signature(
    delivery: DeliveryHeaders, body: bytes, keys: Iterable[bytes]
) -> None:
    """Check that any of the signatures was made with any of the keys."""
    try:
        text = body.decode()
    except UnicodeDecodeError:
        raise _bad_body("The body is not UTF-8, so it is not JSON.") from None
    sent_at = datetime.fromtimestamp(delivery.timestamp_s, UTC)
    # The library signs, but we compare: its own comparison reads the system time and
    # raises other exceptions. Every signature is compared, always.
    matches = [
        compare_digest(Webhook(key).sign(delivery.id, sent_at, text), signature)
        for key in keys
        for signature in delivery.signatures
    ]
    if not any(matches):
        raise SignatureError(
            "No signature of this webhook matches its body: it was changed in transit, "
            "parsed and serialised again before it got here, or signed with another "
            "secret (an endpoint has its own, a webhook_url has the organization's).",
            reason="signature",
        )


def _bad_body(why: str) -> SignatureError:
    return SignatureError(why, reason="payload")


# -- Headers ----------------------------------------------------------------------


@dataclass(frozen=True)
class DeliveryHeaders:
    """The parsed headers of a delivery; nothing is verified yet."""

    id: str
    timestamp_s: int
    signatures: tuple[str, ...] = field(repr=False)


def parse_headers(headers: Headers, now: datetime) -> DeliveryHeaders:
    """Parse the headers of a delivery; its timestamp may be off by five minutes."""
    values = _required_headers(headers)
    event_id = values[ID]
    if _ID.fullmatch(event_id) is None:
        raise _bad_header(f"{ID} is not an id such as msg_…", "header")
    return DeliveryHeaders(
        id=event_id,
        timestamp_s=_timestamp_s(values[TIMESTAMP], now),
        signatures=_signatures(values[SIGNATURE]),
    )


def _required_headers(headers: object) -> dict[str, str]:
    items = getattr(headers, "items", None)
    pairs: Any = items() if callable(items) else headers
    values: dict[str, str] = {}
    try:
        for raw_name, value in pairs:
            name = (
                raw_name.decode("latin-1") if isinstance(raw_name, bytes) else raw_name
            )
            # Some letters beyond ASCII become ASCII letters when lowercased.
            if not isinstance(name, str) or not name.isascii():
                continue
            name = name.lower()
            if name in values:
                raise _bad_header(f"{name} was sent more than once", "header")
            if name in NAMES:
                values[name] = _text(name, value)
    except (TypeError, ValueError):
        raise _bad_header(
            "The headers are not pairs of names and values", "header"
        ) from None
    for name in NAMES:
        if not values.get(name):
            raise _bad_header(f"The header {name} is missing", "missing_header")
    return values


def _text(name: str, value: object) -> str:
    text = value.decode("latin-1") if isinstance(value, bytes) else value
    if isinstance(text, str) and text.isascii() and len(text) <= MAX_HEADER_CHARACTERS:
        return text
    accepted = f"at most {MAX_HEADER_CHARACTERS:,} ASCII characters"
    raise _bad_header(f"{name} is not text of {accepted}", "header")


def _timestamp_s(text: str, now: datetime) -> int:
    if _SECONDS.fullmatch(text) is None:
        raise _bad_header(f"{TIMESTAMP} must be whole seconds since 1970", "timestamp")
    ahead_s = int(text) - now.timestamp()
    if abs(ahead_s) > TOLERANCE_S:
        where = "in the future" if ahead_s > 0 else "ago"
        raise SignatureError(
            "By this machine's clock, this webhook was sent "
            f"{_span(abs(ahead_s))} {where}; at most five minutes are "
            "allowed. Either it is an old message that was sent again, or one of the "
            "two clocks is wrong.",
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
        raise _bad_header(f"{SIGNATURE} was sent more than once", "header")
    parts = tuple(part for part in text.split(" ") if _SIGNATURE.fullmatch(part))
    if not parts:
        words = f"{SIGNATURE} contains no v1 signature with the base64 of 32 bytes"
        raise _bad_header(words, "signature")
    return parts


def _bad_header(why: str, reason: str) -> SignatureError:
    return SignatureError(
        f"{why}: either this is not a webhook of the service, or its headers were "
        "changed in transit.",
        reason=reason,
    )


# -- Secrets ----------------------------------------------------------------------


def keys_of(secret: object) -> tuple[bytes, ...]:
    """Parse one secret, or all that are valid during a rotation, into keys."""
    if isinstance(secret, str):
        return (_key_in(secret, "The secret"),)
    if isinstance(secret, bytes) or not isinstance(secret, Iterable):
        kind = type(secret).__name__
        raise _bad_secret(f"The secret is {kind}; it must be one or more strings")
    keys = [_key_in(one, f"Secret number {n}") for n, one in enumerate(secret, 1)]
    if not keys:
        raise _bad_secret("No secret was given")
    return tuple(keys)


def _key_in(secret: object, name: str) -> bytes:
    if not isinstance(secret, str):
        raise _bad_secret(f"{name} is {type(secret).__name__}; it must be a string")
    if not secret.startswith(PREFIX):
        raise _bad_secret(f"{name} does not start with {PREFIX}")
    text = secret.removeprefix(PREFIX)
    try:
        key = b64decode(text + "=" * (-len(text) % 4), validate=True)
    except ValueError:  # its message would quote the secret
        words = "is not base64: it contains other characters, or some are missing"
        raise _bad_secret(f"{name} {words}") from None
    if len(key) < MIN_KEY_BYTES:
        words = f"has fewer than {MIN_KEY_BYTES} bytes: it is incomplete"
        raise _bad_secret(f"{name} {words}")
    return key


def _bad_secret(why: str) -> SignatureError:
    return SignatureError(
        f"{why}. Copy the whole secret from the service: {PREFIX} and base64, without "
        "spaces or line breaks. Nothing was verified.",
        reason="secret",
    )
