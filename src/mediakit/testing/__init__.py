"""Fixtures for pytest: a complete service for your tests, without an account.

Name the plugin in the `conftest.py` at the root of your tests, and install
`jupyter-mediakit[sandbox]` with your test dependencies:

    pytest_plugins = ["mediakit.testing"]

A test can then use `mediakit_sandbox`, its own sandbox, or `mediakit_client`, a client
that is connected to it:

    def test_a_thumbnail_costs_five_cents(mediakit_client):
        job = mediakit_client.run("text-to-image", prompt="a red kite")
        assert job.settle().charge_micro_usd == 50_000

Code that calls `mediakit.connect()` connects to the same sandbox. Nothing is sent to a
service that is configured on this machine, and nothing is written to its history.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from mediakit.blocking_client import Client
    from mediakit.sandbox.server.running import RunningSandbox as RunningSandbox

MARKER = "mediakit_sandbox"
SPEED = 20.0
BALANCE_MICRO_USD = 1_000_000_000

__all__ = ["RunningSandbox", "mediakit_client", "mediakit_sandbox"]


def __getattr__(name: str) -> Any:
    # Import the sandbox on first use, not when pytest loads its plugins.
    if name == "RunningSandbox":
        from mediakit.sandbox.server.running import RunningSandbox

        return RunningSandbox
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker for the settings of a test's sandbox."""
    config.addinivalue_line(
        "markers",
        f"{MARKER}(**settings): the settings of the sandbox of `mediakit_sandbox`, "
        "such as balance_micro_usd=0 or concurrency=0",
    )


@pytest.fixture
def mediakit_sandbox(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[RunningSandbox]:
    """Serve a new sandbox while the test runs.

    Its clock is twenty times as fast as real time, so that a charge settles in less
    than a tenth of a second. Films have the requested sizes and lengths, but each shot
    shows only its first frame, and scenery is coarse; `sketch=False` renders
    everything. Callbacks and input URLs on this machine are allowed, and the balance is
    $1,000.

    `advance(hours=2)` moves the clock, `fault("fail_render", count=1)` makes a render
    fail, and `seed(days=90)` adds sample jobs.
    `@pytest.mark.mediakit_sandbox(balance_micro_usd=0)` on the test, its class or its
    module changes the settings, which are those of `mediakit.sandbox.settings.Sandbox`.

    While the test runs, environment variables point to the sandbox and a temporary
    home.
    """
    from mediakit.sandbox.settings import Sandbox

    settings: dict[str, Any] = {
        "speed": SPEED,
        "sketch": True,
        "allow_loopback_callbacks": True,
        "balance_micro_usd": BALANCE_MICRO_USD,
    }
    for marker in reversed(list(request.node.iter_markers(MARKER))):
        settings |= marker.kwargs
    folder = tmp_path_factory.mktemp("mediakit")
    running = _import_start()(Sandbox(folder / "sandbox", **settings))
    monkeypatch.setenv("MEDIAKIT_BASE_URL", running.base_url)
    monkeypatch.setenv("MEDIAKIT_API_KEY", running.api_key)
    monkeypatch.setenv("MEDIAKIT_HOME", str(folder / "home"))
    monkeypatch.delenv("MEDIAKIT_HISTORY", raising=False)
    try:
        yield running
    finally:
        running.stop()


def _import_start() -> Any:
    """Import the function that starts a sandbox."""
    try:
        from mediakit.sandbox.server.running import start
    except ModuleNotFoundError as error:
        from mediakit.errors import ServiceError
        from mediakit.extras import install_command

        raise ServiceError(
            f"The sandbox needs {error.name}, which is not installed. Install it: "
            f"{install_command('sandbox')}."
        ) from None
    return start


@pytest.fixture
def mediakit_client(mediakit_sandbox: RunningSandbox) -> Iterator[Client]:
    """Connect a client with an empty history to `mediakit_sandbox`."""
    from mediakit.blocking_client import Client

    with Client(mediakit_sandbox.base_url, mediakit_sandbox.api_key) as client:
        yield client
