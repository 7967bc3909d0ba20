"""The widgets of the dashboard; what they show comes from a `DashboardState`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import ipywidgets as w
from markupsafe import Markup

from mediakit.spend.dates import month_name
from mediakit.widgets.dashboard.exports import TOOLTIPS, Format, link_html
from mediakit.widgets.dashboard.html import head_html, panels_html, status_html
from mediakit.widgets.dashboard.month_data import By
from mediakit.widgets.dashboard.state import DashboardState
from mediakit.widgets.toolkit.accessible_names import Namer
from mediakit.widgets.toolkit.callbacks import Guard
from mediakit.widgets.toolkit.cell_outputs import CardHandle
from mediakit.widgets.toolkit.styles import line_html
from mediakit.widgets.toolkit.widget_factory import WidgetFactory, close_tree

ALL = ""
ALL_WORDS = {By.FUNCTION: "functions", By.PROJECT: "projects", By.KEY: "keys"}


@dataclass(frozen=True)
class DashboardActs:
    """The callbacks of the dashboard's controls.

    Args:
        choose_month: Shows another month.
        choose_by: Groups the spend by another column.
        choose_only: Shows one function, project or key; None for all.
        refresh: Reads the month again.
        show_more: Shows the further plots, or hides them.
        show_export: Shows the export row, or hides it.
        export: Prepares a file.
        save: Saves the prepared file into a folder.
    """

    choose_month: Callable[[str], object]
    choose_by: Callable[[By], object]
    choose_only: Callable[[str | None], object]
    refresh: Callable[[], object]
    show_more: Callable[[bool], object]
    show_export: Callable[[bool], object]
    export: Callable[[Format], object]
    save: Callable[[str], object]


class DashboardView:
    """The widgets of one dashboard.

    Args:
        factory: Creates them.
        guard: Wraps their handlers.
        acts: The callbacks.
        handle: Updates the static copy in the notebook.
        may_save: Whether files can be saved into a folder.
    """

    def __init__(
        self,
        factory: WidgetFactory,
        guard: Guard,
        acts: DashboardActs,
        handle: CardHandle,
        *,
        may_save: bool,
    ) -> None:
        self._factory, self._guard, self._acts = factory, guard, acts
        self._hides, self._may_save = handle.live_style, may_save
        make = factory.make
        self._is_showing = False
        self._head = make(w.HTML, "mk-sp-head")
        self.month = make(w.Dropdown, "mk-bare mk-sp-pick", description="Month")
        self.by = make(
            w.ToggleButtons,
            "mk-bare mk-sp-by",
            description="Group by",
            options=tuple(each.value for each in By),
        )
        self.only = make(w.Dropdown, "mk-bare mk-sp-pick", description="Show only")
        self.exports = make(
            w.ToggleButton, "mk-small mk-opens", description="Export", icon="download"
        )
        self.refresh = self._button("Refresh", "Read the month again", acts.refresh)
        controls = (self.month, self.by, self.only, self.exports, self.refresh)
        top = make(w.HBox, "mk-sp-top", children=(self._head, *controls))
        self._export_row = self._make_export_row()
        self._status = make(w.HTML, "mk-live")
        self.retry = self._button("Retry", "Read the month again", acts.refresh)
        self._panels = make(w.HTML)
        self.more = make(
            w.ToggleButton, "mk-fold", description="More plots", icon="chevron-right"
        )
        self._further = make(w.HTML)
        self._top, self._namer = top, factory.make(Namer, "mk-names")
        self.widget = make(w.VBox, "mk-form mk-spend")
        self._listen()

    def _button(self, words: str, tooltip: str, act: Callable[[], object]) -> Any:
        button = self._factory.make(
            w.Button, "mk-small", description=words, tooltip=tooltip
        )
        button.on_click(self._guard(lambda _: act()))
        return button

    def _make_export_row(self) -> Any:
        make, acts = self._factory.make, self._acts
        self.formats = {
            form: self._button(form.value, TOOLTIPS[form], partial(acts.export, form))
            for form in Format
        }
        self._link = make(w.HTML, "mk-live")
        self.folder = make(
            w.Text, "mk-sp-folder", description="Folder", placeholder="this folder"
        )
        self.save = self._button(
            "Save to folder",
            "Save the prepared file where the kernel runs",
            lambda: acts.save(self.folder.value),
        )
        return make(w.HBox, "mk-sp-export")

    def _listen(self) -> None:
        acts = self._acts
        chosen: dict[Any, Callable[[Any], object]] = {
            self.month: acts.choose_month,
            self.by: lambda value: acts.choose_by(By(value)),
            self.only: lambda value: acts.choose_only(value or None),
            self.exports: acts.show_export,
            self.more: acts.show_more,
        }
        for widget, act in chosen.items():
            widget.observe(self._guard(self._chosen(act)), "value")

    def _chosen(self, act: Callable[[Any], object]) -> Callable[[Any], None]:
        def hear(change: Any) -> None:
            if not self._is_showing:  # otherwise the state changed it, not the user
                act(change.new)

        return hear

    def show(self, state: DashboardState) -> None:
        """Update every widget to a state; only differences are sent."""
        self._is_showing = True
        try:
            self._show_controls(state)
        finally:
            self._is_showing = False
        self._status.value = status_html(state)
        self._panels.value = panels_html(state.panels)
        self._further.value = _further_html(state)
        self._show_export(state)
        self.widget.children = (*self._children(state), self._namer)

    def _show_controls(self, state: DashboardState) -> None:
        self._head.value = head_html(state.title) + self._hides
        _choose(self.month, [(month_name(m), m) for m in state.months], state.month)
        self.by.value = state.by.value
        every = (f"All {ALL_WORDS[state.by]}", ALL)
        named = [(value, value) for value in state.choices]
        _choose(self.only, [every, *named], state.only or ALL)
        self.exports.value = state.shows_export
        self.more.value = state.shows_more
        self.more.icon = "chevron-down" if state.shows_more else "chevron-right"

    def _show_export(self, state: DashboardState) -> None:
        parts: list[Any] = [*self.formats.values()]
        if self._may_save and state.export is not None:
            parts += [self.folder, self.save]
        link = ""
        if state.export is not None:
            link = link_html(state.export, may_save=self._may_save)
            link = Markup("<div>{}</div>").format(link)
        self._link.value = link + line_html(state.said, "plain")
        self._export_row.children = (*parts, self._link)
        for button in self.formats.values():
            button.disabled = state.reading is None

    def _children(self, state: DashboardState) -> list[Any]:
        children = [self._top]
        if state.shows_export:
            children.append(self._export_row)
        children.append(self._status)
        if state.trouble:
            children.append(self.retry)
        if state.panels:
            children += [self._panels, self.more]
        if state.shows_more:
            children.append(self._further)
        return children

    def close(self) -> None:
        """Close every widget, including hidden ones."""
        for part in (
            self._export_row,
            *self.formats.values(),
            *(self._link, self.folder, self.save, self.retry, self.more),
            *(self._panels, self._further),
            self.widget,
        ):
            close_tree(part)
        self._factory.close()


def _choose(dropdown: Any, options: list[tuple[str, str]], value: str) -> None:
    if tuple(dropdown.options) != tuple(options):
        dropdown.options = options
    dropdown.value = value


def _further_html(state: DashboardState) -> str:
    if not state.shows_more:
        return ""
    if not state.further:
        return line_html("Drawing…")
    return panels_html(state.further)
