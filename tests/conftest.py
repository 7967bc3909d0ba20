"""Shared fixtures: neutral settings, and property tests without deadlines."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator
from itertools import cycle
from pathlib import Path

import pytest
from hypothesis import settings

from mediakit import Catalog, Client
from mediakit.sandbox.jobs.renderer import POOL
from mediakit.sandbox.server.running import RunningSandbox, Sandbox, start
from tests.support.new_history import with_history
from tests.support.priced_service import PricedService
from tests.support.soak import IS_SOAK, trials

# A shared machine may be slow: time is measured only in benchmarks/.
settings.register_profile("test", deadline=None, max_examples=15, derandomize=True)
settings.register_profile("soak", deadline=None, max_examples=100, print_blob=True)
settings.load_profile("soak" if IS_SOAK else "test")

# jsonschema would build a parser of IRIs for three seconds in each process.
sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]

pytest_plugins = (
    "mediakit.testing",
    "tests.support.cpu_seconds",
    "tests.support.servers.postgres",
)

TOLD = "told"
# A JupyterLab and a Chromium take 15 CPU seconds to start. Browser tests wait so often
# that two processes of them leave a core idle.
BROWSERS = 3
PERSONAL = (
    "MEDIAKIT_BASE_URL",
    "MEDIAKIT_API_KEY",
    "MEDIAKIT_HISTORY",
    "JPY_SESSION_NAME",
)


@pytest.fixture(scope="session", autouse=True)
def _settings_of_nobody(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Isolate the tests from the user's history and from hosted services."""
    with pytest.MonkeyPatch.context() as patch:
        for name in PERSONAL:
            patch.delenv(name, raising=False)
        patch.setenv("MEDIAKIT_HOME", str(tmp_path_factory.mktemp("mediakit-home")))
        yield


@pytest.fixture(scope="session", autouse=True)
def _render_workers_stay() -> Iterator[None]:
    """Keep render workers, between sandboxes too: each takes half a second to start."""
    POOL.join()
    with pytest.MonkeyPatch.context() as patch:
        if not IS_SOAK:
            patch.setattr(POOL, "max_jobs", 500)
        yield
    POOL.leave()


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Ignore modules of the soak, which may import packages that only it installs."""
    if IS_SOAK or collection_path.suffix != ".py":
        return None
    return "\npytestmark = pytest.mark.soak\n" in collection_path.read_text() or None


def pytest_make_parametrize_id(val: object) -> str | None:
    """Name long bytes by their kind: each process makes packed ones, of any length."""
    return "bytes" if isinstance(val, bytes) and len(val) > 40 else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Function]
) -> None:
    """Deselect tests marked `soak`, unless `make soak` runs everything.

    Tests that share a browser or a Postgres run in one process each.
    """
    browsers = cycle(f"browser-{number}" for number in range(trials(1, soak=BROWSERS)))
    for item in items:
        settings = item.callspec.params if hasattr(item, "callspec") else {}
        names = [each for each in settings.values() if isinstance(each, str)]
        if item.get_closest_marker("browser"):
            item.add_marker(pytest.mark.xdist_group(next(browsers)))
        elif item.get_closest_marker("xdist_group"):
            continue  # a second group would make a third one of both
        elif "postgres" in names or "postgres_url" in item.fixturenames:
            item.add_marker(pytest.mark.xdist_group("postgres"))
    left = {item for item in items if item.get_closest_marker("soak") and not IS_SOAK}
    config.hook.pytest_deselected(items=list(left))
    items[:] = [item for item in items if item not in left]


@pytest.fixture
def no_garbage_collection() -> Iterator[None]:
    """Collect no garbage below a deep list, where callbacks have no stack left."""
    gc.disable()
    yield
    gc.enable()


@pytest.fixture
def tell(record_property: Callable[[str, object], None]) -> Callable[[str], None]:
    """Return a function that prints a text after all tests, even in xdist's workers."""
    return lambda text: record_property(TOLD, text)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the texts that tests reported."""
    reports = (one for kind in terminalreporter.stats.values() for one in kind)
    for report in reports:
        if getattr(report, "when", None) == "call":
            for name, text in report.user_properties:
                if name == TOLD:
                    terminalreporter.line(f"{text}")


@pytest.fixture(scope="session")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningSandbox]:
    """Serve a sandbox whose queueing and settling take a twentieth of the time."""
    running = start(
        Sandbox(
            tmp_path_factory.mktemp("sandbox"),
            balance_micro_usd=1_000_000_000,
            speed=20,
            sketch=True,
            allow_loopback_callbacks=True,
        )
    )
    yield running
    running.stop()


@pytest.fixture
def own_client(mediakit_sandbox: RunningSandbox) -> Iterator[Client]:
    """Return a client with a balance of its own."""
    service = mediakit_sandbox.base_url, mediakit_sandbox.api_key
    with Client(*service, catalog=Catalog.default()) as client:
        yield client


@pytest.fixture
def priced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[PricedService]:
    """Return an in-memory service whose prices change; close its clients afterwards."""
    service = PricedService(tmp_path, monkeypatch)
    yield service
    service.close()


@pytest.fixture
def client(sandbox: RunningSandbox, tmp_path: Path) -> Iterator[Client]:
    """Return a client of that sandbox with a new history."""
    # Reading the functions of the service takes longer than most tests.
    catalog, home = Catalog.default(), with_history(tmp_path / "home")
    service = sandbox.base_url, sandbox.api_key
    with Client(*service, home=home, catalog=catalog) as client:
        yield client
