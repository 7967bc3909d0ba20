"""Verify a webhook: its sender, its age and its content (spec 6.4)."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from hmac import compare_digest

from standardwebhooks import Webhook

from mediakit.clock import Clock, SystemClock
from mediakit.errors import SignatureError
from mediakit.webhooks.events import Event, read_event
from mediakit.webhooks.headers import DeliveryHeaders, Headers, parse_headers
from mediakit.webhooks.keys import Secrets, keys_of

MAX_BODY_BYTES = 1024 * 1024
_SYSTEM = SystemClock()


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
    signed = parse_headers(headers, clock.now())
    check_signature(signed, body, keys)
    return read_event(signed.id, body)


def check_body(body: object) -> None:
    """Check that a value is the raw bytes of a body.

    Raises:
        SignatureError: It is not bytes, is empty, or is larger than 1 MiB ("payload").
    """
    if not isinstance(body, bytes):
        raise _refused(
            f"The body is {type(body).__name__}. Pass the raw bytes as received: JSON "
            "that was parsed and serialised again does not match the signature."
        )
    if not body:
        raise _refused("The body is empty. If your code read it, pass on its bytes.")
    if len(body) > MAX_BODY_BYTES:
        raise _refused(f"The body is larger than {MAX_BODY_BYTES:,} bytes.")


def check_signature(
    signed: DeliveryHeaders, body: bytes, keys: Iterable[bytes]
) -> None:
    """Check that one of the signatures was made with one of the keys.

    Args:
        signed: The parsed headers.
        body: The raw bytes.
        keys: Every key that is valid now.

    Raises:
        SignatureError: No signature matches, or the body is not UTF-8.
    """
    try:
        text = body.decode()
    except UnicodeDecodeError:
        raise _refused("The body is not UTF-8, so it is not JSON.") from None
    sent_at = datetime.fromtimestamp(signed.timestamp_s, UTC)
    # The library signs, but we compare: its own comparison reads the system time and
    # raises other exceptions. Every signature is compared, always.
    matches = [
        compare_digest(Webhook(key).sign(signed.id, sent_at, text), given)
        for key in keys
        for given in signed.signatures
    ]
    if not any(matches):
        raise SignatureError(
            "No signature of this webhook matches its body: it was changed in transit, "
            "parsed and serialised again before it got here, or signed with another "
            "secret (an endpoint has its own, a webhook_url has the organization's).",
            reason="signature",
        )


def _refused(why: str) -> SignatureError:
    return SignatureError(why, reason="payload")
