"""Webhook secrets as people copy them, and their keys (spec 6.4, 6.6)."""

from __future__ import annotations

from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Iterable

from mediakit.errors import SignatureError

PREFIX = "whsec_"
# Standard Webhooks: a secret has 24 to 64 random bytes. Fewer means a truncated copy.
MIN_KEY_BYTES = 24

Secrets = str | Iterable[str]


def keys_of(secret: object) -> tuple[bytes, ...]:
    """Read the key of one secret, or the keys of all that are valid in a rotation.

    Args:
        secret: One secret, `whsec_` and base64, or several.

    Raises:
        SignatureError: There is no secret, or one cannot be read ("secret").
    """
    if isinstance(secret, str):
        return (_key(secret, "The secret"),)
    if isinstance(secret, bytes | bytearray) or not isinstance(secret, Iterable):
        kind = type(secret).__name__
        raise _refused(f"The secret is {kind}; it must be text, or several texts")
    keys = tuple(
        _key(one, f"Secret number {n}") for n, one in enumerate(secret, start=1)
    )
    if not keys:
        raise _refused("No secret was given")
    return keys


def _key(secret: object, name: str) -> bytes:
    if not isinstance(secret, str):
        raise _refused(f"{name} is {type(secret).__name__}; it must be text")
    if not secret:
        raise _refused(f"{name} is empty")
    if not secret.startswith(PREFIX):
        raise _refused(f"{name} does not start with {PREFIX}")
    text = secret.removeprefix(PREFIX)
    try:
        key = b64decode(text + "=" * (-len(text) % 4), validate=True)
    except (Base64Error, ValueError):
        # ValueError: characters beyond ASCII. Both messages would quote the secret.
        words = "is not base64: it contains other characters, or some are missing"
        raise _refused(f"{name} {words}") from None
    if len(key) < MIN_KEY_BYTES:
        raise _refused(f"{name} has fewer than {MIN_KEY_BYTES} bytes: it is incomplete")
    return key


def _refused(why: str) -> SignatureError:
    return SignatureError(
        f"{why}. Copy the whole secret from the service: {PREFIX} and base64, without "
        "spaces or line breaks. Nothing was verified.",
        reason="secret",
    )
