"""What clips and sounds behind URLs are, each looked at once."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass

from mediakit.client.http.http_client import HttpClient
from mediakit.client.requests.validated import ValidatedRequest
from mediakit.clock import Clock
from mediakit.media import MediaInfo
from mediakit.media.remote import probe_url
from mediakit.media.remote_posters import poster_at
from mediakit.schema import MediaName

# A server that was away may be back; asking it for each price would be slow.
ASK_AGAIN_AFTER_S = 60.0

MediaKey = tuple[MediaName, str]
"""Which medium is expected, and its URL."""


@dataclass(frozen=True)
class Look:
    """A medium that is or was looked at.

    Args:
        task: Finds out what it is; None when that cannot be found out.
        since_s: When it began, on the clock.
    """

    task: asyncio.Task[MediaInfo | None]
    since_s: float

    def is_good(self, now_s: float) -> bool:
        """Tell whether it answers, or will; a failure answers for a minute."""
        if not self.task.done():
            # A fork's child does not have the tasks of its parent.
            return self.task.get_loop() is asyncio.get_running_loop()
        if self.task.cancelled() or self.task.exception() is not None:
            return False
        found = self.task.result() is not None
        return found or now_s - self.since_s < ASK_AGAIN_AFTER_S


class RemoteMedia:
    """Remembers what media behind URLs are, for as long as its client lives.

    Args:
        http: Asks for them, without the key.
        clock: Gives time.
    """

    def __init__(self, http: HttpClient, clock: Clock) -> None:
        self._http = http
        self._clock = clock
        self._looks: dict[MediaKey, Look] = {}

    async def look(self, keys: Iterable[MediaKey]) -> dict[MediaKey, MediaInfo | None]:
        """Return what media are; None where that cannot be found out."""
        tasks = {key: self._task(key) for key in keys}
        return {key: await _result(task) for key, task in tasks.items()}

    async def measured(self, request: ValidatedRequest) -> ValidatedRequest:
        """Return a request with the lengths that its price wants, where it can be told.

        Raises:
            InputError: The media are not what the function accepts.
        """
        wanted = [(item.kind, item.value) for item in request.lengths_wanted]
        if not wanted:
            return request
        found = await self.look(wanted)
        return request.measured({url: i for (_, url), i in found.items() if i})

    async def poster(self, url: str, max_px: int) -> bytes | None:
        """Make a small JPEG of what is behind a URL; None when it cannot be made."""
        return await poster_at(url, max_px, self._http)

    def _task(self, key: MediaKey) -> asyncio.Task[MediaInfo | None]:
        look = self._looks.get(key)
        now_s = self._clock.monotonic_s()
        if look is None or not look.is_good(now_s):
            kind, url = key
            task = asyncio.get_running_loop().create_task(
                probe_url(url, kind, self._http)
            )
            look = self._looks[key] = Look(task, now_s)
        return look.task


async def _result(task: asyncio.Task[MediaInfo | None]) -> MediaInfo | None:
    # A caller that gives up does not take the answer away from the others.
    return await asyncio.shield(task)
