"""A service with scripted bills, and a client of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from mediakit import Catalog, Client
from tests.support.servers.billing_server import BillingServer


@pytest.fixture
def service() -> Iterator[BillingServer]:
    with BillingServer() as server:
        yield server


@pytest.fixture
def client(service: BillingServer, tmp_path: Path) -> Iterator[Client]:
    with Client(
        service.base_url, "key", home=tmp_path / "home", catalog=Catalog.default()
    ) as its_client:
        yield its_client
