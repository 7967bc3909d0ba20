"""The widgets of the studio: head, tabs and their content."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import ipywidgets as w

from mediakit.catalog import Catalog
from mediakit.widgets.controls.context import ViewContext
from mediakit.widgets.studio.catalogue.offers import offers_of
from mediakit.widgets.studio.catalogue.view import CatalogueView
from mediakit.widgets.studio.history.rows import Row
from mediakit.widgets.studio.history.view import HistoryActs, HistoryView
from mediakit.widgets.studio.html import head_html, said_html, summary_html
from mediakit.widgets.studio.keyboard import StudioPage
from mediakit.widgets.studio.spend_summary import SpendSummary
from mediakit.widgets.studio.spending.html import days_html, figures_html, spend_facts
from mediakit.widgets.studio.state import Place, StudioState
from mediakit.widgets.toolkit.accessible_names import Namer
from mediakit.widgets.toolkit.cell_outputs import CardHandle
from mediakit.widgets.toolkit.widget_factory import close_tree


@dataclass(frozen=True)
class StudioActs:
    """What is done in the studio.

    Args:
        go: Goes to a tab.
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


@dataclass(frozen=True)
class Inside:
    """Widgets of others that the studio shows.

    Args:
        form: The form of the chosen function.
        job: The opened job.
        wall: Results side by side.
    """

    form: Any = None
    job: Any = None
    wall: Any = None


class StudioView:
    """The widgets of the studio; what they show comes from a `StudioState`.

    The history and the spend are made when their tabs are first opened.

    Args:
        catalog: The functions.
        context: What widgets are made with.
        service: What people call the service.
        acts: What is done in it.
    """

    def __init__(
        self, catalog: Catalog, context: ViewContext, service: str, acts: StudioActs
    ) -> None:
        make = context.factory.make
        self._context = context
        self._acts = acts
        self._kinds = sorted({(f.title, f.kind) for f in catalog})
        self.catalogue = CatalogueView(context, offers_of(catalog), acts.choose)
        self._history: HistoryView | None = None
        self._head = make(w.HTML, "mk-st-head", value=head_html(service))
        self._summary = make(w.HTML, "mk-live mk-st-now-line")
        self.refresh = self._button(
            "Refresh", "Read the balance, charges and history again", acts.refresh
        )
        self.places = make(
            w.ToggleButtons,
            "mk-st-tabs mk-bare",
            description="Studio",
            options=tuple(p.value for p in Place),
        )
        go = acts.go
        self.places.observe(
            context.guard(lambda change: go(Place(change.new))), "value"
        )
        top = (self._head, self.places, self._summary, self.refresh)
        self._said = make(w.HTML, "mk-live mk-st-said")
        self.back = self._button(
            "All functions", "Back to all functions", lambda: acts.choose(None)
        )
        self.back.icon = "arrow-left"
        self.back.add_class("mk-st-back")
        self._form = make(w.VBox, "mk-st-form")
        self.shut = self._button("Close", "Close this job", acts.shut)
        self._opened = make(w.VBox, "mk-st-opened")
        self._spend = make(w.HTML)
        self._place = make(w.VBox, "mk-st-place")
        children = (make(w.HBox, "mk-st-top", children=top), self._said, self._place)
        help_ = (make(Namer, "mk-names"), make(StudioPage, "mk-names"))
        self.widget = make(w.VBox, "mk-form mk-studio", children=(*children, *help_))

    def _button(self, words: str, tooltip: str, act: Callable[[], object]) -> Any:
        button = self._context.factory.make(
            w.Button, "mk-small", description=words, tooltip=tooltip
        )
        button.on_click(self._context.guard(lambda _: act()))
        return button

    def history(self, text: str = "") -> HistoryView:
        """Return the history, made when it is first asked for.

        Args:
            text: What its search holds at first.
        """
        if self._history is None:
            acts = self._acts.history
            self._history = HistoryView(self._context, self._kinds, acts, text)
        return self._history

    def show(self, state: StudioState, rows: Sequence[Row], inside: Inside) -> None:
        """Bring every widget in line with a state; only differences are sent.

        Args:
            state: The state.
            rows: The submits of its page, in words.
            inside: Widgets of others.
        """
        self._summary.value = summary_html(state.summary or SpendSummary())
        self.places.value = state.place.value
        self._said.value = said_html(state)
        if state.place is Place.HISTORY:
            self._show_history(state, rows, inside)
        elif state.place is Place.SPEND:
            facts = spend_facts(state.summary or SpendSummary(), state.days)
            self._spend.value = figures_html(facts) + days_html(state.days)
            self._place.children = (self._spend,)
        elif inside.form is not None:
            self._form.children = (inside.form,)
            self._place.children = (self.back, self._form)
        else:
            self._place.children = (self.catalogue.widget,)

    def _show_history(
        self, state: StudioState, rows: Sequence[Row], inside: Inside
    ) -> None:
        history = self.history(state.page.query.text)
        history.show(state, rows)
        if state.is_comparing and inside.wall is not None:
            history.show_wall(inside.wall)
        elif inside.job is None:
            history.show_opened()
        else:
            self._opened.children = (self.shut, inside.job)
            history.show_opened(self._opened)
        self._place.children = (history.widget,)

    def hide(self, handle: CardHandle) -> None:
        """Hide a handle's cards for as long as the studio is on the page."""
        self._head.value += handle.live_style

    def close(self) -> None:
        """Close every widget but those that have owners of their own."""
        self._form.children = self._opened.children = ()
        loose = [self.back, self._form, self.shut, self._opened, self._spend]
        loose += [*self.catalogue.loose(), self.catalogue.widget]
        if self._history is not None:
            self._history.show_wall(None)
            loose += [*self._history.loose(), self._history.widget]
        for part in loose:
            close_tree(part)
        close_tree(self.widget)
        self._context.factory.close()
