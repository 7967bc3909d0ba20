"""Proxies on loopback that lead every host to one port, and record what they see."""

from __future__ import annotations

import asyncio
import ssl
import threading
from base64 import b64decode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Self

HOST = "127.0.0.1"
PIECE_BYTES = 65_536
CLOSE_WITHIN_S = 0.5
END_OF_HEAD = b"\r\n\r\n"
CONNECTED = b"HTTP/1.1 200 Connected\r\n\r\n"
REFUSED = (
    b"HTTP/1.1 407 Proxy Authentication Required\r\n"
    b'Proxy-Authenticate: Basic realm="proxy"\r\n'
    b"Content-Length: 0\r\nConnection: close\r\n\r\n"
)

Reader = asyncio.StreamReader
Writer = asyncio.StreamWriter


@dataclass(frozen=True)
class Seen:
    """One request, as a proxy saw it."""

    method: str
    target: str
    credentials: str | None
    has_api_key: bool


class Relay:
    """A server in a separate thread that forwards all bytes to a port.

    With `tls` it terminates TLS for a server that speaks none.
    """

    def __init__(self, port: int, *, tls: ssl.SSLContext | None = None) -> None:
        self._target_port = port
        self._tls = tls
        self._started = threading.Event()
        self._thread = threading.Thread(target=asyncio.run, args=(self._serve(),))
        self._connections: set[asyncio.Task[None]] = set()
        self.port = 0
        self.received = bytearray()

    def __enter__(self) -> Self:
        self._thread.start()
        self._started.wait()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()

    async def _serve(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        server = await asyncio.start_server(self._accept, HOST, 0, ssl=self._tls)
        self.port = server.sockets[0].getsockname()[1]
        self._started.set()
        await self._stop.wait()
        server.close()
        for connection in self._connections:
            connection.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    def _accept(self, reader: Reader, writer: Writer) -> None:
        connection = asyncio.ensure_future(self._serve_and_close(reader, writer))
        self._connections.add(connection)
        connection.add_done_callback(self._connections.discard)

    async def _serve_and_close(self, reader: Reader, writer: Writer) -> None:
        async with _closing(writer):
            with suppress(OSError, EOFError):
                await self._serve_one(reader, writer)

    async def _serve_one(self, reader: Reader, writer: Writer) -> None:
        await self._tunnel(reader, writer)

    async def _tunnel(self, reader: Reader, writer: Writer) -> None:
        """Pass on bytes both ways until one side closes."""
        far_reader, far_writer = await asyncio.open_connection(HOST, self._target_port)
        async with _closing(far_writer), asyncio.TaskGroup() as ways:
            there = ways.create_task(self._pass_on(reader, far_writer, record=True))
            back = ways.create_task(self._pass_on(far_reader, writer))
            there.add_done_callback(lambda _: back.cancel())
            back.add_done_callback(lambda _: there.cancel())

    async def _pass_on(
        self, reader: Reader, writer: Writer, *, record: bool = False
    ) -> None:
        with suppress(OSError):
            while piece := await reader.read(PIECE_BYTES):
                if record:
                    self.received += piece
                writer.write(piece)
                await writer.drain()


@asynccontextmanager
async def _closing(writer: Writer) -> AsyncIterator[None]:
    try:
        yield
    finally:
        writer.close()
        with suppress(OSError, TimeoutError):
            async with asyncio.timeout(CLOSE_WITHIN_S):
                await writer.wait_closed()
        writer.transport.abort()


class Proxy(Relay):
    """A proxy that records its requests; `received` has all the bytes it could read."""

    scheme: str

    def __init__(
        self,
        port: int,
        *,
        credentials: str | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        super().__init__(port, tls=tls)
        self._credentials = credentials
        self.seen: list[Seen] = []

    def url(self, user: str = "") -> str:
        """Return the proxy's URL, as the environment names it."""
        return f"{self.scheme}://{user}{'@' if user else ''}{HOST}:{self.port}"

    @property
    def targets(self) -> list[str]:
        """Return the requests in order."""
        return [each.target for each in self.seen]


class HTTPProxy(Proxy):
    """Forwards requests for http:// URLs, and tunnels where CONNECT asks for it."""

    def __init__(
        self,
        port: int,
        *,
        credentials: str | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        super().__init__(port, credentials=credentials, tls=tls)
        self.scheme = "http" if tls is None else "https"

    async def _serve_one(self, reader: Reader, writer: Writer) -> None:
        head = await reader.readuntil(END_OF_HEAD)
        self.received += head
        request_line, *lines = head.decode().split("\r\n")
        method, target, _ = request_line.split()
        headers = {
            name.lower(): value.strip()
            for name, _, value in (line.partition(":") for line in lines)
        }
        credentials = _decoded(headers.get("proxy-authorization"))
        self.seen.append(Seen(method, target, credentials, "x-api-key" in headers))
        if self._credentials not in (None, credentials):
            # Closing a connection with unread bytes resets it, and loses the answer.
            await reader.readexactly(int(headers.get("content-length", 0)))
            writer.write(REFUSED)
        elif method == "CONNECT":
            writer.write(CONNECTED)
            await self._tunnel(reader, writer)
        else:
            path = "/" + target.split("/", 3)[3]
            kept = [line for line in lines if not _is_for_proxy(line)]
            lines = [f"{method} {path} HTTP/1.1", "Connection: close", *kept]
            await self._forward("\r\n".join(lines).encode(), reader, writer)

    async def _forward(self, head: bytes, reader: Reader, writer: Writer) -> None:
        """Forward one request, and close both connections after its response."""
        far_reader, far_writer = await asyncio.open_connection(HOST, self._target_port)
        async with _closing(far_writer):
            far_writer.write(head)
            body = asyncio.create_task(self._pass_on(reader, far_writer, record=True))
            response = await far_reader.readuntil(END_OF_HEAD)
            status_line, _, rest = response.partition(b"\r\n")
            writer.write(status_line + b"\r\nConnection: close\r\n" + rest)
            await self._pass_on(far_reader, writer)
            body.cancel()


def _decoded(authorization: str | None) -> str | None:
    if authorization is None:
        return None
    return b64decode(authorization.removeprefix("Basic ")).decode()


def _is_for_proxy(line: str) -> bool:
    return line.lower().startswith(("proxy-", "connection:"))


class SOCKSProxy(Proxy):
    """A SOCKS5 proxy that takes host names, with or without user and password."""

    scheme = "socks5"

    async def _serve_one(self, reader: Reader, writer: Writer) -> None:
        _, methods_n = await reader.readexactly(2)
        offered = await reader.readexactly(methods_n)
        method = 0 if self._credentials is None else 2
        writer.write(bytes([5, method if method in offered else 0xFF]))
        credentials = None
        if method == 2 and method in offered:
            await reader.readexactly(1)
            user, password = [await _short_text(reader) for _ in range(2)]
            credentials = f"{user}:{password}"
            writer.write(bytes([1, credentials != self._credentials]))
        if credentials != self._credentials:
            self.seen.append(Seen("CONNECT", "", credentials, has_api_key=False))
            return
        _, _, _, address_type = await reader.readexactly(4)
        if address_type != 3:  # not a host name
            return
        host = await _short_text(reader)
        port = int.from_bytes(await reader.readexactly(2))
        target = f"{host}:{port}"
        self.seen.append(Seen("CONNECT", target, credentials, has_api_key=False))
        writer.write(bytes([5, 0, 0, 1, 0, 0, 0, 0, 0, 0]))
        await self._tunnel(reader, writer)


async def _short_text(reader: Reader) -> str:
    [length] = await reader.readexactly(1)
    return (await reader.readexactly(length)).decode()
