"""An error reports only known facts: what was sent, and where a redirect leads."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mediakit.client import Service
from mediakit.errors import MediakitError
from mediakit.history import EntryState, History
from tests.support.advancing_clock import AdvancingClock
from tests.support.clients import async_client
from tests.support.servers.scripted_server import (
    Script,
    ScriptedServer,
    Visit,
    json_page,
    page,
)

KEY = "key-0123456789abcdef"
BALANCE = {"balance_micro_usd": 9_000_000}
NOT_KNOWN = "not known whether the job was created"


@pytest.fixture
def history(tmp_path: Path) -> Iterator[History]:
    with History(tmp_path / "history.sqlite3") as opened:
        yield opened


def submits(each: bytes) -> Script:
    """Respond to balance reads normally, and to submissions with these bytes."""

    def play(visit: Visit) -> None:
        while request := visit.request():
            is_read = request.startswith(b"GET /billing/balance")
            visit.say(json_page(BALANCE) if is_read else each)

    return play


def refusal(server: ScriptedServer, history: History) -> MediakitError:
    """Return the error of a submission."""

    async def submit() -> None:
        service = Service(server.base_url, KEY)
        clock = AdvancingClock()
        async with async_client(service, history=history, clock=clock) as client:
            await client.submit("text-to-video", prompt="a kite", duration=3)

    with asyncio.Runner() as runner, pytest.raises(MediakitError) as caught:
        runner.run(submit())
    return caught.value


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirected_submit_may_have_made_a_job_and_says_where_it_leads(
    status: int, history: History
) -> None:
    location = "Location: https://ann:pw@api.example.com/v1/media?token=secret"
    with ScriptedServer(submits(page(b"", location, status=f"{status} Go"))) as server:
        error = refusal(server, history)

    assert NOT_KNOWN in str(error)
    assert "https://api.example.com" in str(error)
    assert not any(secret in str(error) for secret in ("pw", "token"))
    assert [entry.state for entry in history.page()] == [EntryState.UNANSWERED]


def test_a_submit_interrupted_by_closing_has_an_unknown_outcome(
    history: History,
) -> None:
    arrived = threading.Event()

    def play(visit: Visit) -> None:
        while request := visit.request():
            if request.startswith(b"GET"):
                visit.say(json_page(BALANCE))
            else:
                arrived.set()
                visit.wait()

    async def main(base_url: str) -> str:
        client = async_client(Service(base_url, KEY), history=history)
        fields: dict[str, Any] = {"prompt": "a kite", "duration": 3}
        submitting = asyncio.ensure_future(client.submit("text-to-video", **fields))
        await asyncio.to_thread(arrived.wait)
        await client.close()
        with pytest.raises(MediakitError) as caught:
            await submitting
        return str(caught.value)

    with ScriptedServer(play) as server, asyncio.Runner() as runner:
        said = runner.run(main(server.base_url))

    assert NOT_KNOWN in said
    assert "Nothing was sent" not in said
