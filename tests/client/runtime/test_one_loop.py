"""All networking runs on the I/O thread, and the loop that awaits it stays free."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import SimpleNamespace

import httpx
import pytest

from mediakit import AsyncClient, Catalog
from mediakit.client.loop import io_thread
from tests.support.servers.scripted_server import ScriptedServer, Visit, json_page, page

PATIENCE_S = 60.0
BALANCE = {"balance_micro_usd": 5_000_000}


async def balance(client: AsyncClient) -> None:
    await client.balance()


async def entered(client: AsyncClient) -> None:
    async with client:
        pass


@pytest.mark.parametrize("first_use", [balance, entered])
def test_the_first_use_of_a_client_leaves_the_loop_free(
    first_use: Callable[[AsyncClient], Awaitable[None]], tmp_path: Path
) -> None:
    asked, loop_is_free = threading.Event(), threading.Event()
    was_free: list[bool] = []

    def status(visit: Visit) -> None:
        visit.request()
        asked.set()
        was_free.append(loop_is_free.wait(2.0))  # only the user's loop can set it
        visit.say(page(b"{}", status="404 No"))

    def answer(visit: Visit) -> None:
        visit.request()
        visit.say(json_page(BALANCE))

    async def main(base_url: str) -> None:
        client = AsyncClient(base_url, "key-0123456789", home=tmp_path)
        using = asyncio.ensure_future(first_use(client))
        await asyncio.to_thread(asked.wait, PATIENCE_S)
        loop_is_free.set()
        await using
        await client.aclose()

    with ScriptedServer(status, answer) as server, asyncio.Runner() as runner:
        runner.run(main(server.base_url))

    assert was_free == [True]


def hosted(answer: Callable[[httpx.Request], object], home: Path) -> AsyncClient:
    return AsyncClient(
        "https://api.example.com",
        "key-0123456789",
        home=home,
        catalog=Catalog.default(),
        transport=httpx.MockTransport(answer),  # type: ignore[arg-type]
    )


def test_a_loop_of_another_kind_is_refused_in_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = hosted(lambda _: httpx.Response(200, json=BALANCE), tmp_path)
    awaited = client.balance()
    with pytest.raises(RuntimeError, match=r"With trio, use mediakit\.Client in trio"):
        awaited.send(None)  # as any loop but that of asyncio does

    in_trio = SimpleNamespace(in_trio_run=lambda: True)
    monkeypatch.setitem(sys.modules, "trio", SimpleNamespace(lowlevel=in_trio))
    with pytest.raises(RuntimeError, match="Nothing was sent"):
        io_thread().call(client.balance)
    monkeypatch.undo()
    io_thread().call(client.aclose)
