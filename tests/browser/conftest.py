"""A JupyterLab server and a Chromium for each process of browser tests; one page."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect, sync_playwright

from mediakit.sandbox.server.running import RunningSandbox, Sandbox, start
from tests.browser.harness import Lab, LabPages, LabServer, serve_lab
from tests.browser.harness.wait import WAITS_S
from tests.support.sketches import add_startup

FINDER = Path(__file__).parents[2] / "tools" / "find_chromium.py"
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-quic",
    "--autoplay-policy=no-user-gesture-required",
]
# A long timeout, because other programs may use the machine, too.
expect.set_options(timeout=WAITS_S * 1000)
NOT_TESTED = "NOT TESTED: no browser test ran, because Chromium is missing."


@pytest.fixture(scope="session")
def chromium_path() -> str:
    found = subprocess.run(
        [sys.executable, FINDER], capture_output=True, text=True, check=False
    )
    if found.returncode == 0:
        return found.stdout.strip()
    reason = f"{NOT_TESTED} {' '.join(found.stderr.split())}"
    if os.environ.get("CI"):
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


@pytest.fixture(scope="package")
def browser(chromium_path: str) -> Iterator[Browser]:
    # Playwright's loop runs on this thread while it is open, so it is not kept for
    # tests of other packages, which may want to run loops of their own.
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path=chromium_path, headless=True, args=ARGUMENTS
        )
        yield chromium
        chromium.close()


@pytest.fixture(scope="session")
def filming(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningSandbox]:
    """Serve a sandbox that renders complete videos at their real speed."""
    running = start(
        Sandbox(
            tmp_path_factory.mktemp("filming"),
            balance_micro_usd=1_000_000_000,
            speed=20,
            allow_loopback_callbacks=True,
        )
    )
    yield running
    running.stop()


@pytest.fixture
def holding(tmp_path: Path) -> Iterator[RunningSandbox]:
    """Serve a sandbox that takes jobs, holds their price, and begins none."""
    running = start(
        Sandbox(
            tmp_path / "data",
            concurrency=0,
            queue_size=1_000,
            balance_micro_usd=10_000_000_000,
        )
    )
    yield running
    running.stop()


@pytest.fixture(scope="session")
def lab_server(
    chromium_path: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[LabServer]:
    folder = tmp_path_factory.mktemp("lab")
    add_startup(folder / "ipython")
    with serve_lab(folder) as server:
        yield server


@pytest.fixture(scope="package")
def lab_pages(browser: Browser) -> Iterator[LabPages]:
    pages = LabPages(browser)
    yield pages
    pages.close()


@pytest.fixture
def lab(lab_pages: LabPages, lab_server: LabServer) -> Iterator[Lab]:
    """Return the page of the previous test, or a new one if that test failed."""
    lab = Lab(lab_pages.take(), lab_server)
    yield lab
    lab_pages.put_back(lab)
    lab_server.shut_down_kernels()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    lab = getattr(item, "funcargs", {}).get("lab")
    if report.when == "call" and report.failed and isinstance(lab, Lab):
        lab.is_spoilt = True
        picture = lab.screenshot(f"failed-{item.name}")
        report.sections.append(("The page when it failed", str(picture)))
        report.sections.append(("Errors on its console", repr(lab.console_errors())))
    return report


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter,
) -> None:
    # Reports of xdist's workers reach this process; their variables do not.
    kinds = ("skipped", "error")
    reports = (one for kind in kinds for one in terminalreporter.getreports(kind))
    reasons = (_reason(report) for report in reports)
    found = next((reason for reason in reasons if NOT_TESTED in reason), None)
    if found is not None:
        terminalreporter.section(NOT_TESTED, sep="!", red=True, bold=True)
        terminalreporter.write_line(found[found.index(NOT_TESTED) :])


def _reason(report: pytest.TestReport) -> str:
    why = report.longrepr
    return str(why[2] if isinstance(why, tuple) else why)
