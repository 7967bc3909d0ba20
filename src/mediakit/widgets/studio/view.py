"""The widgets of the studio: head, places, and what stands in each of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import ipywidgets as w

from mediakit.catalog import Catalog
from mediakit.widgets.card_handle import CardHandle
from mediakit.widgets.look import Kit, close_tree
from mediakit.widgets.names import namers
from mediakit.widgets.studio.glance import Glance
from mediakit.widgets.studio.html import glance_html, head_html
from mediakit.widgets.studio.making.offers import offers_of
from mediakit.widgets.studio.making.view import CatalogueView
from mediakit.widgets.studio.past.rows import Row
from mediakit.widgets.studio.past.view import HistoryActs, HistoryView
from mediakit.widgets.studio.state import Place, StudioState
from mediakit.widgets.theme import error_html, line_html
from mediakit.widgets.words import title_of


@dataclass(frozen=True)
class StudioActs:
    """What is done in the studio.

    Args:
        go: Goes to a place.
        choose: Shows the form of the function at a path; None shows the catalogue.
        refresh: Reads balance, spend and history again.
        shut: Takes the opened job away.
        history: What is done with the history.
    """

    go: Callable[[Place], object]
    choose: Callable[[str | None], object]
    refresh: Callable[[], object]
    shut: Callable[[], object]
    history: HistoryActs


class StudioView:
    """The widgets of the studio; what they show comes from a `StudioState`.

    Args:
        catalog: The functions.
        kit: What widgets are made with.
        head: The service, and when this kernel began, in words.
        acts: What is done in it.
    """

    def __init__(
        self, catalog: Catalog, kit: Kit, head: tuple[str, str], acts: StudioActs
    ) -> None:
        make = kit.look.make
        self._kit = kit
        kinds = sorted({(title_of(f), f.kind) for f in catalog})
        self.catalogue = CatalogueView(kit, offers_of(catalog), acts.choose)
        self.history = HistoryView(kit, kinds, acts.history)
        self._head = make(w.HTML, "mk-st-head", value=head_html(*head))
        self._glance = make(w.HTML, "mk-live")
        self._refresh = self._button(
            "Refresh", "Read balance, spend and history again", acts.refresh
        )
        top = make(w.HBox, "mk-st-top", children=(self._glance, self._refresh))
        self.places = make(
            w.ToggleButtons,
            "mk-st-tabs mk-bare",
            description="Section",
            options=tuple(p.value for p in Place),
        )
        go = acts.go
        self.places.observe(kit.guard(lambda change: go(Place(change.new))), "value")
        self._error = make(w.HTML, "mk-st-error")
        self.back = self._button(
            "All functions", "Back to the catalogue", lambda: acts.choose(None)
        )
        self.back.icon = "arrow-left"
        self.back.add_class("mk-st-back")
        self._form = make(w.VBox, "mk-st-form")
        self.shut = self._button("Close", "Take this job away again", acts.shut)
        self._opened = make(w.VBox, "mk-st-opened")
        self._place = make(w.VBox)
        children = (self._head, top, self.places, self._error, self._place)
        self.widget = make(
            w.VBox, "mk-form mk-studio", children=(*children, *namers(kit.look))
        )

    def _button(self, words: str, tooltip: str, act: Callable[[], object]) -> Any:
        button = self._kit.look.make(
            w.Button, "mk-small", description=words, tooltip=tooltip
        )
        button.on_click(self._kit.guard(lambda _: act()))
        return button

    def show(
        self,
        state: StudioState,
        rows: Sequence[Row],
        *,
        form: Any = None,
        job: Any = None,
    ) -> None:
        """Bring every widget in line with a state; only differences are sent.

        Args:
            state: The state.
            rows: The submits of its page, in words.
            form: The widget of the chosen function's form.
            job: The widget of the opened job.
        """
        self._glance.value = glance_html(state.glance or Glance())
        self.places.value = state.place.value
        self._error.value = _said_html(state)
        if state.place is Place.HISTORY:
            self.history.show(state.page, rows, state.opened)
            self._show_job(job)
            self._place.children = (self.history.widget,)
        elif form is not None:
            self._form.children = (form,)
            self._place.children = (self.back, self._form)
        else:
            self._place.children = (self.catalogue.widget,)

    def _show_job(self, job: Any) -> None:
        if job is None:
            self.history.show_opened()
        else:
            self._opened.children = (self.shut, job)
            self.history.show_opened(self._opened)

    def hide(self, handle: CardHandle) -> None:
        """Hide a handle's cards for as long as the studio is on the page."""
        self._head.value += handle.live_style

    def close(self) -> None:
        """Close every widget but forms and jobs, which have owners of their own."""
        self._form.children = self._opened.children = ()
        loose = (self.back, self._form, self.shut, self._opened)
        for part in (
            *self.catalogue.cards(),
            *self.history.loose(),
            self.catalogue.widget,
            self.history.widget,
            *loose,
        ):
            close_tree(part)
        close_tree(self.widget)
        self._kit.look.close()


def _said_html(state: StudioState) -> str:
    if state.said:
        return error_html(state.said)
    return line_html("Opening the job…") if state.opening else ""
