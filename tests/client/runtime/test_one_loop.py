"""All networking runs on the I/O thread, and the awaiting loop stays free."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import SimpleNamespace

import httpx
import pytest
from sqlalchemy import event
from sqlalchemy.engine import Engine

from mediakit import AsyncClient, Catalog
from mediakit.client import AsyncJob
from mediakit.client.io_thread import io_thread
from tests.support.servers.scripted_server import ScriptedServer, Visit, json_page, page

CLIP = {"url": "https://files.example.com/clip.mp4", "content_type": "video/mp4"}
JOB = {
    "id": "media_1",
    "status": "completed",
    "output": {"media_type": "video", "video": CLIP},
}
SETTLED = {"billing": {"state": "settled", "charge_micro_usd": 204_000}}
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

    def status(visit: Visit) -> None:
        visit.request()
        asked.set()
        loop_is_free.wait()  # only the user's loop can set it
        visit.say(page(b"{}", status="404 No"))

    def answer(visit: Visit) -> None:
        visit.request()
        visit.say(json_page(BALANCE))

    async def main(base_url: str) -> None:
        client = AsyncClient(base_url, "key-0123456789", home=tmp_path)
        using = asyncio.ensure_future(first_use(client))
        await asyncio.to_thread(asked.wait)
        loop_is_free.set()
        await using
        await client.aclose()

    with ScriptedServer(status, answer) as server, asyncio.Runner() as runner:
        runner.run(main(server.base_url))


def hosted(answer: Callable[[httpx.Request], object], home: Path) -> AsyncClient:
    return AsyncClient(
        "https://api.example.com",
        "key-0123456789",
        home=home,
        catalog=Catalog.default(),
        transport=httpx.MockTransport(answer),  # type: ignore[arg-type]
    )


def test_a_loop_that_is_not_asyncio_is_rejected_with_a_readable_message(
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


def io_ident() -> int:
    found: list[int | None] = [
        each.ident for each in threading.enumerate() if each.name == "mediakit-io"
    ]
    [ident] = found
    assert ident is not None
    return ident


@pytest.mark.parametrize(
    "use",
    [
        lambda job: job.refresh(),
        lambda job: job.settle(),
        lambda job: job.fetch_output(100),
        lambda job: job.read_output(lambda file: file.read(1)),
    ],
    ids=["refresh", "settle", "fetch_output", "read_output"],
)
def test_networking_runs_on_the_io_thread_whichever_loop_awaits_a_job(
    use: Callable[[AsyncJob], Awaitable[object]], tmp_path: Path
) -> None:
    seen: set[int] = set()
    is_settled = threading.Event()

    def answer(request: httpx.Request) -> httpx.Response:
        seen.add(threading.get_ident())
        if request.url.host == "files.example.com":
            return httpx.Response(200, content=b"a clip")
        return httpx.Response(200, json=JOB | (SETTLED if is_settled.is_set() else {}))

    async def main() -> None:
        async with hosted(answer, tmp_path) as client:
            job = await client.job("media_1")
            seen.clear()
            is_settled.set()
            await use(job)

    with asyncio.Runner() as runner:
        runner.run(main())

    assert seen == {io_ident()}


def test_the_history_is_never_queried_on_the_awaiting_loop(tmp_path: Path) -> None:
    asked: set[int] = set()

    def note(*_: object) -> None:
        asked.add(threading.get_ident())

    async def main() -> None:
        client = hosted(lambda _: httpx.Response(200, json=BALANCE), tmp_path)
        async with client:
            uses: list[Callable[[], Awaitable[object]]] = [
                client.reserved_micro_usd,
                client.history.frame,
                client.resume,
            ]
            for use in uses:
                asked.clear()
                await use()
                assert asked
                assert threading.get_ident() not in asked

    event.listen(Engine, "before_cursor_execute", note)
    try:
        with asyncio.Runner() as runner:
            runner.run(main())
    finally:
        event.remove(Engine, "before_cursor_execute", note)
