"""How long one call retries, and what a response to a submission means."""

from __future__ import annotations

import json
from contextlib import suppress
from itertools import chain, repeat
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mediakit.client.answers import (
    LONGEST_RETRY_AFTER_S,
    Answer,
    NoAnswerError,
    retry_after_s,
)
from mediakit.client.lost_responses import job_unless_lost
from mediakit.client.retrying import (
    ASKED_FOR_S,
    MAX_UNAVAILABLE_ATTEMPTS,
    RejectionReason,
    Rejections,
    temporary_rejection,
)
from mediakit.records import Job

Reason, MOST_TRIES = RejectionReason, MAX_UNAVAILABLE_ATTEMPTS
NOON = "Wed, 01 Jul 2026 12:00:00 GMT"


def answered(status: int, body: object = None, **headers: str) -> Answer:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return Answer(status, {k.replace("_", "-"): v for k, v in headers.items()}, content)


def job(status: str, code: str | None = None) -> dict[str, Any]:
    error = {"code": code, "message": "a sentence"} if code else None
    return {"id": "media_1", "status": status, "error": error, "billing": None}


def pauses_of(reason: RejectionReason, asked: list[float | None]) -> list[float]:
    """Return the pauses of a call that is rejected, each with a time to wait."""
    rejections = Rejections()
    pauses: list[float] = []
    for asked_s in chain(asked, repeat(None)):
        pause_s = rejections.pause_s(reason, asked_s or 0.0)
        if pause_s is None:
            return pauses
        pauses.append(pause_s)
    raise AssertionError


@given(
    st.sampled_from(RejectionReason),
    st.lists(st.none() | st.floats(0, 200, allow_nan=False), max_size=40),
)
def test_the_pauses_of_a_call_last_two_minutes_and_are_never_shorter_than_asked(
    reason: RejectionReason, asked: list[float | None]
) -> None:
    pauses = pauses_of(reason, asked)

    least_s = [each or 0.0 for each in asked] + [0.0] * len(pauses)
    assert all(
        pause_s >= asked_s - 1e-6
        for pause_s, asked_s in zip(pauses, least_s, strict=False)
    )
    assert sum(pauses) <= ASKED_FOR_S + 1e-6


@pytest.mark.parametrize(
    ("reason", "asked_s", "fewest", "most"),
    [
        (Reason.RATE_LIMITED, [120], 1, 1),
        (Reason.RATE_LIMITED, [121], 0, 0),
        (Reason.UNAVAILABLE, [121], 0, 0),
        (Reason.UNAVAILABLE, [1.0] * 9, MOST_TRIES - 1, MOST_TRIES - 1),
        (Reason.RATE_LIMITED, [2.0] * 20, 4, 9),
    ],
)
def test_a_call_makes_a_few_more_attempts_and_none_after_a_long_wait(
    reason: RejectionReason, asked_s: list[float | None], fewest: int, most: int
) -> None:
    assert fewest <= len(pauses_of(reason, asked_s)) <= most


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (answered(429, job("failed", "rate_limited")), Reason.RATE_LIMITED),
        (answered(503, job("failed", "provider_unavailable")), Reason.UNAVAILABLE),
        # The same rejections, asked for again after their answer was lost.
        (answered(200, job("failed", "rate_limited")), Reason.RATE_LIMITED),
        (answered(200, job("failed", "provider_unavailable")), Reason.UNAVAILABLE),
        (answered(200, job("failed", "invalid_input")), None),
        (answered(200, job("queued")), None),
        # A usage limit, with a Retry-After or without: its user has to act.
        (answered(403, job("failed", "rate_limited")), None),
        (answered(403, job("failed", "insufficient_balance")), None),
        (answered(429, {"message": "Slowly."}), Reason.RATE_LIMITED),
        (answered(401, {"message": "Who?"}), None),
        (answered(500, {"message": "No plan."}), None),
    ],
)
def test_only_want_of_room_and_of_the_service_pass(
    answer: Answer, reason: RejectionReason | None
) -> None:
    assert temporary_rejection(answer, job_unless_lost(answer)) is reason


NO = {"message": "No."}
WAIT_7_S = {"retry_after": "7"}


@pytest.mark.parametrize(
    "answer",
    [
        *(
            answered(status, body, **WAIT_7_S)
            for status in (500, 502, 503, 504, 520)
            for body in (b"", b"<h1>Oops</h1>", b'{"error": 1}', b"[1]")
        ),
        # Only a gateway says so.
        *(answered(status, NO, **WAIT_7_S) for status in (408, 502, 503, 504)),
    ],
    ids=lambda answer: f"{answer.status} {answer.content!r}",
)
def test_an_answer_that_is_not_the_services_own_leaves_it_open(answer: Answer) -> None:
    with pytest.raises(NoAnswerError, match=str(answer.status)) as caught:
        job_unless_lost(answer)
    assert caught.value.sent
    assert caught.value.retry_after_s == 7


def test_a_message_of_the_service_is_no_job() -> None:
    for status in (400, 401, 403, 404, 409, 422, 429, 500):
        assert job_unless_lost(answered(status, NO)) is None


def test_a_failed_job_is_one_whatever_its_status() -> None:
    failed = Job(**job("failed", "provider_error"))
    for status in (402, 403, 429, 500, 502, 503):
        assert job_unless_lost(answered(status, job("failed", "anything"))) == failed


NO_JOB = {"id": "media_1", "status": 7}


@pytest.mark.parametrize(
    "body", [b"", b'{"id": "media_1", "sta', NO_JOB, {}, [], 7, None, "media_1"]
)
def test_a_success_without_a_job_leaves_it_open_and_names_what_it_named(
    body: object,
) -> None:
    with pytest.raises(NoAnswerError) as caught:
        job_unless_lost(answered(200, body))
    assert ("media_1" in caught.value.reason) == (body == NO_JOB)


def test_a_job_whose_status_is_new_to_us_was_made() -> None:
    found = job_unless_lost(answered(200, job("scheduled")))

    assert found is not None
    assert found.unknown_status == "scheduled"


@given(
    st.integers(200, 599),
    st.binary(max_size=40)
    | st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=8),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    ["id", "status", "error", "message", "code", "billing"]
                ),
                inner,
                max_size=6,
            )
        ),
        max_leaves=8,
    ),
)
def test_whatever_is_answered_is_a_job_or_none_or_open(
    status: int, body: object
) -> None:
    answer = answered(status, body)
    found = None
    with suppress(NoAnswerError):
        found = job_unless_lost(answer)
        assert found is not None or not 200 <= status < 300
    assert found is None or found.id


@pytest.mark.parametrize(
    ("text", "date", "seconds"),
    [
        ("2", None, 2),
        (" 0.5 ", None, 0.5),
        ("0", None, 0),
        ("Wed, 01 Jul 2026 12:02:00 GMT", NOON, 120),
        ("Wed, 01 Jul 2026 11:00:00 GMT", NOON, 0),
        ("Wednesday, 01-Jul-26 12:02:00 GMT", NOON, 120),
        ("Wed, 01 Jul 2026 12:02:00 GMT", None, None),
        ("99999999999999999999", None, LONGEST_RETRY_AFTER_S),
        ("-1", None, None),
        ("inf", None, None),
        ("nan", None, None),
        ("soon", NOON, None),
        ("9" * 400, None, LONGEST_RETRY_AFTER_S),
        ("1 Jan 99999999999999999999999 00:00:00 GMT", NOON, None),
        ("Wed, 01 Jul 2026 12:02:00 GMT", "1 Jan 9999999999999999999 00:00:00", None),
        ("Fri, 31 Dec 9999 23:59:59 -2359", NOON, LONGEST_RETRY_AFTER_S),
        (None, NOON, None),
    ],
)
def test_retry_after_is_seconds_or_a_date(
    text: str | None, date: str | None, seconds: float | None
) -> None:
    given = {"retry-after": text, "date": date}
    headers = {name: value for name, value in given.items() if value is not None}

    assert retry_after_s(Answer(429, headers, b"")) == seconds


@given(st.text() | st.from_regex(r"\A[A-Za-z]{3}, \d+ [A-Za-z]{3} \d+ .*\Z"), st.text())
def test_any_retry_after_is_read_or_left(text: str, date: str) -> None:
    seconds = retry_after_s(Answer(429, {"retry-after": text, "date": date}, b""))

    assert seconds is None or 0 <= seconds <= LONGEST_RETRY_AFTER_S
