"""The widgets of the history: search, filters, rows and pages."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import ipywidgets as w

from mediakit.history import Entry
from mediakit.records import JobStatus
from mediakit.widgets.controls.context import ViewContext
from mediakit.widgets.studio.history.html import row_html
from mediakit.widgets.studio.history.query import ORDER_WORDS, PAGE_ROWS, HistoryPage
from mediakit.widgets.studio.history.rows import Row
from mediakit.widgets.studio.history.selection_bar import BarView, SelectionActs
from mediakit.widgets.studio.state import StudioState
from mediakit.widgets.toolkit.styles import line_html
from mediakit.widgets.toolkit.widget_factory import close_tree

TITLE_LENGTH = 60
KEPT_ROWS = 4 * PAGE_ROWS
ANY_FUNCTION, ANY_STATE, ANY_PROJECT = "All functions", "All states", "All projects"
ANY = ""  # a list that is set to None shows nothing at all
STATES = ((ANY_STATE, ANY), *((s.value.capitalize(), s) for s in JobStatus))


@dataclass(frozen=True)
class HistoryActs:
    """What is done with the history.

    Args:
        ask: Takes what is looked for otherwise, by the names of a `HistoryQuery`.
        next: Turns to the next page.
        previous: Turns to the page before.
        open: Shows the job of a submit.
        reuse: Fills a form with the settings of a submit.
        select: Selects a submit, or no longer.
        selected: What is done with all that are selected.
        stop_comparing: Shows the list again.
    """

    ask: Callable[..., object]
    next: Callable[[], object]
    previous: Callable[[], object]
    open: Callable[[Entry], object]
    reuse: Callable[[Entry], object]
    select: Callable[[Entry, bool], object]
    selected: SelectionActs
    stop_comparing: Callable[[], object]


class HistoryRow:
    """The widgets of one row, which show one submit and never another.

    A click may be heard late, and acts on the submit that was clicked.

    Args:
        context: What widgets are made with.
        acts: What is done with it.
    """

    def __init__(self, context: ViewContext, acts: HistoryActs) -> None:
        self._entry: Entry | None = None
        make = context.factory.make
        self._quiet = False
        self._html = make(w.HTML)
        self.tick = make(w.Checkbox, "mk-st-tick", description="Select", indent=False)
        self.tick.observe(context.guard(self._select_of(acts)), "value")
        self.open = make(w.Button, "mk-small mk-st-pick", description="Open")
        self.reuse = make(w.Button, "mk-small", description="Reuse settings")
        self.open.on_click(context.guard(lambda _: self._act(acts.open)))
        self.reuse.on_click(context.guard(lambda _: self._act(acts.reuse)))
        children = (self.tick, self._html, self.open, self.reuse)
        self.widget = make(w.HBox, "mk-st-row", children=children)

    def _act(self, act: Callable[[Entry], object]) -> None:
        if self._entry is not None:
            act(self._entry)

    def _select_of(self, acts: HistoryActs) -> Callable[[Any], None]:
        def select(change: Any) -> None:
            if self._entry is not None and not self._quiet:
                acts.select(self._entry, bool(change.new))

        return select

    def show(self, entry: Entry, row: Row, *, opened: bool, selected: bool) -> None:
        """Show a submit.

        Args:
            entry: The submit.
            row: The same in words.
            opened: Its job stands beside the list.
            selected: It is selected.
        """
        self._entry = entry
        self._quiet = True
        self.tick.value = selected
        self._quiet = False
        self._html.value = row_html(row)
        name = row.prompt[:TITLE_LENGTH]
        self.tick.description = f"Select {name}"
        self.open.disabled = row.job_id is None
        self.open.tooltip = row.no_job or f"Open this job: {name}"
        self.reuse.tooltip = f"Open the form with these settings: {name}"
        if opened:
            self.widget.add_class("mk-st-now")
        else:
            self.widget.remove_class("mk-st-now")


class HistoryView:
    """The history, to be searched, filtered, sorted and turned over.

    Args:
        context: What widgets are made with.
        kinds: Name and kind of each function.
        acts: What is done with it.
        text: What the search holds at first.
    """

    def __init__(
        self,
        context: ViewContext,
        kinds: Sequence[tuple[str, str]],
        acts: HistoryActs,
        text: str = "",
    ) -> None:
        self._context = context
        self._acts = acts
        self._quiet = False
        self._rows: dict[int, HistoryRow] = {}
        make = context.factory.make
        self.search = make(
            w.Text,
            "mk-st-tool mk-st-search",
            description="Search history",
            placeholder="Prompt, function or job ID",
            continuous_update=True,
            value=text,
        )
        ask = self._asking(lambda text: {"text": text})
        self.search.observe(ask, "value")
        self.kind = self._dropdown("Function", "kind", [(ANY_FUNCTION, ANY), *kinds])
        self.status = self._dropdown("State", "status", STATES)
        self.project = self._dropdown("Project", "project", [(ANY_PROJECT, ANY)])
        orders = [(words, order) for order, words in ORDER_WORDS.items()]
        self.order = self._dropdown("Sort", "order", orders)
        self._tools = make(w.HBox, "mk-st-tools")
        self.said = make(w.HTML)
        self.next = self._button("Next", "Next page", acts.next)
        self.previous = self._button("Previous", "Previous page", acts.previous)
        self._pages = make(w.HBox, "mk-st-pages")
        self.list = make(w.VBox, "mk-st-list")
        self.columns = make(w.HBox, "mk-st-history", children=(self.list,))
        self.bar = BarView(context, acts.selected, os.environ)
        self.back = self._button(
            "Back to the list", "Stop comparing", acts.stop_comparing
        )
        self.back.icon = "arrow-left"
        self.back.add_class("mk-st-back")
        self._wall = make(w.VBox, "mk-st-wall")
        self.widget = make(w.VBox)
        self.show_opened()
        self._show_tools(projects=())

    def _dropdown(
        self, label: str, name: str, options: Sequence[tuple[str, object]]
    ) -> Any:
        box = self._context.factory.make(
            w.Dropdown, "mk-st-tool", description=label, options=tuple(options)
        )
        # The empty label of a project is none either.
        ask = self._asking(lambda value: {name: None if value == ANY else value})
        box.observe(ask, "value")
        return box

    def _asking(self, wish_of: Callable[[Any], dict[str, Any]]) -> Callable[..., None]:
        def ask(change: Any) -> None:
            if not self._quiet:
                self._acts.ask(**wish_of(change.new))

        return self._context.guard(ask)

    def _button(self, words: str, tooltip: str, act: Callable[[], object]) -> Any:
        button = self._context.factory.make(
            w.Button, "mk-small", description=words, tooltip=tooltip
        )
        button.on_click(self._context.guard(lambda _: act()))
        return button

    @contextmanager
    def _quietly(self) -> Iterator[None]:
        self._quiet = True
        try:
            yield
        finally:
            self._quiet = False

    # -- what is shown ------------------------------------------------------------

    def show(self, state: StudioState, rows: Sequence[Row]) -> None:
        """Show a page; only differences are sent.

        Args:
            state: The page, what is selected and which job stands beside the list.
            rows: The entries of the page in words.
        """
        page = state.page
        with self._quietly():
            self._show_query(page)
        shown = [self._row_of(entry) for entry in page.rows]
        for widget, entry, row in zip(shown, page.rows, rows, strict=True):
            is_open = row.job_id is not None and row.job_id == state.opened
            is_selected = entry in state.selection
            widget.show(entry, row, opened=is_open, selected=is_selected)
        self.said.value = line_html(page.said, "warn" if page.trouble else "quiet")
        self.next.disabled = not page.has_more
        self.previous.disabled = not page.has_previous
        several = page.has_more or page.has_previous
        buttons = (self.previous, self.next) if several else ()
        self._pages.children = (*buttons, self.said)
        self.list.children = (*(row.widget for row in shown), self._pages)
        self.bar.show(state)
        while len(self._rows) > KEPT_ROWS:
            close_tree(self._rows.pop(next(iter(self._rows))).widget)

    def _row_of(self, entry: Entry) -> HistoryRow:
        row = self._rows.pop(entry.number, None) or HistoryRow(
            self._context, self._acts
        )
        self._rows[entry.number] = row  # those that were shown last come last
        return row

    def _show_query(self, page: HistoryPage) -> None:
        query = page.query
        self._show_tools(page.projects)
        self.kind.value = self._offered(self.kind, query.kind)
        self.status.value = self._offered(self.status, query.status)
        self.project.value = self._offered(self.project, query.project)
        self.order.value = query.order

    def _offered(self, box: Any, value: object) -> object:
        return value if any(each == value for _, each in box.options) else ANY

    def _show_tools(self, projects: Sequence[str]) -> None:
        options = ((ANY_PROJECT, ANY), *((name, name) for name in projects))
        if self.project.options != options:
            self.project.options = options
        boxes = (self.search, self.kind, self.status, self.project, self.order)
        shown = (box for box in boxes if projects or box is not self.project)
        self._tools.children = tuple(shown)

    def show_opened(self, *widgets: Any) -> None:
        """Show a job beside the list; none takes its place away."""
        self.columns.children = (self.list, *widgets)
        self.widget.children = (self._tools, self.bar.widget, self.columns)

    def show_wall(self, wall: Any) -> None:
        """Show results side by side in place of the list; None takes them away."""
        self._wall.children = () if wall is None else (wall,)
        self.widget.children = (self.back, self._wall)

    def loose(self) -> Iterator[Any]:
        """Give the widgets that are not in the tree at the moment."""
        yield from (row.widget for row in self._rows.values())
        yield from (self._pages, self.previous, self.next, self.said, self.project)
        yield from (self.back, self._wall, self._tools, self.columns, self.bar.widget)
        yield from self.bar.loose()
