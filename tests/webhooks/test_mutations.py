"""Ten thousand mutated webhooks: none is accepted, each raises a readable error."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from itertools import islice
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mediakit.errors import SignatureError
from mediakit.webhooks import verify
from tests.support.soak import IS_SOAK, trials
from tests.support.virtual_clock import VirtualClock
from tests.webhooks.messages import OTHER_SECRET, SECRET, message

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
CLOCK = VirtualClock(NOW)
GOOD = message(at=NOW, secrets=[SECRET, OTHER_SECRET], event_id="msg_good")
HEADERS = tuple((n.encode(), v.encode()) for n, v in GOOD.headers.items())
ORDER = [name for name, _ in HEADERS]
SIGNATURES = dict(HEADERS)[b"webhook-signature"].split(b" ")
REASONS = {"missing_header", "header", "timestamp", "signature", "payload"}

Sent = tuple[bytes, list[tuple[bytes, bytes]]]
PIECES = [b" ", b",", b".", b"v1,", b"v1a,", b"=", b"\n", b"\x00", b"\xff", b"0", b"-"]
# What is done, to what, where (two bytes), with which piece.
STEP_BYTES = 5


def edited(content: bytes, how: int, at: int, piece: bytes) -> bytes:
    """Change one place of some bytes: other, fewer, more, twice, or in other order."""
    at %= len(content) + 1
    edits: list[Callable[[], bytes]] = [
        lambda: content[:at] + piece + content[at + len(piece) :],
        lambda: content[:at] + piece + content[at:],
        lambda: content[:at] + content[at + 1 :],
        lambda: content[:at],
        lambda: content + content[at:],
        lambda: content[at:] + content[:at],
        lambda: content[:at] + content[at : at + 1].swapcase() + content[at + 1 :],
        lambda: piece,
    ]
    return edits[how % len(edits)]()


def mutated(program: bytes) -> Sent:
    """Change one to three things of a delivery, as some bytes say."""
    body, headers = GOOD.body, list(HEADERS)
    for start in range(0, len(program), STEP_BYTES):
        how, what, high, low, drawn = program[start : start + STEP_BYTES]
        at = high * 256 + low
        piece = [*PIECES, bytes([drawn])][drawn % (len(PIECES) + 1)]
        name, value = headers[what % len(headers)]
        match what // 8 % 5:
            case 0:
                body = edited(body, how, at, piece)
            case 1 | 2:
                headers[what % len(headers)] = (name, edited(value, how, at, piece))
            case 3:
                headers[what % len(headers)] = (edited(name, how, at, piece), value)
            case _:
                headers.append((name, headers[how % len(headers)][1]))
    return body, headers


def is_the_same(sent: Sent) -> bool:
    """Tell a delivery that still says what was signed, each header of it once.

    Names are of any case, other headers are not looked at, and one of the two
    signatures is enough.
    """
    body, headers = sent
    wanted = dict(HEADERS)
    named = [(n.lower(), value) for n, value in headers if n.lower() in wanted]
    in_order = sorted(named, key=lambda one: ORDER.index(one[0]))
    if body != GOOD.body or len(named) != 3 or tuple(in_order[:2]) != HEADERS[:2]:
        return False
    return any(part in SIGNATURES for part in in_order[2][1].split(b" "))


def mutations() -> Iterator[tuple[bytes, Sent]]:
    """Yield different bytes each time in the soak, and the delivery of which they say.

    Hypothesis takes ten times as long to draw the bytes as a delivery to be verified.
    """
    random = Random(None if IS_SOAK else 1)
    while True:
        program = random.randbytes(STEP_BYTES * random.randint(1, 3))
        sent = mutated(program)
        if not is_the_same(sent):
            yield program, sent


def refusal(sent: Sent) -> SignatureError | None:
    body, headers = sent
    try:
        verify(body, headers, [SECRET, OTHER_SECRET], clock=CLOCK)
    except SignatureError as refused:
        return refused
    return None


def test_each_mutated_webhook_is_rejected_with_a_readable_error() -> None:
    for program, sent in islice(mutations(), trials(500, soak=10_000)):
        refused = refusal(sent)
        assert refused is not None, program
        assert refused.reason in REASONS, program
        assert not any(each.decode() in str(refused) for each in SIGNATURES), program


@settings(max_examples=trials(100, soak=500))
@given(
    body=st.binary(max_size=200) | st.text(max_size=20) | st.none(),
    headers=st.dictionaries(
        st.sampled_from([name for name, _ in HEADERS]) | st.text(max_size=5),
        st.text(max_size=40) | st.binary(max_size=40) | st.none() | st.integers(),
    )
    | st.lists(st.tuples(st.text(), st.text()) | st.text())
    | st.none(),
    secret=st.text(max_size=50) | st.just(SECRET) | st.lists(st.text()) | st.none(),
)
def test_any_bytes_raise_only_a_signature_error(
    body: object, headers: object, secret: object
) -> None:
    with pytest.raises(SignatureError) as caught:
        verify(body, headers, secret, clock=CLOCK)  # type: ignore[arg-type]

    assert caught.value.reason in REASONS | {"secret"}
