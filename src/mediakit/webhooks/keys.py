"""Secrets as people copy them, and the keys in them (spec 6.4, 6.6)."""

from __future__ import annotations

from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Iterable

from mediakit.errors import SignatureError

PREFIX = "whsec_"
# Standard Webhooks: a secret holds 24 to 64 random bytes. Fewer are a cut-off copy.
MIN_KEY_BYTES = 24

Secrets = str | Iterable[str]


def keys_of(secret: object) -> tuple[bytes, ...]:
    """Read the keys of one secret, or of all that are valid during a rotation.

    Args:
        secret: One secret, `whsec_` and base64; or several.

    Raises:
        SignatureError: There is none, or one cannot be read ("secret").
    """
    if isinstance(secret, str):
        return (_key(secret, "The secret"),)
    if isinstance(secret, bytes | bytearray) or not isinstance(secret, Iterable):
        kind = type(secret).__name__
        raise _refused(f"The secret came as {kind}; it is a text, or several texts")
    keys = tuple(
        _key(one, f"Secret number {n}") for n, one in enumerate(secret, start=1)
    )
    if not keys:
        raise _refused("No secret was given")
    return keys


def _key(secret: object, name: str) -> bytes:
    if not isinstance(secret, str):
        raise _refused(f"{name} came as {type(secret).__name__}; it is a text")
    if not secret:
        raise _refused(f"{name} is empty")
    if not secret.startswith(PREFIX):
        raise _refused(f"{name} does not begin with {PREFIX}")
    text = secret.removeprefix(PREFIX)
    try:
        key = b64decode(text + "=" * (-len(text) % 4), validate=True)
    except (Base64Error, ValueError):
        # ValueError: it holds characters beyond ASCII. Neither goes on: they quote.
        words = "is not base64: it holds other characters, or lost some"
        raise _refused(f"{name} {words}") from None
    if len(key) < MIN_KEY_BYTES:
        raise _refused(f"{name} holds fewer than {MIN_KEY_BYTES} bytes: a part of it")
    return key


def _refused(why: str) -> SignatureError:
    return SignatureError(
        f"{why}. Copy it whole from the service: {PREFIX} and base64, without spaces "
        "or line breaks. Nothing was verified.",
        reason="secret",
    )
