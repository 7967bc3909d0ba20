"""Deliveries on a time line: what is shown, and that nothing from outside is markup."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mediakit import Client
from mediakit.errors import InputError
from mediakit.records import Attempt, Delivery
from mediakit.widgets.deliveries.html import (
    LoggedDelivery,
    deliveries_html,
    deliveries_text,
    span_text,
)

NOON = datetime(2026, 10, 1, 12, tzinfo=UTC)
HOSTILE = '<img src=x onerror="alert(1)">&amp;'
GAPS_S = (0, 5, 305, 2_105)


def logged(**fields: Any) -> LoggedDelivery:
    attempts = [
        Attempt(
            number=number,
            attempted_at=NOON + timedelta(seconds=gap_s),
            status_code=503 if number < 4 else 204,
            reason="http_5xx: 503" if number < 4 else None,
            duration_ms=12,
        )
        for number, gap_s in enumerate(GAPS_S, start=1)
    ]
    given_fields = {"id": "delivery_1", "status": "delivered", **fields}
    return LoggedDelivery(Delivery.model_validate(given_fields), attempts)


def test_the_time_between_attempts_is_on_the_line_and_the_outcome_in_words() -> None:
    html = deliveries_html([logged(url="http://127.0.0.1:9/hook?token=hidden")])

    for gap in ("5 s", "5 min", "30 min"):
        assert f">{gap}</span>" in html
    assert html.count("✗") == 3
    assert html.count("✓") == 1
    assert 'aria-label="4 attempts over 35 min; the last: delivered' in html
    assert "the receiver failed with 503" in html
    assert "127.0.0.1:9/hook" in html
    assert "hidden" not in html


def test_the_plain_text_says_the_same() -> None:
    next_at = NOON + timedelta(days=1)
    text = deliveries_text(
        [logged(status="pending", next_attempt_at=next_at)], more=True
    )

    assert text.splitlines() == [
        "pending · delivery_1",
        "  1. the receiver failed with 503",
        "  2. after 5 s, the receiver failed with 503",
        "  3. after 5 min, the receiver failed with 503",
        "  4. after 30 min, delivered: the receiver responded with 204",
        "  next attempt 2026-10-02 12:00:00",
        "There are more: client.deliveries.list() goes through all of them.",
    ]
    assert "next attempt 2026-10-02 12:00:00" in deliveries_html(
        [logged(status="pending", next_attempt_at=next_at)]
    )


def test_no_deliveries_and_no_attempts_are_said() -> None:
    assert "No deliveries." in deliveries_html([])
    assert deliveries_text([]) == "No deliveries."
    assert "not attempted yet" in deliveries_html(
        [LoggedDelivery(Delivery(status="pending"), ())]
    )


@given(st.text(max_size=40))
def test_whatever_comes_from_outside_is_text(text: str) -> None:
    fields = ("id", "status", "event_type", "source_id", "url")
    hostile = f"{HOSTILE}{text}"
    delivery = Delivery.model_validate(dict.fromkeys(fields, hostile))
    html = deliveries_html(
        [LoggedDelivery(delivery, [Attempt(reason=hostile), Attempt()])]
    )

    tags = set(re.findall(r"<([a-z]+)", html))
    assert tags <= {"div", "b", "span", "details", "summary", "table", "tr", "th", "td"}
    assert 'onerror="' not in html


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 s"), (5.2, "5.2 s"), (299, "5 min"), (7_300, "2 h"), (86_400, "1 d")],
)
def test_a_span_is_written_in_its_largest_unit(seconds: float, text: str) -> None:
    assert span_text(seconds) == text


def test_without_a_notebook_the_log_is_printed(
    client: Client, capsys: pytest.CaptureFixture[str]
) -> None:
    client.deliveries.show(source_id="media_none")
    assert capsys.readouterr().out == "No deliveries.\n"
    with pytest.raises(InputError, match="many"):
        client.deliveries.show(many=0)


def test_an_attempt_that_is_given_with_an_offset_is_shown_in_utc() -> None:
    at = datetime(2026, 10, 1, 10, tzinfo=timezone(timedelta(hours=2)))
    delivery = Delivery.model_validate({"id": "delivery_1", "status": "delivered"})
    html = deliveries_html([LoggedDelivery(delivery, [Attempt(attempted_at=at)])])
    assert "2026-10-01 08:00:00" in html
    assert "10:00:00" not in html
