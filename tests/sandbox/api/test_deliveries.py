"""The delivery log: pages, filters, detail, attempts, replay (spec 4.20)."""

from datetime import datetime
from typing import Any

import httpx
import pytest

from tests.sandbox.conftest import Api, StartSandbox
from tests.support.sandbox.receivers import (
    Answer,
    Receiver,
    admin_call,
    deliveries,
    ended,
    register,
)

KIND = "text-to-video"
LOG = "/v1/webhooks/deliveries"
REJECTED = {"prompt": "sandbox:fail=rate_limited"}


def announced(api: Api, url: str) -> dict[str, Any]:
    """End a job with a `webhook_url`; return its delivery, once that has ended."""
    job = api.post(KIND, REJECTED | {"webhook_url": url}).json()
    (delivery,) = ended(api, source_id=job["id"])
    return delivery


def replay(api: Api, delivery: dict[str, Any]) -> httpx.Response:
    return api.http.post(f"{LOG}/{delivery['id']}/replay")


def test_a_delivery_says_what_went_where_and_when(
    hooked: Api, receiver: Receiver
) -> None:
    job = hooked.post(KIND, REJECTED | {"webhook_url": receiver.url}).json()
    (received,) = receiver.until(1)
    (delivery,) = ended(hooked, source_id=job["id"])

    assert delivery == {
        "id": delivery["id"],
        "status": "delivered",
        "event_id": received.event_id,
        "event_type": "media.job.failed",
        "source_id": job["id"],
        "endpoint_id": None,
        "url": receiver.url,
        "attempts": 1,
        "created_at": delivery["created_at"],
        "next_attempt_at": None,
        "ended_at": delivery["ended_at"],
    }
    assert delivery["created_at"] <= delivery["ended_at"]


def test_the_detail_has_the_event_and_the_attempts_have_their_reasons(
    hooked: Api, receiver: Receiver
) -> None:
    receiver.script = lambda received: Answer(503 if received.event else 200)
    job = hooked.post(KIND, REJECTED | {"webhook_url": receiver.url}).json()
    receiver.until(1)
    receiver.script = lambda received: Answer(202)
    hooked.running.advance(minutes=1)
    (delivery,) = ended(hooked, source_id=job["id"])
    detail = hooked.http.get(f"{LOG}/{delivery['id']}").json()
    attempts = hooked.http.get(f"{LOG}/{delivery['id']}/attempts").json()["data"]

    assert detail == delivery | {"event": receiver.until(2)[0].event}
    assert [(one["number"], one["status_code"], one["reason"]) for one in attempts] == [
        (1, 503, "http_5xx: 503"),
        (2, 202, None),
    ]
    for attempt in attempts:
        assert datetime.fromisoformat(attempt["attempted_at"]).tzinfo is not None
        assert attempt["duration_ms"] >= 0


def test_pages_are_newest_first_and_end(
    sandboxes: StartSandbox, receiver: Receiver
) -> None:
    api = sandboxes(allow_loopback_callbacks=True)
    ids = [announced(api, receiver.url)["id"] for _ in range(7)]
    pages: list[list[str]] = []
    cursor: dict[str, str] = {}
    while True:
        page = api.http.get(LOG, params={"limit": 3, **cursor}).json()
        pages.append([one["id"] for one in page["data"]])
        if page["next_cursor"] is None:
            break
        announced(api, receiver.url)  # what is newer does not shift what is older
        cursor = {"cursor": page["next_cursor"]}

    newest_first = ids[::-1]
    assert pages == [newest_first[:3], newest_first[3:6], newest_first[6:]]
    exact = api.http.get(LOG, params={"limit": 9}).json()
    assert len(exact["data"]) == 9
    assert exact["next_cursor"] is None


def test_filters_choose_by_endpoint_status_and_job(
    sandboxes: StartSandbox, receiver: Receiver
) -> None:
    api = sandboxes(allow_loopback_callbacks=True)
    endpoint = register(api, receiver.url)
    by_url = announced_twice(api, receiver)
    job_id = by_url[0]["source_id"]

    to_endpoint = deliveries(api, endpoint_id=endpoint["id"])
    assert [one["endpoint_id"] for one in to_endpoint] == [endpoint["id"]]
    assert len(deliveries(api, source_id=job_id)) == 2
    assert len(deliveries(api, source_id=job_id, endpoint_id=endpoint["id"])) == 1
    assert len(deliveries(api, status="delivered")) == 2
    for nothing in (
        {"status": "pending"},
        {"status": "failed"},
        {"status": "canceled"},
        {"source_id": "media_none"},
        {"endpoint_id": "endpoint_none"},
    ):
        assert deliveries(api, **nothing) == []


def announced_twice(api: Api, receiver: Receiver) -> list[dict[str, Any]]:
    job = api.post(KIND, REJECTED | {"webhook_url": receiver.url}).json()
    receiver.until(2)
    return ended(api, source_id=job["id"])


@pytest.mark.spec("3.2")
def test_a_delivered_one_is_sent_again_under_its_webhook_id(
    hooked: Api, receiver: Receiver
) -> None:
    delivery = announced(hooked, receiver.url)
    answer = replay(hooked, delivery)

    assert answer.status_code == 200
    assert answer.json() == delivery | {
        "status": "pending",
        "next_attempt_at": answer.json()["next_attempt_at"],
    }
    first, second = receiver.until(2)
    assert first.event_id == second.event_id
    assert first.body == second.body
    (again,) = ended(hooked, source_id=delivery["source_id"])
    assert again["status"] == "delivered"
    assert again["attempts"] == 2


@pytest.mark.spec("3.2")
def test_a_failed_one_is_sent_again_through_the_whole_schedule(
    hooked: Api, receiver: Receiver
) -> None:
    receiver.script = lambda received: Answer(500)
    job = hooked.post(KIND, REJECTED | {"webhook_url": receiver.url}).json()
    hooked.running.advance(hours=62)
    (delivery,) = ended(hooked, source_id=job["id"])
    assert delivery["status"] == "failed"
    assert replay(hooked, delivery).status_code == 200
    hooked.running.advance(hours=62)

    (again,) = ended(hooked, source_id=job["id"])
    assert again["status"] == "failed"
    assert again["attempts"] == 18
    assert {one.event_id for one in receiver.received} == {delivery["event_id"]}


def test_a_pending_one_cannot_be_sent_again(hooked: Api, receiver: Receiver) -> None:
    receiver.script = lambda received: Answer(500)
    job = hooked.post(KIND, REJECTED | {"webhook_url": receiver.url}).json()
    (delivery,) = deliveries(hooked, source_id=job["id"])
    answer = replay(hooked, delivery)

    assert answer.status_code == 409
    assert "pending" in answer.json()["message"]


def test_what_was_canceled_or_has_no_endpoint_cannot_be_sent_again(
    sandboxes: StartSandbox, receiver: Receiver
) -> None:
    api = sandboxes(allow_loopback_callbacks=True)
    endpoint = register(api, receiver.url)
    path = f"endpoints/{endpoint['id']}"
    api.post(KIND, REJECTED)
    (delivered,) = ended(api)
    receiver.script = lambda received: Answer(500)
    api.post(KIND, REJECTED)
    receiver.until(2)
    admin_call(api, "PATCH", path, {"state": "disabled"})
    (canceled,) = deliveries(api, status="canceled")

    assert delivered["status"] == "delivered"
    assert canceled["endpoint_id"] == endpoint["id"]
    assert_conflict(replay(api, delivered), "no longer enabled")
    admin_call(api, "PATCH", path, {"state": "enabled"})
    assert_conflict(replay(api, canceled), "is canceled")
    admin_call(api, "DELETE", path)
    assert_conflict(replay(api, delivered), "no longer enabled")


def assert_conflict(answer: httpx.Response, words: str) -> None:
    assert answer.status_code == 409
    assert words in answer.json()["message"]
