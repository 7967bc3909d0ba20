"""Histories for tests: in a file and, mostly in the soak, on Postgres."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from mediakit.history import History
from tests.support.soak import BOTH_DATABASES
from tests.support.submissions import START
from tests.support.virtual_clock import VirtualClock


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock(START)


@pytest.fixture(params=BOTH_DATABASES)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Path | str:
    """Return the location of a new history; a test may select it by name."""
    if request.param == "sqlite":
        return tmp_path / "history.db"
    url: str = request.getfixturevalue("postgres_url")
    return url


@pytest.fixture
def history(place: Path | str, clock: VirtualClock) -> Iterator[History]:
    with History(place, clock=clock) as opened:
        yield opened
