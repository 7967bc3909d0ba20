"""Gaps, jitter, push-back and signatures, against numbers and code of others."""

import base64
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from standardwebhooks import Webhook

from mediakit.sandbox.delivery.schedule import gap_us, push_back_us
from mediakit.sandbox.delivery.signatures import (
    SigningError,
    sign,
    signed_headers,
)
from mediakit.sandbox.store.events.signing_secrets import new_secret
from mediakit.sandbox.timing.clock import US_PER_S

# By hand from spec 6.5, in seconds: 5 s, 5 min, 30 min, 2 h, 5 h, 10 h, 14 h, 24 h.
GAPS_S = [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 86_400]
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
HOUR_US = 3_600 * US_PER_S


class Fixed(Random):
    """Jitter that is always the same share of its range."""

    def __init__(self, share: float) -> None:
        super().__init__(0)
        self._share = share

    def uniform(self, a: float, b: float) -> float:
        return a + (b - a) * self._share


@pytest.mark.spec("6.5")
def test_the_gaps_are_those_of_the_specification() -> None:
    gaps_us = [gap_us(failed, Fixed(0.5)) for failed in range(1, 9)]

    assert gaps_us == [gap_s * US_PER_S for gap_s in GAPS_S]
    assert 55 <= sum(GAPS_S) / 3_600 <= 56


def test_jitter_moves_a_gap_by_up_to_a_tenth_to_both_sides() -> None:
    for failed, gap_s in enumerate(GAPS_S, 1):
        assert gap_us(failed, Fixed(0)) == gap_s * US_PER_S * 9 // 10
        assert gap_us(failed, Fixed(1)) == gap_s * US_PER_S * 11 // 10
    assert len({gap_us(3, Random(seed)) for seed in range(20)}) == 20


def test_after_the_last_gap_the_gaps_stay_as_long() -> None:
    assert gap_us(30, Fixed(0.5)) == 86_400 * US_PER_S


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        (None, 0),
        ("120", 120),
        ("3601", 3_600),
        ("9" * 5_000, 3_600),
        ("-5", 0),
        ("1.5", 0),
        ("soon", 0),
        ("\u00b2", 0),
        (format_datetime(NOW + timedelta(minutes=5), usegmt=True), 300),
        ("Sun, 01 Mar 2026 12:05:00", 300),
        (format_datetime(NOW + timedelta(days=5), usegmt=True), 3_600),
        (format_datetime(NOW - timedelta(days=5), usegmt=True), 0),
    ],
)
def test_a_receiver_pushes_the_next_attempt_back_by_up_to_an_hour(
    header: str | None, seconds: int
) -> None:
    assert push_back_us(header, NOW) == seconds * US_PER_S


DATES = st.from_regex(r"[A-Z][a-z]{2}, \d+ (Jan|Feb) \d+ \d+:\d+:\d+ [+-]?\w*")


@given(st.one_of(st.text(), st.integers().map(str), DATES))
def test_whatever_it_says_the_push_back_is_within_an_hour(header: str) -> None:
    assert 0 <= push_back_us(header, NOW) <= HOUR_US


def test_it_signs_as_the_published_example_says() -> None:
    secret = "whsec_" + "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"  # published, and no secret
    event, timestamp_s = "msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330
    body = b'{"test": 2432232314}'

    signature = sign(secret, event, timestamp_s, body)

    assert signature == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


@pytest.mark.spec("6.4")
@given(
    key=st.binary(min_size=24, max_size=64),
    event=st.uuids().map(lambda value: f"msg_{value}"),
    timestamp_s=st.integers(0, 2**33),
    text=st.text(),
)
def test_it_signs_as_the_library_of_the_specification_does(
    key: bytes, event: str, timestamp_s: int, text: str
) -> None:
    secret = f"whsec_{base64.b64encode(key).decode()}"
    instant = datetime.fromtimestamp(timestamp_s, tz=UTC)

    assert sign(secret, event, timestamp_s, text.encode()) == Webhook(secret).sign(
        event, instant, text
    )


def test_a_secret_is_its_prefix_and_32_random_bytes() -> None:
    secrets = {new_secret() for _ in range(20)}

    assert len(secrets) == 20
    for secret in secrets:
        assert secret.startswith("whsec_")
        assert len(base64.b64decode(secret[6:], validate=True)) == 32


@pytest.mark.parametrize("secret", ["", "whsec_", "whsec_!", "whsec_a", "c2VjcmV0"])
def test_what_is_no_secret_does_not_sign_and_is_not_shown(secret: str) -> None:
    with pytest.raises(SigningError) as raised:
        sign(secret, "msg_1", 1, b"{}")
    assert secret not in str(raised.value) or not secret


def test_without_any_secret_nothing_is_signed() -> None:
    with pytest.raises(SigningError):
        signed_headers([], "msg_1", 1, b"{}")
