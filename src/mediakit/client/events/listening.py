"""Hearing of the ends of jobs instead of asking for them."""

from __future__ import annotations

import logging
from collections import deque
from types import TracebackType
from typing import Self

from mediakit.client.events.endpoints import Endpoint, Endpoints
from mediakit.client.events.loopback import Loopback
from mediakit.client.jobs.registry import Jobs
from mediakit.client.runtime.io_thread import IOThread, networked
from mediakit.client.runtime.process_bound import ProcessBound
from mediakit.errors import MediakitError
from mediakit.webhooks import Event, Receiver, receiver

log = logging.getLogger("mediakit.client")

EVENTS_KEPT = 1_000
IN_MEMORY = ":memory:"


class AsyncListener(ProcessBound):
    """Receives the events of an account while it is open; see `AsyncClient.listen`.

    Jobs of its client end by event. They are read once a minute all the same, so that
    a lost event costs time and nothing else; a state is never taken back, so that an
    event may come twice, late, or before its submit is answered. It receives on the
    I/O thread.

    Args:
        jobs: Takes what is heard.
        endpoints: Where it is registered.
    """

    def __init__(self, jobs: Jobs, endpoints: Endpoints) -> None:
        self._jobs = jobs
        self._endpoints = endpoints
        self._events: deque[Event] = deque(maxlen=EVENTS_KEPT)
        self._loopback = Loopback()
        self._receiver: Receiver | None = None
        self._endpoint: Endpoint | None = None
        self._counts = False

    def __repr__(self) -> str:
        how = "listening" if self.is_open else "closed"
        return f"<{how} at {self.url}: {len(self._events)} events>"

    @property
    def url(self) -> str:
        """Return where events are received."""
        return self._loopback.base_url

    @property
    def is_open(self) -> bool:
        """Tell whether events are received."""
        return self._counts

    @property
    def events(self) -> tuple[Event, ...]:
        """Return the last thousand events, the newest last."""
        return tuple(self._events)

    async def open(self) -> Self:
        """Register, and begin to receive.

        Raises:
            ServiceError: The service is no sandbox of this machine, or refuses.
            ConflictError: It cannot be told whose events are wanted.
        """
        try:
            self._endpoint = await self._endpoints.register(self.url)
            # Events that come again change nothing, so nothing is kept on disk.
            self._receiver = receiver(
                self._endpoint.secret, self._on_event, inbox=IN_MEMORY
            )
            await self._loopback.serve(self._receiver, self._ended)
        except BaseException:
            await self._leave()
            raise
        self._counts = True
        self._jobs.pollers.listener_began()
        return self

    async def _on_event(self, event: Event) -> None:
        self._events.append(event)
        if event.job is not None:
            await self._jobs.hear(event.job)

    def _ended(self) -> None:
        if self._counts:
            self._counts = False
            self._jobs.pollers.listener_ended()

    @networked
    async def aclose(self) -> None:
        """Stop receiving; jobs are polled again. Closing twice does nothing more."""
        self._ended()
        await self._leave()

    async def _leave(self) -> None:
        endpoint, self._endpoint = self._endpoint, None
        if endpoint is not None:
            try:
                await self._endpoints.remove(endpoint)
            except MediakitError as error:
                # The next listener takes its place.
                log.debug("an endpoint stays registered: %s", error)
        await self._loopback.aclose()
        taken, self._receiver = self._receiver, None
        if taken is not None:
            taken.inbox.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.aclose()


class Listener(ProcessBound):
    """The blocking face of `AsyncListener`: it receives on the I/O thread.

    Args:
        core: The listener.
        io: The I/O thread.
    """

    def __init__(self, core: AsyncListener, io: IOThread) -> None:
        self._core = core
        self._io = io

    def __repr__(self) -> str:
        return repr(self._core)

    @property
    def url(self) -> str:
        """Return where events are received."""
        return self._core.url

    @property
    def is_open(self) -> bool:
        """Tell whether events are received."""
        return self._core.is_open

    @property
    def events(self) -> tuple[Event, ...]:
        """Return the last thousand events, the newest last."""
        return self._core.events

    def close(self) -> None:
        """Stop receiving; jobs are polled again. Closing twice does nothing more."""
        self._io.call(self._core.aclose)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()
