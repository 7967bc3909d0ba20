"""Small pictures of results for the rows of the history."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

THUMB_MAX_PX = 144
KEPT = 600

Fetch = Callable[[str, int], Awaitable[bytes | None]]


class Thumbs:
    """Pictures by URL, fetched one after the other and kept while they are used.

    The kernel fetches them, not the browser: a page full of players would take all
    connections that a browser opens to one server, and the opened one would wait.

    Args:
        fetch: Returns a picture of what is behind a URL, at most so many pixels wide
            and high; None when there is none.
    """

    def __init__(self, fetch: Fetch) -> None:
        self._fetch = fetch
        self._known: dict[str, bytes | None] = {}
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
        return next((url for url in urls if url not in self._known), None)

    def _keep(self, url: str, picture: bytes | None) -> None:
        self._known[url] = picture
        if len(self._known) > KEPT:
            del self._known[next(iter(self._known))]
