"""Signatures of the Standard Webhooks specification (spec 6.4)."""

import hashlib
import hmac
from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from collections.abc import Iterable

from mediakit.sandbox.store.events.signing_secrets import PREFIX


class SigningError(Exception):
    """A secret cannot sign; the message does not contain it."""


def sign(secret: str, event_id: str, timestamp_s: int, body: bytes) -> str:
    """Sign one attempt, as `v1,<base64>` (spec 6.4).

    Args:
        secret: The secret, with its prefix.
        event_id: The value of `webhook-id`.
        timestamp_s: The value of `webhook-timestamp`, seconds since 1970.
        body: The exact bytes that are sent.

    Raises:
        SigningError: The secret cannot be read.
    """
    content = b"%s.%d.%s" % (event_id.encode(), timestamp_s, body)
    digest = hmac.new(_key(secret), content, hashlib.sha256).digest()
    return f"v1,{b64encode(digest).decode()}"


def signed_headers(
    secrets: Iterable[str], event_id: str, timestamp_s: int, body: bytes
) -> dict[str, str]:
    """Return the three headers of a signed attempt (spec 6.3).

    Args:
        secrets: All secrets that sign; two while a rotation overlaps (spec 6.6).
        event_id: The event, the same for each attempt.
        timestamp_s: The time of this attempt, seconds since 1970.
        body: The exact bytes that are sent.

    Raises:
        SigningError: A secret cannot be read, or there is none.
    """
    signatures = [sign(secret, event_id, timestamp_s, body) for secret in secrets]
    if not signatures:
        raise SigningError("there is no secret to sign with")
    return {
        "webhook-id": event_id,
        "webhook-timestamp": str(timestamp_s),
        "webhook-signature": " ".join(signatures),
    }


def _key(secret: str) -> bytes:
    try:
        key = b64decode(secret.removeprefix(PREFIX), validate=True)
    except (Base64Error, ValueError):
        raise SigningError("the secret is not base64") from None
    if not key or not secret.startswith(PREFIX):
        raise SigningError("the secret is empty, or lacks its prefix")
    return key
