"""A page for all modules of tests, which is loaded again, empty, for each test."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser

from tests.browser.harness.wait import WAITS_S
from tests.browser.modules.bare_page import PAGE, VIEWPORT, BarePage
from tests.support.servers.file_server import FileServer


@pytest.fixture(scope="session")
def bare_address() -> Iterator[str]:
    with FileServer({"page.html": PAGE.encode()}) as server:
        yield server.url("page.html")


@pytest.fixture(scope="package")
def bare_page(browser: Browser, bare_address: str) -> Iterator[BarePage]:
    with open_bare_page(browser, bare_address) as page:
        yield page


@contextmanager
def open_bare_page(browser: Browser, bare_address: str) -> Iterator[BarePage]:
    with browser.new_context(viewport=VIEWPORT, device_scale_factor=1) as context:
        context.grant_permissions(["clipboard-read", "clipboard-write"])
        context.set_default_timeout(WAITS_S * 1000)
        page = context.new_page()
        yield BarePage(page, bare_address)


@pytest.fixture
def bare(bare_page: BarePage) -> BarePage:
    bare_page.begin()
    return bare_page
