"""A service in memory, and clients of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

import mediakit as mk
from tests.support.advancing_clock import AdvancingClock
from tests.support.service_in_memory import ServiceInMemory

Open = Callable[..., mk.Client]


@pytest.fixture
def service() -> ServiceInMemory:
    return ServiceInMemory()


@pytest.fixture
def clock() -> AdvancingClock:
    return AdvancingClock()


@pytest.fixture
def opened(
    service: ServiceInMemory, clock: AdvancingClock, tmp_path: Path
) -> Iterator[Open]:
    """Give a function that opens a client, as a new process would."""
    with ExitStack() as clients:
        yield lambda **settings: clients.enter_context(
            service.client(tmp_path, **{"clock": clock, **settings})
        )
