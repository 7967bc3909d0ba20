"""Rules for every route: the key, unknown ids, and other users of the machine."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from mediakit.sandbox.server.app import ROUTES
from tests.sandbox.conftest import KITE, Api, StartSandbox, without_key

# Whoever knows the unguessable name of a file may read it, or fill it.
KEYLESS = ("/openapi.json", "/files/{name}", "/uploads/{ticket}")
GUARDED = [
    (method, route.path)
    for route in ROUTES
    if route.path not in KEYLESS
    for method in sorted((route.methods or set()) - {"HEAD"})
]
WITH_IDS = [call for call in GUARDED if "_id}" in call[1]]
BODIES: dict[str, dict[str, Any]] = {
    "/sandbox/reset": {"confirm": True},
    "/sandbox/orgs": {"name": "another"},
    "/sandbox/orgs/{org_id}": {"suspended": True},
    "/sandbox/orgs/{org_id}/grants": {"usd": 1, "kind": "fund"},
    "/sandbox/orgs/{org_id}/members": {"name": "another"},
    "/sandbox/faults": {"kind": "latency", "seconds": 1},
    "/sandbox/clock/advance": {"seconds": 3_600},
    "/v1/media/uploads": {"content_type": "image/png", "size_bytes": 1},
    "/v1/media/{vendor}/{model}/{function}": KITE,
}


@pytest.fixture(scope="module", params=["127.0.0.1", "0.0.0.0"])
def guarded(request: pytest.FixtureRequest, sandboxes: StartSandbox) -> Api:
    """A sandbox on loopback, and one that other machines can reach."""
    return sandboxes(host=request.param, concurrency=0)


def state_of(api: Api) -> dict[str, Any]:
    status: dict[str, Any] = api.http.get("/sandbox/status").json()
    del status["now"], status["ahead_s"]
    return status | {"all": api.http.get("/sandbox/orgs").json()}


@pytest.mark.spec("5")
def test_without_a_known_key_no_route_reads_or_changes_anything(guarded: Api) -> None:
    own = {"request_id": guarded.submit("text-to-video", KITE)["id"]}
    own |= {"org_id": "org_sandbox", "month": "2026-01"}
    own |= dict(zip(("vendor", "model", "function"), video(guarded), strict=True))
    before = state_of(guarded)

    for method, path in GUARDED:
        url = guarded.running.base_url + re.sub(
            r"{(\w+)}", lambda name: own.get(name[1], "none"), path
        )
        for headers in ({}, {b"X-API-Key": b"mk_of-another"}, {b"X-API-Key": b"\xe9"}):
            body = BODIES.get(path, {})
            answer = without_key(method, url, json=body, headers=list(headers.items()))
            assert (answer.status_code, list(answer.json())) == (401, ["message"]), path
    assert state_of(guarded) == before
    assert without_key("GET", f"{guarded.running.base_url}/").status_code == 404


def video(api: Api) -> list[str]:
    path: str = api.running.functions["text-to-video"]
    return path.split("/")


@pytest.mark.parametrize(("method", "path"), WITH_IDS)
def test_an_unknown_id_is_404(idle: Api, method: str, path: str) -> None:
    asked = re.sub(r"{\w+}", "none", path)
    answer = idle.http.request(method, asked, json=BODIES.get(path, {}))

    assert answer.status_code == 404
    assert list(answer.json()) == ["message"]


# Everything that opened it to every user of the machine before it asked for the key.
INTRUDER = """
import os, sys, urllib.request, urllib.error
base_url, folder, job_id = sys.argv[1:]
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
opener.open(base_url + "/openapi.json", timeout=120)  # imports all that it needs
if os.getuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
for method, path, body in (
    ("GET", "/sandbox/status", None),
    ("GET", "/sandbox/orgs", None),
    ("POST", "/sandbox/orgs/org_sandbox/keys", b"{}"),
    ("POST", "/sandbox/reset", b'{"confirm": true}'),
    ("GET", "/v1/media/jobs/" + job_id, None),
    ("DELETE", "/v1/media/jobs/" + job_id, None),
    ("GET", "/v1/webhooks/secret", None),
):
    headers = {"X-Sandbox": "1", "X-Sandbox-Token": "a-token-of-my-own"}
    request = urllib.request.Request(base_url + path, body, headers, method=method)
    try:
        print(opener.open(request, timeout=120).status)
    except urllib.error.HTTPError as refusal:
        print(refusal.code)
for name in ("account.json", "sandbox.sqlite3", "server.json", "files", "lock"):
    for flags in (os.O_RDONLY, os.O_WRONLY):
        try:
            os.close(os.open(folder + "/" + name, flags))
            print("opened", name)
        except OSError as refusal:
            print(type(refusal).__name__)
"""


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user of the machine can read; pytest's own are private."""
    with TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def test_another_user_of_the_machine_reads_and_changes_nothing(
    sandboxes: StartSandbox, open_folder: Path
) -> None:
    folder = open_folder / "data"
    api = sandboxes(folder, concurrency=0)
    job = api.submit("text-to-video", KITE)
    before = state_of(api)

    command = [sys.executable, "-I", "-c", INTRUDER, api.running.base_url]
    run = subprocess.run(
        [*command, str(folder), job["id"]], capture_output=True, text=True
    )

    refused = run.stdout.split()
    assert refused[:7] == ["401"] * 7, run.stderr
    # Only root can become another user: without it, the files are the owner's own, and
    # `test_files_in_a_readable_folder_are_private` has their permissions.
    if os.getuid() == 0:
        assert refused[7:] == ["PermissionError"] * 10, run.stdout
    assert state_of(api) == before
    assert api.job(job["id"]) == job
