"""Who may use the admin interface: whoever has an active API key of the sandbox."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx
import pytest

import mediakit as mk
from tests.sandbox.conftest import KITE, Api, StartSandbox

ENDPOINT = "/sandbox/endpoints/endpoint_1"
CALLS = [
    ("GET", "/sandbox/status"),
    ("GET", "/sandbox/clock"),
    ("POST", "/sandbox/clock/advance"),
    ("GET", "/sandbox/faults"),
    ("POST", "/sandbox/faults"),
    ("DELETE", "/sandbox/faults"),
    ("DELETE", "/sandbox/faults/fault_1"),
    ("POST", "/sandbox/seed"),
    ("POST", "/sandbox/reset"),
    ("GET", "/sandbox/endpoints"),
    ("POST", "/sandbox/endpoints"),
    ("GET", ENDPOINT),
    ("PATCH", ENDPOINT),
    ("DELETE", ENDPOINT),
    ("POST", f"{ENDPOINT}/test"),
    ("GET", f"{ENDPOINT}/secret"),
    ("POST", f"{ENDPOINT}/secret/rotate"),
    ("GET", "/sandbox/orgs"),
    ("POST", "/sandbox/orgs"),
    ("PATCH", "/sandbox/orgs/org_sandbox"),
    ("POST", "/sandbox/orgs/org_sandbox/grants"),
    ("POST", "/sandbox/orgs/org_sandbox/members"),
    ("POST", "/sandbox/orgs/org_sandbox/keys"),
    ("PATCH", "/sandbox/keys/key_1"),
]
BODIES = {
    "/sandbox/reset": {"confirm": True},
    "/sandbox/orgs": {"name": "another"},
    "/sandbox/orgs/org_sandbox": {"suspended": True},
    "/sandbox/faults": {"kind": "latency", "seconds": 1},
    "/sandbox/clock/advance": {"seconds": 3_600},
}
# Everything that opened it to every user of the machine before it asked for the key.
FORMER_HEADERS = {"X-Sandbox": "1", "X-Sandbox-Token": "a-token-of-my-own"}


@pytest.fixture(scope="module", params=["127.0.0.1", "0.0.0.0"])
def guarded(request: pytest.FixtureRequest, sandboxes: StartSandbox) -> Api:
    """A sandbox on loopback, and one that other machines can reach."""
    return sandboxes(host=request.param, concurrency=0)


def call(api: Api, method: str, path: str, **headers: str) -> httpx.Response:
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    with httpx.Client(
        base_url=api.running.base_url, trust_env=False, verify=False
    ) as http:
        return http.request(
            method, path, json=BODIES.get(path, {}), headers=FORMER_HEADERS | sent
        )


@pytest.mark.parametrize(("method", "path"), CALLS)
def test_without_an_active_key_no_call_reads_or_changes_anything(
    guarded: Api, method: str, path: str
) -> None:
    before = guarded.http.get("/sandbox/status").json()

    missing = call(guarded, method, path)
    unknown = call(guarded, method, path, X_API_Key="mk_of-somebody-else")

    for answer in (missing, unknown):
        assert answer.status_code == 401
        assert list(answer.json()) == ["message"]
    after = guarded.http.get("/sandbox/status").json()
    for moving in ("now", "ahead_s"):
        del before[moving], after[moving]
    assert after == before


def test_an_inactive_key_opens_nothing_and_the_last_active_one_stays(
    sandboxes: StartSandbox,
) -> None:
    api = sandboxes(concurrency=0)
    second = api.http.post("/sandbox/orgs/org_sandbox/keys", json={}).json()
    second_http = httpx.Client(
        base_url=api.running.base_url,
        headers={"X-API-Key": second["key"]},
        trust_env=False,
        verify=False,
    )
    with second_http:
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
    answer = call(api, "POST", "/sandbox/reset", X_API_Key=made["key"])
    assert answer.status_code == 200

    assert api.http.get("/sandbox/status").status_code == 200
    assert api.balance() == 100_000_000
    assert call(api, "GET", "/sandbox/orgs", X_API_Key=made["key"]).status_code == 401


def test_there_is_no_page_and_the_interface_describes_itself_to_everyone(
    guarded: Api,
) -> None:
    assert guarded.http.get("/").status_code == 404
    assert call(guarded, "GET", "/openapi.json").status_code == 200


INTRUDER = """
import os, sys, urllib.request, urllib.error
base_url, folder = sys.argv[1:]
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
opener.open(base_url + "/openapi.json", timeout=30)  # imports all that it needs
os.setgroups([])
os.setgid(65534)
os.setuid(65534)
for path, body in (
    ("/sandbox/status", None),
    ("/sandbox/orgs", None),
    ("/sandbox/orgs/org_sandbox/keys", b"{}"),
    ("/sandbox/reset", b'{"confirm": true}'),
):
    request = urllib.request.Request(base_url + path, body, {"X-Sandbox": "1"})
    try:
        print(opener.open(request, timeout=30).status)
    except urllib.error.HTTPError as refusal:
        print(refusal.code)
for name in ("account.json", "sandbox.sqlite3"):
    try:
        open(folder + "/" + name, "rb").read()
        print("read", name)
    except OSError as refusal:
        print(type(refusal).__name__)
"""


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user of the machine can read; pytest's own are private."""
    with TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become another user")
def test_another_user_of_the_machine_reads_and_changes_nothing(
    sandboxes: StartSandbox, open_folder: Path
) -> None:
    folder = open_folder / "data"
    api = sandboxes(folder, concurrency=0)
    job = api.submit("text-to-video", KITE)

    run = subprocess.run(
        [
            sys.executable,
            "-I",
            "-c",
            INTRUDER,
            api.running.base_url,
            folder,
        ],
        capture_output=True,
        text=True,
        timeout=60,
    )

    assert run.stdout.split() == [*["401"] * 4, *["PermissionError"] * 2], run.stderr
    assert api.job(job["id"])["status"] == "queued"


def test_a_client_knows_a_sandbox_that_was_started_by_hand(
    tmp_path: Path, sandboxes: StartSandbox
) -> None:
    running = sandboxes(concurrency=0).running

    with mk.Client(running.base_url, running.api_key, home=tmp_path) as client:
        assert client.submit("text-to-video", prompt="a kite", duration=3).id
        assert client.seed_past(days=5, jobs=20).added_to_history == 20
