"""A list of earlier results, of which one is chosen for a media control."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import ipywidgets as w
from markupsafe import Markup

from mediakit.history import Entry
from mediakit.widgets.controls.context import WidgetContext
from mediakit.widgets.inputs.result_search import Found, Result, Results
from mediakit.widgets.media.media_fields import MediaControl
from mediakit.widgets.toolkit.styles import data_url, line_html, style_tag
from mediakit.widgets.toolkit.widget_factory import close_tree

NAMES = {"image": "pictures", "video": "clips", "audio": "sounds"}
SEARCH_PAUSE_S = 0.3

Run = Callable[[Callable[[], Awaitable[object]]], object]
"""Starts a coroutine function on the I/O thread, and returns at once."""
Sleep = Callable[[float], Awaitable[object]]
CSS = (Path(__file__).parent / "result_picker.css").read_text("utf-8")


class ResultPicker:
    """A button beside an upload button, and what it opens.

    Args:
        control: The control that takes the chosen result.
        results: Finds results.
        context: What widgets are made with.
        run: Starts what takes time.
        sleep: Waits for the end of typing.
    """

    def __init__(
        self,
        control: MediaControl,
        results: Results,
        context: WidgetContext,
        run: Run,
        sleep: Sleep,
    ) -> None:
        self._control = control
        self._results = results
        self._context = context
        self._run = run
        self._sleep = sleep
        self._asked = 0
        self._last: Entry | None = None
        self._shown: tuple[Result, ...] = ()
        self._rows: tuple[Any, ...] = ()
        self._panel: Any = None
        self.button = context.factory.make(
            w.ToggleButton,
            "mk-small mk-opens",
            description="From history",
            tooltip=f"Choose one of your results for {control.label}",
        )
        self.button.observe(context.guard(self._turned), "value")

    def _turned(self, change: Any) -> None:
        if change.new:
            self._open()
        else:
            self._close()

    def _open(self) -> None:
        make = self._context.factory.make
        self._search = make(
            w.Text,
            "mk-wide mk-pick-search",
            description="Search results",
            placeholder=f"Search your {NAMES[self._control.kind]}",
            continuous_update=True,
        )
        self._search.observe(
            self._context.guard(lambda _: self._ask(pause=True)), "value"
        )
        self._list = make(w.VBox, "mk-pick-list")
        self._more = make(w.Button, "mk-small mk-add", description="Show older results")
        self._more.on_click(self._context.guard(lambda _: self._ask(further=True)))
        self._said = make(w.HTML, "mk-live", value=line_html("Reading the history…"))
        self._style = make(w.HTML, "mk-pick-style", value=style_tag(CSS))
        children = (self._style, self._search, self._list, self._said)
        self._panel = make(w.VBox, "mk-pick", children=children)
        around = self._control.widget
        around.children = (*around.children, self._panel)
        self._ask()

    def _close(self) -> None:
        panel, self._panel = self._panel, None
        if panel is None:
            return
        self._asked += 1
        around = self._control.widget
        around.children = tuple(each for each in around.children if each is not panel)
        more = self._more
        close_tree(panel)
        more.close()
        self._rows, self._shown = (), ()

    def _ask(self, *, pause: bool = False, further: bool = False) -> None:
        self._asked += 1
        asked, text = self._asked, str(self._search.value)
        before = self._last if further else None
        kind = self._control.kind

        async def read() -> None:
            if pause:
                await self._sleep(SEARCH_PAUSE_S)
            if asked != self._asked:
                return
            found = await self._results.page(kind, text, before)
            self._context.guard(self._take)(asked, found, further=further)
            await self._bring_posters(asked)

        self._run(read)

    async def _bring_posters(self, asked: int) -> None:
        for result in self._shown:
            if asked != self._asked:
                return
            if result.poster is None:
                poster = await self._results.poster(result)
                self._context.guard(self._place_poster)(asked, result, poster)

    def _take(self, asked: int, found: Found, *, further: bool) -> None:
        if asked != self._asked or self._panel is None:
            return
        self._last = found.last
        before = self._rows if further else ()
        gone = () if further else self._rows
        rows = tuple(self._make_row(result) for result in found.results)
        self._shown = (*(self._shown if further else ()), *found.results)
        self._rows = (*before, *rows)
        self._list.children = self._rows
        self._said.value = line_html(self._summary())
        more = (self._more,) if found.last is not None else ()
        self._panel.children = (*self._panel.children[:4], *more)
        for row in gone:
            close_tree(row)

    def _summary(self) -> str:
        if self._shown:
            return ""
        name = NAMES[self._control.kind]
        if str(self._search.value).strip():
            return f"No {name} match. Try fewer words."
        return f"No {name} yet. Completed results appear here."

    def _make_row(self, result: Result) -> Any:
        make = self._context.factory.make
        button = make(
            w.Button,
            "mk-pick-choose",
            description=result.title,
            tooltip=f"Use {result.words}",
        )
        button.on_click(self._context.guard(lambda _: self._choose(result)))
        poster = make(w.HTML, "mk-pick-poster", value=poster_html(result.poster))
        facts = make(w.HTML, "mk-pick-facts", value=line_html(result.facts))
        words = make(w.VBox, "mk-pick-words", children=(button, facts))
        return make(w.HBox, "mk-pick-row", children=(poster, words))

    def _place_poster(self, asked: int, result: Result, poster: bytes | None) -> None:
        if asked != self._asked or self._panel is None or poster is None:
            return
        at = self._shown.index(result)
        self._shown = _changed(self._shown, at, replace(result, poster=poster))
        self._rows[at].children[0].value = poster_html(poster)

    def _choose(self, result: Result) -> None:
        self.button.value = False
        with self._control.quietly():
            self._control.take(result.made.url)
        self._control.tell()
        self.button.focus()


def poster_html(poster: bytes | None) -> Markup:
    """Write a small picture, or the room for it."""
    if not poster:
        return Markup("<span></span>")
    return Markup('<img src="{}" alt="">').format(data_url(poster))


def _changed(results: Sequence[Result], at: int, result: Result) -> tuple[Result, ...]:
    return (*results[:at], result, *results[at + 1 :])
