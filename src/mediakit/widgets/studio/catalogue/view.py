"""The widgets of the catalogue: a search box, and a card for each function."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import ipywidgets as w

from mediakit.schema import Purpose
from mediakit.widgets.controls.context import ViewContext
from mediakit.widgets.studio.catalogue.html import heading_html, offer_html
from mediakit.widgets.studio.catalogue.offers import (
    SHOWN_OFFERS,
    Offer,
    grouped,
    matching,
)
from mediakit.widgets.toolkit.styles import line_html

ASK = "What do you want to make?"
NO_OFFER = "No matching functions. Try fewer words."
NOTHING_BOUND = (
    "No function of this service is known here. Bind them in mediakit.toml, under "
    "[functions], or pass connect(catalog=...)."
)


class CatalogueView:
    """All functions by what people want of them, to be searched and chosen from.

    Args:
        context: What widgets are made with.
        offers: The functions.
        choose: Takes the path of a function that was chosen.
    """

    def __init__(
        self,
        context: ViewContext,
        offers: tuple[Offer, ...],
        choose: Callable[[str], object],
    ) -> None:
        self._context = context
        self._offers = offers
        self._choose = choose
        self._cards: dict[str, Any] = {}
        self._groups: dict[Purpose, Any] = {}
        self._headings: dict[Purpose, Any] = {}
        self.search = context.factory.make(
            w.Text,
            "mk-st-ask mk-bare",
            description=ASK,
            placeholder=ASK,
            continuous_update=True,
        )
        self.search.observe(context.guard(lambda _: self._show()), "value")
        self._said = context.factory.make(w.HTML, "mk-live")
        self.grid = context.factory.make(w.Box, "mk-st-grid")
        children = (self.search, self.grid, self._said)
        self.widget = context.factory.make(w.VBox, "mk-st-make", children=children)
        self._show()

    def _show(self) -> None:
        found = matching(self._offers, self.search.value)
        shown = found[:SHOWN_OFFERS]
        said = _said(len(found), len(shown)) if self._offers else NOTHING_BOUND
        groups = grouped(shown)
        self.grid.children = tuple(self._group(*group) for group in groups.items())
        self._said.value = line_html(said)

    def _group(self, purpose: Purpose, offers: tuple[Offer, ...]) -> Any:
        make = self._context.factory.make
        cards = [self._card(offer) for offer in offers]
        if purpose not in self._groups:
            self._headings[purpose] = make(w.HTML, value=heading_html(purpose))
            self._groups[purpose] = make(w.Box, f"mk-st-group {_width(len(cards))}")
        group = self._groups[purpose]
        others = (each for each in group._dom_classes if not each.startswith("mk-st-n"))
        group._dom_classes = (*others, _width(len(cards)))
        group.children = (self._headings[purpose], *cards)
        return group

    def _card(self, offer: Offer) -> Any:
        if offer.path not in self._cards:
            make = self._context.factory.make
            pick = make(w.Button, "mk-st-pick", description=offer.title)
            choose = partial(self._choose, offer.path)
            pick.on_click(self._context.guard(lambda _: choose()))
            about = make(w.HTML, value=offer_html(offer))
            card = make(w.VBox, "mk-st-card", children=(pick, about))
            self._cards[offer.path] = card
        return self._cards[offer.path]

    @property
    def titles(self) -> tuple[str, ...]:
        """Return the names of the functions that are shown, in order."""
        groups = (group.children[1:] for group in self.grid.children)
        return tuple(c.children[0].description for cards in groups for c in cards)

    def loose(self) -> tuple[Any, ...]:
        """Return every widget that was made, also those that no search shows now."""
        made = (self._cards, self._groups, self._headings)
        return tuple(widget for some in made for widget in some.values())


def _width(cards: int) -> str:
    """Return the style class of a group; three and more fill the rows."""
    return f"mk-st-n{min(cards, 3)}"


def _said(found: int, shown: int) -> str:
    if found == 0:
        return NO_OFFER
    if found == shown:
        return ""
    return f"{found - shown:,} more; search to see them."
