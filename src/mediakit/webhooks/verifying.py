"""Verifying a webhook: who sent it, when, and that nobody changed it (spec 6.4)."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from hmac import compare_digest

from standardwebhooks import Webhook

from mediakit.clock import Clock, SystemClock
from mediakit.errors import SignatureError
from mediakit.webhooks.claims import Claim, Headers, read_claim
from mediakit.webhooks.events import Event, read_event
from mediakit.webhooks.keys import Secrets, keys_of

MAX_BODY_BYTES = 1024 * 1024
_SYSTEM = SystemClock()


def verify(
    body: bytes, headers: Headers, secret: Secrets, *, clock: Clock = _SYSTEM
) -> Event:
    """Verify a webhook, and return the event that it brought (spec 6.4).

    >>> import mediakit as mk
    >>> event = mk.verify_webhook(body, headers, secret)  # doctest: +SKIP
    >>> event.type, event.job.id                          # doctest: +SKIP

    Args:
        body: The raw bytes, as they were received: JSON that was read and written
            again has another signature. At most 1 MiB.
        headers: The request's headers, of any library, or pairs of names and values.
        secret: The endpoint's secret, or the organization's for a `webhook_url`:
            `whsec_` and base64. During a rotation both, in any order.
        clock: What the time of sending is compared with.

    Raises:
        SignatureError: It is not what it claims to be; `reason` tells why. Nothing
            else is raised for whatever was received.
    """
    keys = keys_of(secret)
    check_body(body)
    claim = read_claim(headers, clock.now())
    check_signature(claim, body, keys)
    return read_event(claim.id, body)


def check_body(body: object) -> None:
    """Tell the raw bytes of a body from what is none.

    Raises:
        SignatureError: It is no bytes, empty, or larger than 1 MiB ("payload").
    """
    if not isinstance(body, bytes):
        raise _refused(
            f"The body came as {type(body).__name__}. Give the raw bytes, as they "
            "were received: what was read and written again has another signature."
        )
    if not body:
        raise _refused("The body is empty. If it was read before, keep its bytes.")
    if len(body) > MAX_BODY_BYTES:
        raise _refused(f"The body is larger than {MAX_BODY_BYTES:,} bytes.")


def check_signature(claim: Claim, body: bytes, keys: Iterable[bytes]) -> None:
    """Check that one of the signatures was made with one of the keys.

    Args:
        claim: What the headers say.
        body: The raw bytes.
        keys: Every key that is valid now.

    Raises:
        SignatureError: None was, or the body is not UTF-8.
    """
    try:
        text = body.decode()
    except UnicodeDecodeError:
        raise _refused("The body is not UTF-8, so it is no JSON.") from None
    sent_at = datetime.fromtimestamp(claim.timestamp_s, UTC)
    # The library signs; the comparison is ours, because its own asks the system for
    # the time and lets several exceptions through. All are compared, always.
    matches = [
        compare_digest(Webhook(key).sign(claim.id, sent_at, text), given)
        for key in keys
        for given in claim.signatures
    ]
    if not any(matches):
        raise SignatureError(
            "No signature of this webhook fits its body: it was changed on its way, "
            "read and written again before it got here, or signed with another "
            "secret (an endpoint has its own, a webhook_url has the organization's).",
            reason="signature",
        )


def _refused(why: str) -> SignatureError:
    return SignatureError(why, reason="payload")
