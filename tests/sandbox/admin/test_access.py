"""Who may use the admin interface: whoever has an active API key of the sandbox."""

from pathlib import Path

import mediakit as mk
from tests.sandbox.conftest import StartSandbox, without_key
from tests.support.clients import http_client


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
