"""Keeps a cell's cards current in a notebook whose page was reloaded.

A reloaded page drops what the kernel sends to outputs of earlier cells, but keeps its
widgets. So the widget carries the cards, and the page writes them into the notebook;
see `saved_copies.js`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import anywidget

from mediakit.widgets.toolkit.cell_outputs import CardHandle

PIECE_CHARACTERS = 200_000
"""Jupyter servers drop output that comes faster than 1 MB per second."""


class CardsWidget(anywidget.AnyWidget):
    """A live widget that also carries the cards beside it."""

    _cards: CardHandle | None = None
    shows = "a widget of mediakit"
    """The description for terminals and reports, instead of the widget's state."""
    has_page = False
    """Whether a page has asked for the cards."""

    def __repr__(self) -> str:
        return f"<{self.shows}>"

    def carry_cards(self, handle: CardHandle) -> None:
        """Send the cards of a handle to the page on request."""
        self._cards = handle
        handle.on_write(self._tell_versions)

    def _handle_custom_msg(self, content: Any, buffers: Sequence[Any]) -> None:
        if isinstance(content, dict) and "cards" in content:
            self.has_page = True
            self._send_cards(content["cards"])
        else:
            super()._handle_custom_msg(content, buffers)

    def _tell_versions(self) -> None:
        if self.has_page:
            self._send_cards(())

    def _send_cards(self, ids: Sequence[str]) -> None:
        handle = self._cards
        if handle is None or self.comm is None:
            return
        cards = handle.cards
        versions = {display_id: card.version for display_id, card in cards.items()}
        where = {"versions": versions, "beside": handle.widget_id}
        if not ids:
            self.send({"cards": where})
        piece: list[tuple[str, str, str]] = []
        for display_id in ids:
            if display_id in cards:
                piece.append(
                    (display_id, cards[display_id].html, cards[display_id].text)
                )
            if sum(len(html) for _, html, _ in piece) > PIECE_CHARACTERS:
                self.send({"cards": {**where, "outputs": piece}})
                piece = []
        if piece:
            self.send({"cards": {**where, "outputs": piece}})
