"""Reads the properties of video and audio behind URLs, each once."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass

from mediakit.client.http.http_client import HttpClient
from mediakit.client.requests.validated_request import ValidatedRequest
from mediakit.clock import Clock
from mediakit.media import MediaInfo
from mediakit.media.remote import probe_url
from mediakit.media.remote_posters import poster_at
from mediakit.schema import MediaName

# A server may be reachable again; a read for each price would be slow.
RETRY_AFTER_S = 60.0

MediaKey = tuple[MediaName, str]
"""Which medium is expected, and its URL."""


@dataclass(frozen=True)
class Probe:
    """A read of a medium, pending or done.

    Args:
        task: Returns its properties; None if they cannot be read.
        since_s: When it started, in seconds of the clock.
    """

    task: asyncio.Task[MediaInfo | None]
    since_s: float

    def is_good(self, now_s: float) -> bool:
        """Return whether its result is usable; a failure is reused for a minute."""
        if not self.task.done():
            # A forked child does not have the tasks of its parent.
            return self.task.get_loop() is asyncio.get_running_loop()
        if self.task.cancelled() or self.task.exception() is not None:
            return False
        found = self.task.result() is not None
        return found or now_s - self.since_s < RETRY_AFTER_S


class RemoteMedia:
    """Caches the properties of media behind URLs for the lifetime of its client.

    Args:
        http: Sends the reads, without the API key.
        clock: Gives time.
    """

    def __init__(self, http: HttpClient, clock: Clock) -> None:
        self._http = http
        self._clock = clock
        self._probes: dict[MediaKey, Probe] = {}

    async def probe(self, keys: Iterable[MediaKey]) -> dict[MediaKey, MediaInfo | None]:
        """Return the properties of media; None where they cannot be read."""
        tasks = {key: self._task(key) for key in keys}
        return {key: await _result(task) for key, task in tasks.items()}

    async def measured(self, request: ValidatedRequest) -> ValidatedRequest:
        """Return a request with the lengths that its price needs, where known.

        Raises:
            InputError: The media are not what the function accepts.
        """
        wanted = [(item.kind, item.value) for item in request.lengths_wanted]
        if not wanted:
            return request
        found = await self.probe(wanted)
        return request.measured({url: i for (_, url), i in found.items() if i})

    async def poster(self, url: str, max_px: int) -> bytes | None:
        """Return a small JPEG of a medium behind a URL; None if that fails."""
        return await poster_at(url, max_px, self._http)

    def _task(self, key: MediaKey) -> asyncio.Task[MediaInfo | None]:
        probe = self._probes.get(key)
        now_s = self._clock.monotonic_s()
        if probe is None or not probe.is_good(now_s):
            kind, url = key
            task = asyncio.get_running_loop().create_task(
                probe_url(url, kind, self._http)
            )
            probe = self._probes[key] = Probe(task, now_s)
        return probe.task


async def _result(task: asyncio.Task[MediaInfo | None]) -> MediaInfo | None:
    # A caller that stops waiting must not cancel the read of the others.
    return await asyncio.shield(task)
