"""The listener: receives a sandbox's webhooks on this machine for the client."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections import deque
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Any, Self

from mediakit.client.events.listener_endpoint import Endpoint, Endpoints
from mediakit.client.jobs.client_poller import ClientPoller
from mediakit.client.runtime.io_thread import io_thread, networked
from mediakit.client.runtime.process_bound import ProcessBound
from mediakit.errors import MediakitError, ServiceError
from mediakit.webhooks import Event, Receiver, receiver

log = logging.getLogger("mediakit.client")

EVENTS_KEPT = 1_000
HOST = "127.0.0.1"
IN_MEMORY = ":memory:"
STARTED_CHECK_S = 0.01


class Listener(ProcessBound):
    """Receives the events of an account while it is open; see `client.listen`.

    Events end the jobs of its client. The poller still reads them once a minute, so
    that a lost event only costs time.

    Args:
        handle: Handles the events.
        endpoints: Registers it at the sandbox.
        poller: Read running jobs less often while it is open.
    """

    def __init__(
        self,
        handle: Callable[[Event], Awaitable[object]],
        endpoints: Endpoints,
        poller: ClientPoller,
    ) -> None:
        self._handle = handle
        self._endpoints = endpoints
        self._poller = poller
        self._events: deque[Event] = deque(maxlen=EVENTS_KEPT)
        self._endpoint: Endpoint | None = None
        self._receiver: Receiver | None = None
        self._server: Any = None
        self._serving: asyncio.Task[None] | None = None
        # The port is open from the start: early connections wait until it serves.
        self._socket = socket.create_server((HOST, 0))
        self.url = f"http://{HOST}:{self._socket.getsockname()[1]}"

    def __repr__(self) -> str:
        how = "listening" if self.is_open else "closed"
        return f"<{how} at {self.url}: {len(self._events)} events>"

    @property
    def is_open(self) -> bool:
        """Return whether it receives events."""
        return self._serving is not None

    @property
    def events(self) -> tuple[Event, ...]:
        """Return the last thousand events, newest last."""
        return tuple(self._events)

    async def open(self) -> Self:
        """Register, and start to receive.

        Raises:
            ServiceError: The service is not a sandbox on this machine, or refuses.
            ConflictError: It is unclear whose events are wanted.
        """
        try:
            self._endpoint = await self._endpoints.register(self.url)
            # A repeated event changes nothing, so no event is stored on disk.
            self._receiver = receiver(
                self._endpoint.secret, self._on_event, inbox=IN_MEMORY
            )
            self._server = _server(self._receiver)
        except BaseException:
            await self._leave()
            raise
        serving = self._server.serve(sockets=[self._socket])
        self._serving = asyncio.create_task(serving, name="listener")
        self._serving.add_done_callback(self._ended)
        self._poller.listener_began()
        return self

    async def _on_event(self, event: Event) -> None:
        self._events.append(event)
        await self._handle(event)

    def _ended(self, _: object) -> None:
        if self._serving is not None:
            self._serving = None
            self._poller.listener_ended()

    @networked
    async def aclose(self) -> None:
        """Stop receiving; jobs are polled again. A second close does nothing."""
        serving = self._serving
        self._ended(serving)
        if serving is not None:
            # If stopped before it has started, uvicorn leaves its sockets open; it
            # has no event for having started.
            while not (self._server.started or serving.done()):  # noqa: ASYNC110
                await asyncio.sleep(STARTED_CHECK_S)
            self._server.should_exit = True
            await asyncio.wait([serving])
        await self._leave()

    async def _leave(self) -> None:
        endpoint, self._endpoint = self._endpoint, None
        if endpoint is not None:
            try:
                await self._endpoints.remove(endpoint)
            except MediakitError as error:
                # The next listener replaces it.
                log.debug("an endpoint stays registered: %s", error)
        self._socket.close()
        if self._receiver is not None:
            self._receiver.inbox.close()

    def close(self) -> None:
        """Stop receiving; jobs are polled again. A second close does nothing."""
        io_thread().call(self.aclose)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.aclose()


def _server(app: Receiver) -> Any:
    try:
        import uvicorn
    except ModuleNotFoundError as error:
        raise ServiceError(
            f"Listening needs {error.name}, which is not installed: install "
            "mediakit[sandbox]. Without it, jobs are still polled."
        ) from None
    config = uvicorn.Config(
        app,
        ws="none",
        lifespan="on",
        access_log=False,
        log_config=None,
        server_header=False,
        timeout_graceful_shutdown=1,
    )
    return uvicorn.Server(config)
