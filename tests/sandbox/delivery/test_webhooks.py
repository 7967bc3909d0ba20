"""The end of a job is announced, signed, once to each receiver (spec 6)."""

import uuid
from datetime import datetime
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from standardwebhooks import WebhookVerificationError

from tests.sandbox.conftest import Api, StartSandbox, png
from tests.support.sandbox.admin import AdminClient
from tests.support.sandbox.receivers import (
    Answer,
    Received,
    Receiver,
    admin_call,
    deliveries,
    ended,
    in_turn,
    register,
)

KIND = "text-to-video"
FAILS = {"prompt": "sandbox:fail=content_moderation"}


def secret_of(api: Api) -> str:
    secret: str = api.http.get("/v1/webhooks/secret").json()["secret"]
    return secret


def now_of(api: Api) -> str:
    now: str = api.http.get("/sandbox/clock").json()["now"]
    return now


def upscale(api: Api, **more: Any) -> dict[str, Any]:
    picture = api.upload("image/png", png())
    return api.submit("image-upscale", {"image_url": picture, **more})


@pytest.mark.spec("6.3")
def test_a_completed_job_is_announced_to_its_webhook_url(
    hooked: Api, receiver: Receiver
) -> None:
    before = now_of(hooked)
    job = upscale(hooked, webhook_url=f"{receiver.url}?of=mine")
    (received,) = receiver.until(1)

    event = received.verified(secret_of(hooked))
    assert received.path == "/hook?of=mine"
    assert received.headers["content-type"] == "application/json"
    assert received.headers["user-agent"].endswith("/1.0")
    assert received.headers["content-length"] == str(len(received.body))
    assert str(uuid.UUID(received.event_id.removeprefix("msg_"))) in received.event_id
    assert list(event) == ["data", "timestamp", "type"]
    assert event["type"] == "media.job.completed"
    assert datetime.fromisoformat(event["timestamp"]).utcoffset() is not None
    assert before < event["timestamp"] < now_of(hooked)
    read = hooked.settled(job["id"])
    path = hooked.running.functions["image-upscale"]
    assert event["data"] == read | {
        "model_id": path,
        "runtime_s": event["data"]["runtime_s"],
        "error": None,
        "billing": None,
    }
    assert event["data"]["runtime_s"] > 0


@pytest.mark.spec("6.2")
def test_a_failing_job_is_announced_to_the_same_url(
    hooked: Api, receiver: Receiver
) -> None:
    job = hooked.submit(KIND, FAILS | {"webhook_url": receiver.url})
    (received,) = receiver.until(1)

    event = received.verified(secret_of(hooked))
    assert event["type"] == "media.job.failed"
    assert event["data"] == {
        "id": job["id"],
        "status": "failed",
        "error": hooked.job(job["id"])["error"],
        "usage": None,
        "billing": None,
        "model_id": hooked.running.functions[KIND],
        "runtime_s": None,
    }
    assert event["data"]["error"]["code"] == "content_moderation"


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("insufficient_balance", 403),
        ("rate_limited", 429),
        ("provider_unavailable", 503),
    ],
)
def test_a_job_that_is_rejected_is_announced_too(
    hooked: Api, receiver: Receiver, code: str, status: int
) -> None:
    body = {"prompt": f"sandbox:fail={code}", "webhook_url": receiver.url}
    answer = hooked.post(KIND, body)
    (received,) = receiver.until(1)

    assert answer.status_code == status
    assert received.event["type"] == "media.job.failed"
    assert received.event["data"]["id"] == answer.json()["id"]
    assert received.event["data"]["error"]["code"] == code


@pytest.mark.spec("6.6")
def test_each_receiver_gets_the_one_event_under_its_own_secret(
    sandboxes: StartSandbox, receiver: Receiver
) -> None:
    api = sandboxes(allow_loopback_callbacks=True)
    secrets = {
        f"/{name}": register(api, receiver.url.replace("/hook", f"/{name}"))["secret"]
        for name in ("one", "two")
    }
    api.submit(KIND, FAILS | {"webhook_url": receiver.url})
    received = {one.path: one for one in receiver.until(3)}

    secrets["/hook"] = secret_of(api)
    assert received.keys() == secrets.keys()
    assert len(set(secrets.values())) == 3
    assert len({one.event_id for one in received.values()}) == 1
    assert len({one.body for one in received.values()}) == 1
    for path, one in received.items():
        for of, secret in secrets.items():
            if of == path:
                one.verified(secret)
            else:
                with pytest.raises(WebhookVerificationError):
                    one.verified(secret)


@pytest.mark.spec("6.1")
def test_a_filter_limits_an_endpoint_to_the_listed_types(
    sandboxes: StartSandbox, receiver: Receiver
) -> None:
    api = sandboxes(allow_loopback_callbacks=True)
    filters = {"failed": ["media.job.failed"], "completed": ["media.job.completed"]}
    filters["both"] = filters["failed"] + filters["completed"]
    for name, events in [*filters.items(), ("all", None)]:
        register(api, receiver.url.replace("/hook", f"/{name}"), events=events)
    api.submit(KIND, FAILS)
    upscale(api)
    received = receiver.until(6)

    heard = {(one.path, one.event["type"]) for one in received}
    assert heard == {
        ("/failed", "media.job.failed"),
        ("/completed", "media.job.completed"),
        ("/both", "media.job.failed"),
        ("/both", "media.job.completed"),
        ("/all", "media.job.failed"),
        ("/all", "media.job.completed"),
    }
    assert len(ended(api)) == 6


def test_a_job_without_a_receiver_causes_no_delivery(
    sandboxes: StartSandbox, receiver: Receiver
) -> None:
    api = sandboxes(allow_loopback_callbacks=True)
    job = api.submit(KIND, FAILS)
    api.ended(job["id"])
    api.running.advance(hours=1)
    register(api, receiver.url)

    assert deliveries(api) == []


def test_a_repeated_submit_announces_nothing_again(
    hooked: Api, receiver: Receiver
) -> None:
    key, body = uuid.uuid4().hex, FAILS | {"webhook_url": receiver.url}
    job = hooked.submit(KIND, body, key)
    receiver.until(1)
    assert hooked.submit(KIND, body, key)["status"] == "failed"
    rejected = {"prompt": "sandbox:fail=rate_limited", "webhook_url": receiver.url}
    first = hooked.post(KIND, rejected, f"{key}-2").json()
    assert hooked.submit(KIND, rejected, f"{key}-2")["id"] == first["id"]

    for job_id in (job["id"], first["id"]):
        assert len(ended(hooked, source_id=job_id)) == 1


def test_an_event_shows_the_job_as_it_ended_also_after_it_was_erased(
    hooked: Api, receiver: Receiver
) -> None:
    receiver.script = in_turn(Answer(500), Answer(204))
    job = upscale(hooked, webhook_url=receiver.url)
    receiver.until(1)
    hooked.http.delete(f"/v1/media/jobs/{job['id']}")
    hooked.running.advance(minutes=1)

    first, second = receiver.until(2)
    assert first.body == second.body
    assert "output" in second.event["data"]
    assert "deleted_at" not in second.event["data"]
    (delivery,) = deliveries(hooked, source_id=job["id"])
    assert delivery["status"] == "delivered"


def test_a_reset_forgets_endpoints_secrets_and_deliveries(
    sandboxes: StartSandbox, receiver: Receiver
) -> None:
    released = Event()

    def hang(received: Received) -> Answer:
        released.wait()
        return Answer(204)

    receiver.script = hang
    api = sandboxes(allow_loopback_callbacks=True)
    old = secret_of(api)
    register(api, receiver.url)
    api.submit(KIND, FAILS | {"webhook_url": receiver.url})
    receiver.until(2)
    api.running.reset()
    released.set()
    assert deliveries(api) == []
    assert admin_call(api, "GET", "endpoints").json()["data"] == []
    assert secret_of(api) != old

    api.submit(KIND, FAILS | {"webhook_url": receiver.url})
    assert [one["status"] for one in ended(api)] == ["delivered"]


def test_stopping_does_not_wait_for_a_receiver_that_hangs(
    sandboxes: StartSandbox, tmp_path: Path, receiver: Receiver
) -> None:
    released = Event()

    def hang(received: Received) -> Answer:
        released.wait()
        return Answer(204)

    receiver.script = hang
    api = sandboxes(tmp_path, allow_loopback_callbacks=True)
    api.submit(KIND, FAILS | {"webhook_url": receiver.url})
    receiver.until(1)
    api.running.stop()

    assert not released.is_set()
    released.set()


def test_another_organization_has_endpoints_deliveries_and_secrets_of_its_own(
    hooked: Api, receiver: Receiver
) -> None:
    with AdminClient(hooked) as admin:
        org = admin.org()
        other = admin.user(org).http
        endpoint = admin_call(
            hooked, "POST", f"endpoints?org={org}", {"url": receiver.url}
        ).json()
        job = hooked.submit(KIND, FAILS | {"webhook_url": receiver.url})
        (mine,) = ended(hooked, source_id=job["id"])

        path = f"/v1/webhooks/deliveries/{mine['id']}"
        answers = [other.get(path), other.get(f"{path}/attempts")]
        answers.append(other.post(f"{path}/replay"))
        assert [answer.status_code for answer in answers] == [404] * 3
        assert other.get("/v1/webhooks/deliveries").json()["data"] == []
        theirs = other.get("/v1/webhooks/secret").json()["secret"]
        assert theirs != secret_of(hooked)
        listed = admin_call(hooked, "GET", f"endpoints?org={org}").json()["data"]
        assert [one["id"] for one in listed] == [endpoint["id"]]


def test_an_event_names_the_address_at_which_the_job_was_submitted(
    sandboxes: StartSandbox, receiver: Receiver
) -> None:
    api = sandboxes(host="0.0.0.0", allow_loopback_callbacks=True)
    address = "media.example:8000"
    picture = api.upload("image/png", png())
    answer = api.http.post(
        api.path("image-upscale"),
        json={"image_url": picture, "webhook_url": receiver.url},
        headers={"Host": address},
    )
    assert answer.is_success
    (received,) = receiver.until(1)

    url = received.event["data"]["output"]["image"]["url"]
    assert url.startswith(f"http://{address}/files/")
