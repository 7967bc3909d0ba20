"""The widgets of the catalogue: a search, and a card for each function."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import ipywidgets as w

from mediakit.widgets.look import Kit
from mediakit.widgets.studio.html import offer_html
from mediakit.widgets.studio.making.offers import SHOWN_OFFERS, Offer, matching
from mediakit.widgets.theme import line_html

NO_OFFER = "No function is found by these words. Take one away."
NOTHING_BOUND = (
    "No function of this service is known here. Bind them in mediakit.toml, under "
    "[functions], or pass connect(catalog=...)."
)


class CatalogueView:
    """All functions, to be searched and chosen from.

    Args:
        kit: What widgets are made with.
        offers: The functions.
        choose: Takes the path of a function that was chosen.
    """

    def __init__(
        self, kit: Kit, offers: tuple[Offer, ...], choose: Callable[[str], object]
    ) -> None:
        self._kit = kit
        self._offers = offers
        self._choose = choose
        self._cards: dict[str, Any] = {}
        self.search = kit.look.make(
            w.Text,
            "mk-st-tool mk-st-search",
            description="Search functions",
            placeholder="such as picture, sound or per s",
            continuous_update=True,
        )
        self.search.observe(kit.guard(lambda _: self._show()), "value")
        self._said = kit.look.make(w.HTML)
        tools = kit.look.make(w.HBox, "mk-st-tools", children=(self.search,))
        self.grid = kit.look.make(w.Box, "mk-st-grid")
        children = (tools, self.grid, self._said)
        self.widget = kit.look.make(w.VBox, children=children)
        self._show()

    def _show(self) -> None:
        found = matching(self._offers, self.search.value)
        shown = found[:SHOWN_OFFERS]
        said = _said(len(found), len(shown)) if self._offers else NOTHING_BOUND
        self.grid.children = tuple(self._card(offer) for offer in shown)
        self._said.value = line_html(said)

    def _card(self, offer: Offer) -> Any:
        if offer.path not in self._cards:
            make = self._kit.look.make
            pick = make(w.Button, "mk-st-pick", description=offer.title)
            choose = partial(self._choose, offer.path)
            pick.on_click(self._kit.guard(lambda _: choose()))
            about = make(w.HTML, value=offer_html(offer))
            card = make(w.VBox, "mk-st-card", children=(pick, about))
            self._cards[offer.path] = card
        return self._cards[offer.path]

    def cards(self) -> tuple[Any, ...]:
        """Return every card that was made, also those that no search shows now."""
        return tuple(self._cards.values())


def _said(found: int, shown: int) -> str:
    if found == 0:
        return NO_OFFER
    if found == shown:
        return ""
    return f"{found - shown:,} more; search to see them."
