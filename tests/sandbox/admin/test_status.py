"""The status of the sandbox, for programs and for people who ask it."""

from pathlib import Path

import pytest

import mediakit as mk
from tests.sandbox.conftest import KITE, Api, StartSandbox, without_key
from tests.support.clients import http_client

# Port 1 of this machine: nobody listens there.
RECEIVER = "http://127.0.0.1:1/hook"


@pytest.fixture(scope="module")
def busy(sandboxes: StartSandbox) -> Api:
    """A sandbox with something of everything."""
    api = sandboxes(concurrency=1, allow_loopback_callbacks=True, settle_after_s=0)
    api.running.fault("fail_render", count=1, message="it broke")
    failed = api.submit("text-to-video", {**KITE, "webhook_url": RECEIVER})
    api.settled(failed["id"])
    api.running.fault("stuck_queue")
    later = {"name": "Later", "mode": "postpaid", "cycle_limit_usd": "7"}
    assert api.http.post("/sandbox/orgs", json=later).is_success
    api.submit("text-to-video", KITE)
    return api


def test_the_status_names_the_sandbox_without_prompts_and_keys(idle: Api) -> None:
    job = idle.submit("text-to-video", KITE)
    answer = idle.http.get("/sandbox/status")

    status = answer.json()
    assert status["identity"] == idle.running.identity
    assert status["base_url"] == idle.running.base_url
    assert status["functions"] == idle.running.functions
    assert status["jobs"][0]["id"] == job["id"]
    assert KITE["prompt"] not in answer.text
    assert idle.running.api_key not in answer.text


def test_the_status_has_the_money_and_the_queue_of_every_organization(
    busy: Api,
) -> None:
    own, later = busy.http.get("/sandbox/status").json()["orgs"]

    assert (own["balance_micro_usd"], own["queued"]) == (100_000_000, 1)
    assert own["available_micro_usd"] < 100_000_000  # the queued job is held
    assert (later["mode"], later["available_micro_usd"]) == ("postpaid", 7_000_000)


def test_the_status_has_what_has_not_arrived_and_the_faults_in_force(
    busy: Api,
) -> None:
    busy.running.advance(hours=80)
    status = busy.http.get("/sandbox/status").json()

    assert status["ahead_s"] > 80 * 3_600 - 60
    assert status["deliveries"] == {"failed": 1}
    (lost,) = status["undelivered"]
    assert (lost["event_type"], lost["reason"]) == ("media.job.failed", "connect")
    assert [fault["kind"] for fault in status["faults"]] == ["stuck_queue"]


def test_all_instants_have_one_spelling(busy: Api) -> None:
    status = busy.http.get("/sandbox/status").json()

    assert status["now"].endswith("Z")
    assert status["jobs"][0]["created_at"].endswith("Z")


# -- who may use it --------------------------------------------------------------------


# Everything that opened it to every user of the machine before it asked for the key.
def test_an_inactive_key_opens_nothing_and_the_last_active_one_stays(
    sandboxes: StartSandbox,
) -> None:
    api = sandboxes(concurrency=0)
    second = api.http.post("/sandbox/orgs/org_sandbox/keys", json={}).json()
    with http_client(api.running.base_url, second["key"]) as second_http:
        assert second_http.get("/sandbox/orgs").status_code == 200
        off = {"state": "inactive"}
        own = second_http.patch(f"/sandbox/keys/{second['id']}", json=off)
        assert own.status_code == 409
        assert second_http.get("/sandbox/orgs").status_code == 200

        api.http.patch(f"/sandbox/keys/{second['id']}", json=off).raise_for_status()
        assert second_http.get("/sandbox/orgs").status_code == 403


def test_a_reset_keeps_the_key_even_if_another_key_asks_for_it(
    sandboxes: StartSandbox,
) -> None:
    api = sandboxes(concurrency=0)
    made = api.http.post("/sandbox/orgs/org_sandbox/keys", json={}).json()
    url, other = f"{api.running.base_url}/sandbox", {"X-API-Key": made["key"]}
    asked = {"confirm": True}
    assert without_key("POST", f"{url}/reset", json=asked, headers=other).is_success

    assert api.http.get("/sandbox/status").status_code == 200
    assert api.balance() == 100_000_000
    assert without_key("GET", f"{url}/orgs", headers=other).status_code == 401


def test_a_client_knows_a_sandbox_that_was_started_by_hand(
    tmp_path: Path, sandboxes: StartSandbox
) -> None:
    running = sandboxes(concurrency=0).running

    with mk.Client(running.base_url, running.api_key, home=tmp_path) as client:
        assert client.submit("text-to-video", prompt="a kite", duration=3).id
        assert client.seed_past(days=5, jobs=20).added_to_history == 20
