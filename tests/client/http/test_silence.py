"""A client without a response: its errors and retries, on real sockets."""

from __future__ import annotations

import asyncio
import socket
from base64 import b64encode
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import ExitStack
from datetime import timedelta
from threading import Event
from typing import Any

import pytest

from mediakit import AsyncClient
from mediakit.client import Service
from mediakit.client.http import HttpClient
from mediakit.client.io_thread import io_thread
from mediakit.errors import InputError, MediakitError, RateLimitError, ServiceError
from mediakit.history import History
from tests.support.advancing_clock import AdvancingClock
from tests.support.clients import async_client
from tests.support.servers.scripted_server import (
    Script,
    ScriptedServer,
    Visit,
    answers,
    answers_always,
    breaks_off,
    hangs_up,
    is_silent,
    json_page,
    page,
)
from tests.support.servers.serving import free_port

SHORT_S = 0.1
CONNECTS_S = 1.0  # long enough to connect and send on a busy machine
PATIENCE_S = 300.0
BALANCE = {"balance_micro_usd": 7}
SECRET = {"secret": "whsec_a"}


def outcomes(
    base_url: str,
    *calls: Callable[[AsyncClient], Awaitable[object]],
    clock: AdvancingClock | None = None,
    timeout_s: float = PATIENCE_S,
) -> list[Any]:
    """Return the outcome of each call, on kept-alive connections."""

    async def run() -> list[Any]:
        service = Service(base_url, "key-0123456789abcdef")
        settings: dict[str, Any] = {
            "clock": clock or AdvancingClock(),
            "timeout_s": timeout_s,
        }
        async with async_client(
            service, history=History(":memory:"), **settings
        ) as client:
            ends: list[Any] = []
            for call in calls:
                try:
                    ends.append(await call(client))
                except MediakitError as error:
                    ends.append(error)
            return ends

    return asyncio.run(run())


async def read(client: AsyncClient) -> int:
    return (await client.balance()).balance_micro_usd


async def rotate(client: AsyncClient) -> str:
    """Send the kind of POST that is never repeated."""
    return (await client.deliveries.rotate_secret()).reveal()


@pytest.mark.parametrize(
    ("base_url", "reason"),
    [
        ("http://127.0.0.1:{closed}", "(no connection)"),
        ("http://127.0.0.1:{full}", "(no connection in time)"),
        ("https://127.0.0.1:{plain}", "(no TLS connection could be made)"),
        ("http://nobody.invalid", "(no such host)"),
    ],
)
def test_nothing_was_sent_to_an_unreachable_service(base_url: str, reason: str) -> None:
    with (
        ScriptedServer(lambda visit: visit.say(b"who is there?\r\n")) as plain,
        socket.create_server(("127.0.0.1", 0), backlog=0) as full,
        ExitStack() as waiting,
    ):
        port = full.getsockname()[1]
        # With its queue full, Linux leaves a listening socket's callers waiting.
        for _ in range(4):
            each = waiting.enter_context(socket.socket())
            each.setblocking(False)
            each.connect_ex(("127.0.0.1", port))
        url = base_url.format(closed=free_port(), full=port, plain=plain.port)
        timeout_s = SHORT_S if "{full}" in base_url else PATIENCE_S
        for error in outcomes(url, read, rotate, timeout_s=timeout_s):
            assert isinstance(error, ServiceError)
            assert error.sent is False
            assert reason in str(error)


CUT_OFF = page(b'{"id": "med', says_bytes=500)
CHUNK_CUT_OFF = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n20\r\n{"


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        (is_silent, "(no response in time)"),
        (hangs_up, "(it closed the connection)"),
        (breaks_off, "(the connection broke)"),
        (answers(CUT_OFF), "(its response was cut off)"),
        (answers(CHUNK_CUT_OFF), "(its response was cut off)"),
        (answers(b"HTTP/1.1 200 OK\r\nConte"), "(it closed the connection)"),
        (answers(b"SSH-2.0-OpenSSH_9.6\r\n"), "(it sent no HTTP response)"),
    ],
)
def test_a_post_without_a_complete_response_may_have_arrived_and_is_sent_once(
    script: Script, reason: str
) -> None:
    timeout_s = CONNECTS_S if script is is_silent else PATIENCE_S
    with ScriptedServer(script) as server:
        [error] = outcomes(server.base_url, rotate, timeout_s=timeout_s)

    assert error.sent is None
    assert reason in str(error)
    assert len(server.requests) == 1


@pytest.mark.parametrize("script", [hangs_up, breaks_off])
def test_a_post_on_a_kept_connection_that_dies_is_not_sent_again(
    script: Script,
) -> None:
    def once_then(visit: Visit) -> None:
        visit.request()
        visit.say(json_page(SECRET))
        script(visit)

    with ScriptedServer(once_then) as server:
        first, second = outcomes(server.base_url, rotate, rotate)

    assert (first, second.sent) == ("whsec_a", None)
    assert (server.visits, len(server.requests)) == (1, 2)


def test_a_post_after_the_server_closed_a_kept_connection_goes_by_another() -> None:
    closing = answers(json_page(SECRET, "Connection: close"))
    with ScriptedServer(closing) as server:
        assert outcomes(server.base_url, rotate, rotate) == ["whsec_a", "whsec_a"]

    assert (server.visits, len(server.requests)) == (2, 2)


def test_a_redirect_is_not_followed_and_the_key_is_not_sent_elsewhere() -> None:
    with (
        ScriptedServer(answers(page())) as elsewhere,
        ScriptedServer(
            answers(page(b"", f"Location: {elsewhere.base_url}/", status="307 Go"))
        ) as server,
    ):
        [error] = outcomes(server.base_url, read)

    assert error.status == 307
    assert elsewhere.visits == 0


# -- reads are repeated --------------------------------------------------------------


def busy(after_s: str) -> bytes:
    return page(b"{}", f"Retry-After: {after_s}", status="429 Too Many")


def test_a_read_waits_for_as_long_as_the_service_asks() -> None:
    clock = AdvancingClock()
    script = answers(busy("2"), busy("100"), json_page(BALANCE))
    with ScriptedServer(script) as server:
        assert outcomes(server.base_url, read, clock=clock) == [7]

    assert 2 <= clock.slept_s[0] < 10
    assert clock.slept_s[1] == 100


def test_a_read_that_has_to_wait_over_two_minutes_names_the_time() -> None:
    clock = AdvancingClock()
    with ScriptedServer(answers(busy("60"), busy("61"))) as server:
        [error] = outcomes(server.base_url, read, clock=clock)

    assert clock.slept_s == [60]
    assert isinstance(error, RateLimitError)
    assert error.retry_after_s == 61
    assert error.retry_at is not None
    assert abs(error.retry_at - clock.now() - timedelta(seconds=61)).seconds < 5


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 504])
def test_a_permanently_rejected_read_returns_that_response(status: int) -> None:
    clock = AdvancingClock()
    with ScriptedServer(answers_always(page(status=f"{status} No"))) as server:
        [error] = outcomes(server.base_url, read, clock=clock)

    assert error.status == status
    assert 5 <= sum(clock.slept_s) < 20
    assert len(server.requests) == len(clock.slept_s) + 1


def test_a_read_without_a_response_is_repeated() -> None:
    scripts = (hangs_up, breaks_off, answers(CUT_OFF), answers(json_page(BALANCE)))
    with ScriptedServer(*scripts) as server:
        assert outcomes(server.base_url, read) == [7]

    assert len(server.requests) == 4


@pytest.mark.parametrize(
    ("message", "field"),
    [
        ("duration: too long", "duration"),
        ("images[0]: no picture", "images[0]"),
        ("tracks[0].keyframes[1].url: no address", "tracks[0].keyframes[1].url"),
        ("tracks.0.id: too long", "tracks.0.id"),
        ("Not valid: too long", "the balance"),
        ("tracks..id: too long", "the balance"),
        ("too long", "the balance"),
        ("", "the balance"),
    ],
)
def test_a_refusal_is_attributed_to_the_field_in_its_message(
    message: str, field: str
) -> None:
    refusal = json_page({"message": message}, status="422 No")
    with ScriptedServer(answers(refusal)) as server:
        [error] = outcomes(server.base_url, read)

    assert isinstance(error, InputError)
    assert error.field == field


# -- what a request says ---------------------------------------------------------------


BLOCK = bytes(1 << 20)
BLOCKS = 64
CREDENTIALS = b"Basic " + b64encode(b"ann:s@cret")


def with_client(script: Callable[[HttpClient], Awaitable[int]]) -> int:
    """Return the status of the final response to a script, on the I/O loop."""

    async def run() -> int:
        http = HttpClient()
        try:
            return await script(http)
        finally:
            await http.aclose()

    return io_thread().call(run)


async def blocks(number: int) -> AsyncIterator[bytes]:
    for _ in range(number):
        yield BLOCK


def test_a_user_and_a_password_in_a_url_are_sent_as_a_header() -> None:
    with ScriptedServer(answers_always(page())) as server:
        url = server.base_url.replace("//", "//ann:s%40cret@") + "/a%2Fb"

        async def call(http: HttpClient) -> int:
            return (await http.send("GET", url, headers={})).status

        async def upload(http: HttpClient) -> int:
            headers = {"Content-Length": str(len(BLOCK))}
            return (await http.put(url, headers=headers, blocks=blocks(1))).status

        async def download(http: HttpClient) -> int:
            async with http.get(url, headers={}) as response:
                return response.status

        assert [with_client(each) for each in (call, upload, download)] == [200] * 3

    assert len(server.requests) == 3
    for request in server.requests:
        head = request.partition(b"\r\n\r\n")[0]
        assert b" /a%2Fb HTTP/1.1\r\n" in head
        assert head.lower().count(b"authorization: ") == 1
        assert CREDENTIALS in head
        assert b"ann" not in head


def test_an_upload_that_is_rejected_before_it_is_read_ends_with_that_response() -> None:
    done = Event()

    def reject(visit: Visit) -> None:
        visit.say(page(status="413 Too large"))
        done.wait()  # nothing is read meanwhile

    async def upload(http: HttpClient) -> int:
        headers = {"Content-Length": str(BLOCKS * len(BLOCK))}
        url = f"{server.base_url}/put"
        return (await http.put(url, headers=headers, blocks=blocks(BLOCKS))).status

    with ScriptedServer(reject) as server:
        assert with_client(upload) == 413
        done.set()
