"""Thumbnails of results for the rows of the history."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from mediakit.clock import Clock

THUMB_MAX_PX = 144
KEPT = 600
AGAIN_AFTER_S = 60.0

Fetch = Callable[[str, int], Awaitable[bytes | None]]


class Thumbs:
    """Pictures by key, fetched one after the other and kept while they are used.

    The kernel fetches them, not the browser: a page full of players would take all
    connections that a browser opens to one server, and the opened one would wait.

    Args:
        fetch: Returns the picture of a key, within a number of pixels; None
            when there is none.
        clock: Gives time: what could not be fetched is tried again after a minute.
    """

    def __init__(self, fetch: Fetch, clock: Clock) -> None:
        self._fetch = fetch
        self._clock = clock
        self._known: dict[str, bytes] = {}
        self._failed_s: dict[str, float] = {}
        self._fetching = False

    def get(self, url: str | None) -> bytes | None:
        """Return the picture of what is behind a URL; None while there is none."""
        return None if url is None else self._known.get(url)

    async def bring(
        self,
        wanted: Callable[[], Sequence[str]],
        brought: Callable[[], object],
    ) -> None:
        """Fetch what is wanted, in order; what is wanted may change meanwhile.

        Args:
            wanted: Gives the URLs that are shown now.
            brought: Called after each.
        """
        if self._fetching:
            return
        self._fetching = True
        try:
            while (url := self._next(wanted())) is not None:
                self._keep(url, await self._fetch(url, THUMB_MAX_PX))
                brought()
        finally:
            self._fetching = False

    def _next(self, urls: Sequence[str]) -> str | None:
        since_s = self._clock.monotonic_s() - AGAIN_AFTER_S
        failed = self._failed_s.items()
        self._failed_s = {url: at_s for url, at_s in failed if at_s > since_s}
        done = self._known.keys() | self._failed_s.keys()
        return next((url for url in urls if url not in done), None)

    def _keep(self, url: str, picture: bytes | None) -> None:
        if picture is None:
            self._failed_s[url] = self._clock.monotonic_s()
            return
        self._known[url] = picture
        if len(self._known) > KEPT:
            del self._known[next(iter(self._known))]
