"""Registered endpoints, in the admin interface (spec 3.3, 6.2)."""

from typing import Any

import pytest

from tests.sandbox.conftest import Api, StartSandbox
from tests.support.sandbox.receivers import (
    Answer,
    Receiver,
    admin_call,
    deliveries,
    ended,
    receiving,
    register,
)

REJECTED = {"prompt": "sandbox:fail=rate_limited"}
PUBLIC = "https://93.184.216.34/hook"


@pytest.fixture
def alone(sandboxes: StartSandbox) -> Api:
    return sandboxes(allow_loopback_callbacks=True)


def read(api: Api, endpoint: dict[str, Any]) -> dict[str, Any]:
    answer = admin_call(api, "GET", f"endpoints/{endpoint['id']}")
    assert answer.status_code == 200
    found: dict[str, Any] = answer.json()
    return found


def end_a_job(api: Api) -> str:
    job_id: str = api.post("text-to-video", REJECTED).json()["id"]
    return job_id


def test_an_endpoint_is_registered_listed_and_deleted(alone: Api) -> None:
    made = register(alone, PUBLIC, events=["media.job.failed", "media.job.failed"])
    secret = made.pop("secret")

    assert made == {
        "id": made["id"],
        "org": "org_sandbox",
        "url": PUBLIC,
        "events": ["media.job.failed"],
        "state": "enabled",
        "created_at": made["created_at"],
    }
    assert read(alone, made) == made
    second = register(alone, PUBLIC)
    assert second["events"] is None
    assert secret not in admin_call(alone, "GET", "endpoints").text
    listed = admin_call(alone, "GET", "endpoints").json()["data"]
    assert [one["id"] for one in listed] == [made["id"], second["id"]]
    gone = admin_call(alone, "DELETE", f"endpoints/{made['id']}")
    assert gone.json() == made | {"state": "deleted"}
    listed = admin_call(alone, "GET", "endpoints").json()["data"]
    assert [one["id"] for one in listed] == [second["id"]]


@pytest.mark.spec("8")
def test_an_organization_has_at_most_16_endpoints(alone: Api) -> None:
    made = [register(alone, PUBLIC) for _ in range(16)]
    answer = admin_call(alone, "POST", "endpoints", {"url": PUBLIC})
    assert answer.status_code == 409
    assert "16" in answer.json()["message"]
    other = admin_call(
        alone, "POST", "orgs", {"name": "Other", "balance_usd": "1"}
    ).json()
    path = f"endpoints?org={other['id']}"
    assert admin_call(alone, "POST", path, {"url": PUBLIC}).status_code == 201
    admin_call(alone, "DELETE", f"endpoints/{made[0]['id']}")

    assert admin_call(alone, "POST", "endpoints", {"url": PUBLIC}).status_code == 201


@pytest.mark.spec("6.2")
@pytest.mark.parametrize(
    "url",
    [
        "http://93.184.216.34/",
        "https://192.168.1.1/",
        "https://0x7f.1/",
        "nonsense",
    ],
)
def test_a_url_against_the_policy_is_refused_with_a_sentence(
    idle: Api, url: str
) -> None:
    answer = admin_call(idle, "POST", "endpoints", {"url": url})

    assert answer.status_code == 400
    assert answer.json()["message"].startswith("url: ")
    assert admin_call(idle, "GET", "endpoints").json()["data"] == []


@pytest.mark.spec("6.1")
def test_a_test_goes_to_any_endpoint_whatever_its_filter(
    hooked: Api, receiver: Receiver
) -> None:
    endpoint = register(hooked, receiver.url, events=["media.job.completed"])
    answer = admin_call(hooked, "POST", f"endpoints/{endpoint['id']}/test")
    (received,) = receiver.until(1)
    (delivery,) = ended(hooked, endpoint_id=endpoint["id"])

    assert answer.json()["id"] == delivery["id"]
    assert answer.json()["status"] == "pending"
    event = received.verified(endpoint["secret"])
    assert event["type"] == "webhook.test"
    assert event["data"] == {"endpoint_id": endpoint["id"]}
    assert delivery["status"] == "delivered"
    assert delivery["source_id"] is None


@pytest.mark.spec("3.3")
def test_410_disables_an_endpoint_until_it_is_enabled_again(
    alone: Api, receiver: Receiver
) -> None:
    receiver.script = lambda received: Answer(410)
    endpoint = register(alone, receiver.url)
    met = end_a_job(alone)
    (delivery,) = ended(alone, source_id=met)
    missed = end_a_job(alone)

    assert delivery["status"] == "failed"
    assert read(alone, endpoint)["state"] == "gone"
    assert deliveries(alone, source_id=missed) == []
    refused = admin_call(alone, "POST", f"endpoints/{endpoint['id']}/test")
    assert refused.status_code == 409
    replay = f"/v1/webhooks/deliveries/{delivery['id']}/replay"
    assert alone.http.post(replay).status_code == 409

    receiver.script = lambda received: Answer(204)
    change = {"state": "enabled"}
    enabled = admin_call(alone, "PATCH", f"endpoints/{endpoint['id']}", change)
    assert enabled.json()["state"] == "enabled"
    assert alone.http.post(replay).status_code == 200
    heard = end_a_job(alone)
    assert [one["status"] for one in ended(alone, source_id=heard)] == ["delivered"]
    assert [one["status"] for one in ended(alone, source_id=met)] == ["delivered"]


@pytest.mark.parametrize("way", ["disabled", "deleted"])
def test_pending_deliveries_are_canceled_with_their_endpoint(
    alone: Api, receiver: Receiver, way: str
) -> None:
    receiver.script = lambda received: Answer(500)
    endpoint = register(alone, receiver.url)
    end_a_job(alone)
    receiver.until(1)
    path = f"endpoints/{endpoint['id']}"
    if way == "disabled":
        assert admin_call(alone, "PATCH", path, {"state": way}).status_code == 200
    else:
        assert admin_call(alone, "DELETE", path).status_code == 200
    end_a_job(alone)
    alone.running.advance(hours=60)

    (delivery,) = deliveries(alone)
    assert delivery["status"] == "canceled"
    assert delivery["next_attempt_at"] is None
    assert delivery["endpoint_id"] == endpoint["id"]


def test_a_changed_address_also_gets_the_pending_deliveries(
    alone: Api, receiver: Receiver
) -> None:
    receiver.script = lambda received: Answer(500)
    endpoint = register(alone, receiver.url)
    end_a_job(alone)
    (first,) = receiver.until(1)
    with receiving() as moved:
        change = {"url": moved.url, "events": ["media.job.completed"]}
        changed = admin_call(
            alone, "PATCH", f"endpoints/{endpoint['id']}", change
        ).json()
        alone.running.advance(minutes=1)
        (second,) = moved.until(1)

    assert changed["url"] == moved.url
    assert changed["events"] == ["media.job.completed"]
    assert second.event_id == first.event_id
    assert second.verified(endpoint["secret"]) == first.event
    end_a_job(alone)
    assert len(deliveries(alone)) == 1


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"state": "gone"}, 422),
        ({"events": []}, 422),
        ({"url": None}, 422),
        ({"url": "https://10.0.0.1/"}, 400),
        ({"secret": "whsec_mine"}, 422),
    ],
)
def test_a_bad_change_changes_nothing(
    hooked: Api, change: dict[str, Any], status: int
) -> None:
    endpoint = register(hooked, PUBLIC)
    answer = admin_call(hooked, "PATCH", f"endpoints/{endpoint['id']}", change)

    assert answer.status_code == status
    del endpoint["secret"]
    assert read(hooked, endpoint) == endpoint
    admin_call(hooked, "DELETE", f"endpoints/{endpoint['id']}")
