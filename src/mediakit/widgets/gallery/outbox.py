"""What open pages still have to hear: merged until it is sent as one message."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mediakit.widgets.gallery.payload import Payload


class Outbox:
    """News for the browser; what is newer replaces what is older.

    Args:
        ask: Called when there is something to send.
    """

    def __init__(self, ask: Callable[[], object]) -> None:
        self._ask = ask
        self._news: dict[str, Any] = {}

    def put(self, **news: object) -> None:
        """Add news that replace older ones of the same name."""
        self._news.update(news)
        self._ask()

    def put_all(self, wall: Payload, cells: list[Payload]) -> None:
        """Replace the whole wall."""
        self._news.pop("cells", None)
        self.put(wall=wall, all=cells)

    def put_cell(self, position: int, cell: Payload) -> None:
        """Replace one cell."""
        self._merge("cells", {str(position): cell})

    def put_posters(self, posters: dict[str, str]) -> None:
        """Add posters by the index of their cells."""
        self._merge("posters", posters)

    def answer(self, view: str, number: int, error: str = "", said: str = "") -> None:
        """Answer a request of a view.

        Args:
            view: Which view asked.
            number: The number of its request.
            error: What went wrong, as a sentence.
            said: What was done, where that is worth a sentence.
        """
        answer = {"view": view, "number": number, "error": error, "said": said}
        self._news.setdefault("answers", []).append(answer)
        self._ask()

    def take(self) -> dict[str, Any]:
        """Return the news and forget them."""
        news, self._news = self._news, {}
        return news

    def _merge(self, name: str, more: dict[str, Any]) -> None:
        self._news.setdefault(name, {}).update(more)
        self._ask()
