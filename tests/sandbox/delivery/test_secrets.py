"""Signing secrets and their rotation (spec 6.6)."""

import base64
from typing import Any

import pytest
from standardwebhooks import WebhookVerificationError

from tests.sandbox.conftest import Api, StartSandbox
from tests.support.clients import http_client
from tests.support.sandbox.receivers import (
    Received,
    Receiver,
    admin_call,
    register,
)

SECRET = "/v1/webhooks/secret"
REJECTED = {"prompt": "sandbox:fail=rate_limited"}
DAY_S = 86_400


def read(api: Api) -> str:
    secret: str = api.http.get(SECRET).json()["secret"]
    return secret


def rotate(api: Api, **body: Any) -> dict[str, Any]:
    answer = api.http.post(f"{SECRET}/rotate", json=body)
    assert answer.status_code == 200, answer.text
    rotated: dict[str, Any] = answer.json()
    return rotated


def announced(api: Api, receiver: Receiver) -> Received:
    """End a job with a `webhook_url`; return what came there."""
    before = len(receiver.received)
    api.post("text-to-video", REJECTED | {"webhook_url": receiver.url})
    return receiver.until(before + 1)[-1]


def signers(received: Received, secrets: list[str]) -> list[bool]:
    """Tell which secrets signed, each alone and by the library."""
    return [_verifies(received, secret) for secret in secrets]


def _verifies(received: Received, secret: str) -> bool:
    try:
        received.verified(secret)
    except WebhookVerificationError:
        return False
    return True


def signatures_of(received: Received) -> list[str]:
    return received.headers["webhook-signature"].split(" ")


@pytest.mark.spec("4.20")
def test_the_secret_is_minted_on_the_first_read_and_stays(
    sandboxes: StartSandbox,
) -> None:
    api = sandboxes(concurrency=0)
    first = api.http.get(SECRET)

    assert list(first.json()) == ["secret"]
    assert first.headers["cache-control"] == "no-store"
    assert read(api) == first.json()["secret"]
    prefix, body = read(api)[:6], read(api)[6:]
    assert prefix == "whsec_"
    assert len(base64.b64decode(body, validate=True)) == 32


def test_a_delivery_before_any_read_is_signed_with_the_secret_that_is_read_later(
    sandboxes: StartSandbox, receiver: Receiver
) -> None:
    api = sandboxes(allow_loopback_callbacks=True)
    received = announced(api, receiver)

    assert signers(received, [read(api)]) == [True]


@pytest.mark.spec("6.6")
def test_both_secrets_sign_while_a_rotation_overlaps(
    hooked: Api, receiver: Receiver
) -> None:
    old = read(hooked)
    rotated = rotate(hooked)
    new = rotated["secret"]
    during = announced(hooked, receiver)
    hooked.running.advance(seconds=DAY_S + 1)
    after = announced(hooked, receiver)

    assert read(hooked) == new != old
    assert rotated["previous_expires_at"] is not None
    assert len(signatures_of(during)) == 2
    assert signers(during, [old, new]) == [True, True]
    assert len(signatures_of(after)) == 1
    assert signers(after, [old, new]) == [False, True]


@pytest.mark.parametrize("overlap_s", [0, 1, 3_600, DAY_S])
def test_the_overlap_is_as_long_as_asked(
    hooked: Api, receiver: Receiver, overlap_s: int
) -> None:
    rotate(hooked, expire_in_seconds=0)
    before, old = hooked.http.get("/sandbox/clock").json()["now"], read(hooked)
    rotated = rotate(hooked, expire_in_seconds=overlap_s)
    hooked.running.advance(seconds=overlap_s)
    received = announced(hooked, receiver)

    until = rotated["previous_expires_at"]
    if overlap_s:
        assert before < until < hooked.http.get("/sandbox/clock").json()["now"]
    else:
        assert until is None
    assert len(signatures_of(received)) == 1
    assert signers(received, [old, rotated["secret"]]) == [False, True]


def test_after_two_rotations_the_newest_two_sign(
    hooked: Api, receiver: Receiver
) -> None:
    secrets = [read(hooked)] + [rotate(hooked)["secret"] for _ in range(2)]
    received = announced(hooked, receiver)

    assert len(signatures_of(received)) == 2
    assert signers(received, secrets) == [False, True, True]


def test_rotating_before_any_read_mints_the_first_secret(
    sandboxes: StartSandbox,
) -> None:
    api = sandboxes(concurrency=0)
    rotated = rotate(api)

    assert rotated == {"secret": read(api), "previous_expires_at": None}


@pytest.mark.spec("5")
@pytest.mark.parametrize(
    ("role", "status"), [("owner", 200), ("admin", 200), ("member", 403)]
)
def test_owners_and_admins_rotate_and_members_read(
    hooked: Api, role: str, status: int
) -> None:
    asked = {"name": "Ada", "role": role}
    member = admin_call(hooked, "POST", "orgs/org_sandbox/members", asked).json()
    key = admin_call(hooked, "POST", "orgs/org_sandbox/keys", {"member": member["id"]})
    with http_client(hooked.running.base_url, key.json()["key"]) as http:
        assert http.get(SECRET).json()["secret"] == read(hooked)
        answer = http.post(f"{SECRET}/rotate", json={})

    assert answer.status_code == status
    if status == 403:
        assert list(answer.json()) == ["message"]


def test_an_endpoints_secret_is_read_and_rotated_by_itself(
    hooked: Api, receiver: Receiver
) -> None:
    endpoint = register(hooked, receiver.url)
    path = f"endpoints/{endpoint['id']}/secret"
    old = admin_call(hooked, "GET", path).json()["secret"]
    of_org = read(hooked)
    rotated = admin_call(
        hooked, "POST", f"{path}/rotate", {"expire_in_seconds": 60}
    ).json()
    hooked.post("text-to-video", REJECTED)
    (received,) = receiver.until(1)

    assert old == endpoint["secret"]
    assert signers(received, [old, rotated["secret"]]) == [True, True]
    assert read(hooked) == of_org
    refused = admin_call(hooked, "POST", f"{path}/rotate", {"expire_in_seconds": -1})
    assert refused.status_code == 422
    admin_call(hooked, "DELETE", f"endpoints/{endpoint['id']}")
    assert admin_call(hooked, "GET", path).status_code == 404
