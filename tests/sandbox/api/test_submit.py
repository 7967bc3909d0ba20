"""Submitting over HTTP: every status, both error shapes, idempotency (spec 4.3)."""

import uuid
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.sandbox.conftest import KITE, Api, StartSandbox

KIND = "text-to-video"


def new_key() -> str:
    return uuid.uuid4().hex


def test_a_submit_answers_the_queued_job_with_null_billing_and_nothing_else(
    idle: Api,
) -> None:
    answer = idle.post(KIND, KITE)

    job = answer.json()
    assert answer.status_code == 200
    assert job == {"id": job["id"], "status": "queued", "billing": None}
    assert str(uuid.UUID(job["id"].removeprefix("media_"))) == job["id"][6:]


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("POST", "/v1/media/sandbox/text-to-video/nothing", 404),
        ("POST", "/v1/media/sandbox/r1/text-to-video", 404),
        ("GET", "/v1/media/a/b/c/d", 404),
        ("GET", "/nowhere", 404),
        ("DELETE", "/billing/balance", 405),
    ],
)
def test_what_is_not_served_is_refused_with_a_message(
    idle: Api, method: str, path: str, status: int
) -> None:
    answer = idle.http.request(method, path, json=KITE)

    assert answer.status_code == status
    assert list(answer.json()) == ["message"]


def test_a_method_that_is_not_served_is_answered_with_all_that_are(idle: Api) -> None:
    answer = idle.http.put("/v1/media/jobs/media_1")

    assert (answer.status_code, answer.headers["Allow"]) == (405, "DELETE, GET, HEAD")


def test_unknown_properties_pass_where_the_interface_is_silent(idle: Api) -> None:
    body = {"prompt": "a", "duration": 5, "not_in_the_table": {"a": [1]}}

    assert idle.submit("r1", body)["status"] == "queued"


def test_nulls_and_defaults_are_the_same_request(idle: Api) -> None:
    key = new_key()
    first = idle.submit(KIND, KITE, key)

    again = idle.submit(
        KIND,
        {"multi_shot": None, "audio": "off", "webhook_url": None, **KITE},
        key,
    )

    assert again["id"] == first["id"]


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        (KIND, {"prompt": "another"}),
        (KIND, {"duration": 4}),
        (KIND, {"webhook_url": "https://93.184.216.34/hook"}),
        ("r1", {"duration": 5}),
    ],
)
def test_a_key_with_another_request_is_409_and_makes_nothing(
    idle: Api, kind: str, change: dict[str, Any]
) -> None:
    key = new_key()
    first = idle.submit(KIND, KITE, key)

    answer = idle.post(kind, KITE | change, key)

    assert answer.status_code == 409
    assert list(answer.json()) == ["message"]
    assert idle.submit(KIND, KITE, key)["id"] == first["id"]


def test_refused_requests_do_not_bind_the_key(idle: Api) -> None:
    key = new_key()
    bad_callback = KITE | {"webhook_url": "http://93.184.216.34/hook"}

    assert idle.post(KIND, KITE | {"duration": 0}, key).status_code == 422
    assert idle.post(KIND, bad_callback, key).status_code == 400
    assert idle.http.post(
        "/v1/media/a/b/c", json=KITE, headers={"Idempotency-Key": key}
    ).is_client_error

    assert idle.submit(KIND, KITE | {"duration": 4}, key)["status"] == "queued"


@pytest.mark.parametrize("key", ["", "k" * 256])
def test_a_key_of_no_or_too_much_length_is_422(idle: Api, key: str) -> None:
    answer = idle.post(KIND, KITE, key)

    assert answer.status_code == 422
    assert answer.json()["message"].startswith("Idempotency-Key: ")


def test_twenty_posts_at_once_with_one_key_make_one_job(idle: Api) -> None:
    key = new_key()
    with ThreadPoolExecutor(20) as pool:
        posts = [pool.submit(idle.submit, KIND, KITE, key) for _ in range(20)]

    assert len({post.result()["id"] for post in posts}) == 1


def test_a_repeat_of_an_ended_job_answers_it_as_it_stands(api: Api) -> None:
    key = new_key()
    body = {"image_url": "http://10.0.0.1/x.png"}
    job = api.settled(api.submit("image-upscale", body, key)["id"])

    assert job["status"] == "failed"
    assert api.submit("image-upscale", body, key) == job


def test_what_the_balance_cannot_carry_is_a_failed_job_at_403(
    sandboxes: StartSandbox,
) -> None:
    api = sandboxes(balance_micro_usd=203_999, settle_after_s=0.05)
    key = new_key()

    answer = api.post(KIND, KITE, key)

    job = answer.json()
    assert answer.status_code == 403
    assert job == {
        "id": job["id"],
        "status": "failed",
        "error": {"code": "insufficient_balance", "message": job["error"]["message"]},
        "usage": None,
        "billing": None,
    }
    settled = api.settled(job["id"])
    assert settled["billing"] == {"state": "settled", "charge_micro_usd": 0}
    # The key is bound to the failed job, whose replay is no rejection any more.
    assert api.submit(KIND, KITE, key) == settled
    assert api.balance() == 203_999


def test_a_job_that_uses_the_balance_up_is_admitted(sandboxes: StartSandbox) -> None:
    api = sandboxes(balance_micro_usd=204_000, concurrency=0)

    assert api.submit(KIND, KITE)["status"] == "queued"
    assert api.post(KIND, KITE).status_code == 403
    assert api.balance() == 204_000


@pytest.mark.parametrize(
    "url",
    [
        "http://93.184.216.34/hook",
        "https://93.184.216.34:8443/hook",
        "https://user:pass@93.184.216.34/hook",
        "https://127.0.0.1/hook",
        "https://169.254.169.254/latest",
        "https://[::ffff:10.0.0.1]/hook",
        "https://no-such-host.invalid/hook",
        "ftp://93.184.216.34/hook",
        "not a url",
    ],
)
def test_a_callback_that_breaks_the_policy_is_400(idle: Api, url: str) -> None:
    answer = idle.post(KIND, KITE | {"webhook_url": url})

    assert answer.status_code == 400
    assert list(answer.json()) == ["message"]
    assert "webhook_url" in answer.json()["message"]


def test_loopback_callbacks_are_accepted_only_when_allowed(
    sandboxes: StartSandbox,
) -> None:
    api = sandboxes(concurrency=0, allow_loopback_callbacks=True)

    def answer(url: str) -> int:
        return api.post(KIND, KITE | {"webhook_url": url}).status_code

    assert answer("http://127.0.0.1:9999/hook") == 200
    assert answer("http://localhost:9999/hook") == 200
    assert answer("http://10.0.0.1:9999/hook") == 400
    assert answer("http://169.254.169.254/") == 400
    assert answer(f"{api.running.base_url}/hook") == 400
