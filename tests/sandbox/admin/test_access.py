"""Who may control a sandbox that other machines can reach."""

import httpx
import pytest

from mediakit.errors import InputError, ServiceError
from mediakit.sandbox.admin import CALLS
from mediakit.sandbox.settings import Sandbox
from tests.sandbox.conftest import Api, StartSandbox

ANYWHERE = "0.0.0.0"
TOKEN = "a-token-of-my-own"
CONTROLS = [("GET", "/"), *((method, path) for method, path, _ in CALLS)]


@pytest.fixture(scope="module")
def closed(sandboxes: StartSandbox) -> Api:
    """A sandbox that listens on every address, without an admin token."""
    return sandboxes(host=ANYWHERE, concurrency=0)


@pytest.fixture(scope="module")
def guarded(sandboxes: StartSandbox) -> Api:
    """A sandbox that listens on every address, with an admin token."""
    return sandboxes(host=ANYWHERE, concurrency=0, admin_token=TOKEN)


def call(api: Api, method: str, path: str, **headers: str | bytes) -> httpx.Response:
    """Call as another machine does, by an address of the network."""
    sent: dict[str, str | bytes] = {"Host": "192.168.0.7:8000", "X-Sandbox": "1"}
    sent |= {name.replace("_", "-"): value for name, value in headers.items()}
    lines = [
        (name.encode(), value.encode() if isinstance(value, str) else value)
        for name, value in sent.items()
    ]
    url = f"{api.running.base_url}{path}"
    return httpx.request(method, url, headers=lines, trust_env=False)


@pytest.mark.parametrize(("method", "path"), CONTROLS)
def test_off_loopback_every_control_is_closed_without_a_token(
    closed: Api, guarded: Api, method: str, path: str
) -> None:
    for api in (closed, guarded):
        answer = call(api, method, path)
        assert answer.status_code == 403, answer.text
        assert "--admin-token" in answer.json()["message"]
    for token in ("", "another-token", TOKEN[:-1], TOKEN + "x", b"\xe9" * 8):
        answer = call(guarded, method, path, X_Sandbox_Token=token)
        assert answer.status_code == 403


def test_off_loopback_a_token_opens_nothing_of_a_sandbox_without_one(
    closed: Api,
) -> None:
    assert call(closed, "GET", "/sandbox/orgs", X_Sandbox_Token="").status_code == 403
    with pytest.raises(ServiceError, match="--admin-token"):
        closed.running.reset()


def test_the_token_opens_the_controls_off_loopback(guarded: Api) -> None:
    fault = guarded.running.fault("latency", seconds=0.0)
    answer = call(guarded, "GET", "/sandbox/faults", X_Sandbox_Token=TOKEN)

    assert [one["id"] for one in answer.json()["data"]] == [fault]
    assert call(guarded, "GET", "/", X_Sandbox_Token=TOKEN).status_code == 200
    assert guarded.running.clear_faults() == 1


def test_a_change_needs_its_header_beside_the_token(guarded: Api) -> None:
    answer = call(
        guarded, "DELETE", "/sandbox/faults", X_Sandbox_Token=TOKEN, X_Sandbox="0"
    )

    assert answer.status_code == 403
    assert "X-Sandbox: 1" in answer.json()["message"]


def test_the_status_and_the_interface_stay_open_off_loopback(closed: Api) -> None:
    for path in ("/sandbox/status", "/openapi.json"):
        assert call(closed, "GET", path).status_code == 200
    assert call(closed, "GET", "/billing/balance").status_code == 401


def test_on_loopback_no_token_is_needed(sandboxes: StartSandbox) -> None:
    api = sandboxes(concurrency=0, admin_token=TOKEN)

    assert api.http.get("/sandbox/orgs").status_code == 200
    assert api.running.clear_faults() == 0


@pytest.mark.parametrize("token", ["", "short", "with a space in it"])
def test_a_token_that_no_header_carries_is_refused(token: str) -> None:
    with pytest.raises(InputError, match="admin_token") as caught:
        Sandbox("unused", admin_token=token)
    assert token == "" or token not in str(caught.value)


def test_the_token_is_not_shown() -> None:
    assert TOKEN not in repr(Sandbox("unused", admin_token=TOKEN))
