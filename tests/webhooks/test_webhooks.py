"""Webhook verification: the published example and invalid input (spec 6.4)."""

from __future__ import annotations

import hashlib
import hmac
from base64 import b64encode
from datetime import UTC, datetime, timedelta
from email.message import Message as EmailHeaders
from itertools import count
from typing import Any

import httpx
import pytest
from starlette.datastructures import Headers

import mediakit as mk
from mediakit.api_models import ErrorCode, JobStatus
from mediakit.webhooks import COMPLETED, verify
from mediakit.webhooks.verifying import (
    MAX_BODY_BYTES,
    check_signature,
    keys_of,
    parse_headers,
)
from tests.support.virtual_clock import VirtualClock
from tests.webhooks.messages import (
    OTHER_SECRET,
    SECRET,
    body_of,
    job_record,
    message,
)

# The example that the Standard Webhooks project publishes, in all its languages.
VECTOR_SECRET = "whsec_" + "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
VECTOR_BODY = b'{"test": 2432232314}'
VECTOR_S = 1_614_265_330
VECTOR = {
    "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
    "webhook-timestamp": str(VECTOR_S),
    "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
}

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
CLOCK = VirtualClock(NOW)
GOOD = message(at=NOW, event_id="msg_good")
SIGNATURE = GOOD.headers["webhook-signature"]
NO_SIGNATURE = "v1," + "A" * 43 + "="


def refused(
    body: Any = GOOD.body, headers: Any = None, secret: Any = SECRET, **changed: str
) -> mk.SignatureError:
    """Return the error of a delivery, which tells no secret and no signature."""
    more = {name.replace("_", "-"): value for name, value in changed.items()}
    given = GOOD.headers | more if headers is None else headers
    with pytest.raises(mk.SignatureError) as caught:
        verify(body, given, secret, clock=CLOCK)
    error = caught.value
    told = f"{error!r} {error} {vars(error)} {error.__cause__!r}"
    for hidden in (SECRET, OTHER_SECRET, VECTOR_SECRET, SIGNATURE):
        assert hidden not in told
        assert hidden[6:30] not in told
    assert str(error).endswith(".")
    return error


# -- What is accepted -----------------------------------------------------------


@pytest.mark.spec("6.4")
def test_the_published_example_is_accepted_and_no_variation_of_it() -> None:
    at = VirtualClock(datetime.fromtimestamp(VECTOR_S, UTC))
    signed = parse_headers(VECTOR, at.now())
    keys = keys_of(VECTOR_SECRET)

    check_signature(signed, VECTOR_BODY, keys)
    with pytest.raises(mk.SignatureError) as altered:
        check_signature(signed, VECTOR_BODY.replace(b"14}", b"15}"), keys)
    # Its body is no event of this service: that is found out after the signature.
    with pytest.raises(mk.SignatureError) as no_event:
        mk.verify_webhook(VECTOR_BODY, VECTOR, VECTOR_SECRET, clock=at)

    assert altered.value.reason == "signature"
    assert no_event.value.reason == "payload"


def test_what_the_specification_says_by_hand_is_accepted() -> None:
    content = b"%s.%d.%s" % (b"msg_1", int(NOW.timestamp()), GOOD.body)
    (key,) = keys_of(SECRET)
    digest = hmac.new(key, content, hashlib.sha256).digest()
    headers = {
        "Webhook-Id": "msg_1",
        "Webhook-Timestamp": str(int(NOW.timestamp())),
        "Webhook-Signature": f"v1,{b64encode(digest).decode()}",
    }

    assert verify(GOOD.body, headers, SECRET, clock=CLOCK).id == "msg_1"


@pytest.mark.spec("6.3")
def test_an_event_is_its_type_its_time_and_its_job() -> None:
    event = mk.verify_webhook(GOOD.body, GOOD.headers, SECRET, clock=CLOCK)

    assert isinstance(event, mk.Event)
    assert (event.id, event.type) == (GOOD.id, COMPLETED)
    assert event.timestamp == NOW + timedelta(milliseconds=123)
    assert event.data == job_record()
    assert event.job is not None
    assert event.job.id == job_record()["id"]
    assert event.job.status is JobStatus.COMPLETED
    assert event.job.billing is None
    assert event.job.runtime_s == 1.5
    assert event.job.output is not None
    assert "kite.mp4" not in repr(event)


def test_unknown_keys_are_kept_and_none_replaces_what_was_signed() -> None:
    data = job_record(mood="good", error={"code": "new_code"}, status="failed")
    body = body_of("media.job.failed", id="msg_forged", job=3, retries=2, data=data)
    sent = message(body, at=NOW)
    event = verify(sent.body, sent.headers, SECRET, clock=CLOCK)

    assert event.id == sent.id
    assert event.job is not None
    assert event.job.error is not None
    assert event.job.error.code is ErrorCode.PROVIDER_ERROR
    assert (event.job.model_extra or {})["mood"] == "good"
    assert (event.model_extra or {})["retries"] == 2


OF_A_FAILURE = job_record(status="failed", output=None)


@pytest.mark.spec("2.1", "9")
@pytest.mark.parametrize(
    ("kind", "data", "shown"),
    [
        (
            "media.job.failed",
            OF_A_FAILURE | {"error": {"code": "internal", "message": None}},
            ("failed", ErrorCode.INTERNAL, ""),
        ),
        (
            "media.job.failed",
            OF_A_FAILURE | {"error": {"code": "internal", "message": "half \ud83d"}},
            ("failed", ErrorCode.INTERNAL, "half \ufffd"),
        ),
        (
            COMPLETED,
            job_record(status="completed_in_part", output=None),
            ("completed_in_part",),
        ),
        ("webhook.test", {"endpoint_id": "e1"}, None),
        ("media.job.paused", {"endpoint_id": "e1"}, None),
    ],
)
def test_an_event_may_be_of_a_kind_or_hold_what_is_new_to_us(
    kind: str, data: dict[str, Any], shown: object
) -> None:
    sent = message(body_of(kind, data=data), at=NOW)
    event = verify(sent.body, sent.headers, SECRET, clock=CLOCK)

    assert (event.type, event.data["id" if shown else "endpoint_id"]) == (
        kind,
        data["id" if shown else "endpoint_id"],
    )
    job = event.job
    if job is None:
        found: object = None
    elif job.error is None:
        found = (job.unknown_status,)
    else:
        found = (job.status, job.error.code, job.error.message)
    assert found == shown


@pytest.mark.spec("6.6")
@pytest.mark.parametrize("signed_with", [[SECRET], [OTHER_SECRET, SECRET]])
@pytest.mark.parametrize(
    "known", [SECRET, [SECRET], (OTHER_SECRET, SECRET), {SECRET, OTHER_SECRET}]
)
def test_any_signature_with_any_secret_is_enough(
    signed_with: list[str], known: Any
) -> None:
    sent = message(at=NOW, secrets=signed_with)

    assert verify(sent.body, sent.headers, known, clock=CLOCK).id == sent.id


@pytest.mark.parametrize(
    "before", [NO_SIGNATURE, "v1a,AAAA", "v2", "v2,AA", "v1", "", ",,x", "?"]
)
def test_unknown_signatures_beside_a_valid_one_are_ignored(before: str) -> None:
    headers = GOOD.headers | {"webhook-signature": f"{before} {SIGNATURE}"}

    assert verify(GOOD.body, headers, SECRET, clock=CLOCK).id == GOOD.id


def test_headers_of_every_library_are_read() -> None:
    mail = EmailHeaders()
    for name, value in GOOD.headers.items():
        mail[name.title()] = value
    raw = [(n.encode(), v.encode()) for n, v in GOOD.headers.items()]
    upper = {name.upper(): value for name, value in GOOD.headers.items()}
    kinds: list[Any] = [mail, raw, upper, httpx.Headers(raw), Headers(raw=raw)]

    for headers in [*kinds, iter(raw), [list(pair) for pair in raw]]:
        assert verify(GOOD.body, headers, SECRET, clock=CLOCK).id == GOOD.id


def test_five_minutes_of_tolerance_are_exact_in_both_directions() -> None:
    for seconds in (-300, 300):
        sent = message(at=NOW + timedelta(seconds=seconds))
        assert verify(sent.body, sent.headers, SECRET, clock=CLOCK).id == sent.id
    for seconds, words in (
        (-301, "301 seconds ago"),
        (301, "301 seconds in the future"),
        (359, "359 seconds in the future"),
        (-600, "10 minutes ago"),
        (-86_400 * 3, "72 h"),
    ):
        sent = message(at=NOW + timedelta(seconds=seconds))
        error = refused(sent.body, sent.headers)
        assert error.reason == "timestamp"
        assert words in str(error)
    sent = message()  # by default the time is the machine's own
    assert mk.verify_webhook(sent.body, sent.headers, SECRET).id == sent.id


# -- What is refused ------------------------------------------------------------


@pytest.mark.parametrize("name", list(GOOD.headers))
def test_a_repeated_header_is_refused_however_the_library_shows_it(name: str) -> None:
    pairs = [*GOOD.headers.items(), (name.upper(), GOOD.headers[name])]
    joined = httpx.Headers(pairs)

    error = refused(headers=pairs)
    assert error.reason == "header"
    assert f"{name} was sent more than once" in str(error)
    assert refused(headers=dict(pairs)).reason == "header"
    assert refused(headers=joined).reason in ("header", "timestamp")


H = dict(GOOD.headers)
SECONDS = str(int(NOW.timestamp()))
NO_TEXT: tuple[Any, ...] = ("é", b"\xe9", "1" * 2_049, 7, None, ["x"], "\ud800")
# The first letter only looks like a k, and would be one in lower case.
KELVIN = {"webhoo\N{KELVIN SIGN}-id": GOOD.id, **dict(list(H.items())[1:])}
NO_TIMES = (
    *(f" {SECONDS}", f"{SECONDS} ", f"{SECONDS}.0", f"+{SECONDS}", f"0{SECONDS}"),
    *(f"{SECONDS}000", "-1", "0", "1e9", "nan", "inf", "now", "9" * 300, "1_000"),
)
NO_SIGNATURES = (
    *("nonsense", "v1", "v1,", "v1,****", SIGNATURE.removeprefix("v1,")),
    *(SIGNATURE.replace("v1,", other) for other in ("v2,", "v1a,", "V1,", "v1,,")),
    *(SIGNATURE.rstrip("="), SIGNATURE + "=", SIGNATURE + ",x", SIGNATURE + "\n"),
    *("\t" + SIGNATURE, NO_SIGNATURE, " ".join([NO_SIGNATURE] * 10)),
)
NO_BODIES: tuple[Any, ...] = (
    *(b"", GOOD.body.decode(), None, {}, 3, bytearray(GOOD.body), b"\xff\xfe"),
    b"x" * (MAX_BODY_BYTES + 1),
)
REFUSED: list[tuple[str, dict[str, Any]]] = [
    *(("missing_header", {"headers": H | {name: ""}}) for name in H),
    *(
        ("missing_header", {"headers": {k: v for k, v in H.items() if k != name}})
        for name in H
    ),
    ("missing_header", {"headers": KELVIN}),
    *(("header", {"headers": H | {n: value}}) for n in H for value in NO_TEXT),
    # An id that could be read in two ways.
    *(
        ("header", {"webhook_id": event_id})
        for event_id in ("msg_1.2", "a b", "a,a", "a\n", "x" * 257)
    ),
    *(("timestamp", {"webhook_timestamp": text}) for text in NO_TIMES),
    *(("signature", {"webhook_signature": text}) for text in NO_SIGNATURES),
    ("signature", {"body": GOOD.body + b" "}),
    ("signature", {"body": GOOD.body.replace(b"kite", b"KITE")}),
    ("signature", {"webhook_id": "msg_2"}),
    ("signature", {"webhook_timestamp": str(int(SECONDS) + 1)}),
    ("signature", {"secret": OTHER_SECRET}),
    *(("payload", {"body": body}) for body in NO_BODIES),
]


@pytest.mark.parametrize(("reason", "changed"), REFUSED, ids=count())
def test_what_is_not_a_whole_webhook_with_its_signature_is_refused(
    reason: str, changed: dict[str, Any]
) -> None:
    error = refused(**changed)

    assert error.reason == reason
    if reason == "payload":
        assert "body" in str(error)
    elif reason != "signature":
        assert "webhook-" in str(error)


OF_ODD_STATUS = job_record(status=["odd"])


@pytest.mark.parametrize(
    "body",
    [
        *(b"[]", b"3", b"no JSON", b"[" * 10_000, b'{"a":' * 10_000, b"{}"),
        '\N{ZERO WIDTH NO-BREAK SPACE}{"type": "a"}'.encode(),
        body_of(type=3),
        body_of(timestamp="2026-03-01T12:00:00"),
        body_of(timestamp=1_700_000_000),
        body_of(timestamp="noon"),
        body_of(data=None),
        body_of(data=[]),
        body_of(data={}),
        body_of(data=OF_ODD_STATUS),
        body_of(data=job_record(runtime_s=float("nan"))),
    ],
    ids=count(),
)
@pytest.mark.usefixtures("no_garbage_collection")
def test_a_signed_body_that_is_no_event_is_refused_without_quoting_it(
    body: bytes,
) -> None:
    sent = message(body, at=NOW)
    error = refused(sent.body, sent.headers)

    assert error.reason == "payload"
    assert "support" in str(error)
    assert "odd" not in str(error)
    assert len(str(error)) < 400


BASE64 = SECRET.removeprefix("whsec_")


@pytest.mark.parametrize(
    ("secret", "words"),
    [
        ("whsec_" + BASE64[:16], "fewer than 24 bytes"),
        (BASE64, "does not start with whsec_"),
        (" " + SECRET, "does not start with whsec_"),
        (SECRET + "\n", "not base64"),
        ("whsec_" + "-_" * 20, "not base64"),
        (SECRET.encode(), "bytes"),
        (None, "NoneType"),
        ([], "No secret"),
        ([SECRET, None], "Secret number 2 is NoneType"),
        ([OTHER_SECRET, ""], "Secret number 2 does not start with whsec_"),
    ],
)
def test_a_secret_that_cannot_be_read_is_named_by_its_place(
    secret: Any, words: str
) -> None:
    error = refused(secret=secret)

    assert error.reason == "secret"
    assert words in str(error)
    assert "Nothing was verified." in str(error)
