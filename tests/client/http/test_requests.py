"""Requests as the server gets them, and early responses to an upload."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import AsyncIterator, Awaitable, Callable
from threading import Event

from mediakit.client.http import HttpClient
from mediakit.client.io_thread import io_thread
from tests.support.servers.scripted_server import (
    PATIENCE_S,
    ScriptedServer,
    Visit,
    answers_always,
    page,
)

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
        done.wait(PATIENCE_S)  # nothing is read meanwhile

    async def upload(http: HttpClient) -> int:
        headers = {"Content-Length": str(BLOCKS * len(BLOCK))}
        url = f"{server.base_url}/put"
        return (await http.put(url, headers=headers, blocks=blocks(BLOCKS))).status

    with ScriptedServer(reject) as server:
        assert with_client(upload) == 413
        done.set()
