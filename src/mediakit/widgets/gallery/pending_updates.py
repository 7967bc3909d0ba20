"""Updates for the browser, merged until they are sent as one message."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mediakit.widgets.gallery.payload import Payload


class Outbox:
    """Updates for the browser; what is newer replaces what is older.

    Args:
        ask: Called when there is something to send.
    """

    def __init__(self, ask: Callable[[], object]) -> None:
        self._ask = ask
        self._updates: dict[str, Any] = {}

    def put(self, **updates: object) -> None:
        """Add updates that replace older ones of the same name."""
        self._updates.update(updates)
        self._ask()

    def put_all(self, wall: Payload, cells: list[Payload]) -> None:
        """Replace the whole wall."""
        self._updates.pop("cells", None)
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
        self._updates.setdefault("answers", []).append(answer)
        self._ask()

    def take(self) -> dict[str, Any]:
        """Return the updates and forget them."""
        updates, self._updates = self._updates, {}
        return updates

    def _merge(self, name: str, more: dict[str, Any]) -> None:
        self._updates.setdefault(name, {}).update(more)
        self._ask()
