"""An ASGI application served on this machine, on the running event loop."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any
from weakref import WeakSet

from mediakit.errors import ServiceError

HOST = "127.0.0.1"
BACKLOG = 512
CONNECT_TIMEOUT_S = 1.0

_open: WeakSet[socket.socket] = WeakSet()


def _close_in_child() -> None:
    # A forked child must not keep the port of its parent open without serving.
    for listening in tuple(_open):
        listening.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_in_child)


class Loopback:
    """A port of this machine, and what is served on it.

    The port is open from the start: what connects before `serve` waits.
    """

    def __init__(self) -> None:
        # With its protocol named, so that asyncio sends small answers at once.
        listening = socket.socket(
            socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP
        )
        listening.bind((HOST, 0))
        listening.listen(BACKLOG)
        listening.setblocking(False)  # noqa: FBT003 - its only parameter
        _open.add(listening)
        self.port: int = listening.getsockname()[1]
        self._socket = listening
        self._server: Any = None
        self._serving: asyncio.Task[None] | None = None

    @property
    def base_url(self) -> str:
        """Return where it is."""
        return f"http://{HOST}:{self.port}"

    async def serve(self, app: Any, on_end: Callable[[], None]) -> None:
        """Serve an application until `aclose`, or until the loop ends.

        Args:
            app: The application.
            on_end: Called when it is served no more.

        Raises:
            ServiceError: What serves is not installed.
        """
        started = asyncio.Event()
        self._server = _server(app, started)
        task = asyncio.create_task(self._run(), name="loopback")
        task.add_done_callback(lambda _: on_end())
        self._serving = task
        started_or_ended = asyncio.ensure_future(started.wait())
        await asyncio.wait(
            {started_or_ended, task}, return_when=asyncio.FIRST_COMPLETED
        )
        started_or_ended.cancel()

    async def _run(self) -> None:
        try:
            await self._server.serve(sockets=[self._socket])
        finally:
            for server in getattr(self._server, "servers", ()):
                server.close()
            self._socket.close()

    async def aclose(self) -> None:
        """Stop serving; what is being answered is answered first."""
        if self._serving is None:
            self._socket.close()
            return
        self._server.should_exit = True
        with suppress(asyncio.CancelledError):
            await asyncio.shield(self._serving)


def _server(app: Any, started: asyncio.Event) -> Any:
    try:
        import uvicorn
    except ModuleNotFoundError as error:
        raise ServiceError(
            f"Listening needs {error.name}, which is not installed: install "
            "mediakit[sandbox]. Without it jobs are polled, as ever."
        ) from None

    class Server(uvicorn.Server):
        """uvicorn that leaves the process's signals alone, and tells when it serves."""

        @contextmanager
        def capture_signals(self) -> Iterator[None]:
            yield

        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            started.set()

    return Server(
        uvicorn.Config(
            app,
            ws="none",
            lifespan="on",
            access_log=False,
            log_config=None,
            server_header=False,
            timeout_graceful_shutdown=1,
        )
    )


async def is_served(host: str, port: int) -> bool:
    """Tell whether anything answers on a port of this machine."""
    try:
        async with asyncio.timeout(CONNECT_TIMEOUT_S):
            _, writer = await asyncio.open_connection(host, port)
    except (OSError, TimeoutError):
        return False
    writer.close()
    with suppress(OSError):
        await writer.wait_closed()
    return True
