"""The widgets of a job view: its HTML parts, and buttons that may ask to confirm."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import ipywidgets as w
from markupsafe import Markup

from mediakit.safe_text import NO_HTML
from mediakit.widgets.job.card import BAD
from mediakit.widgets.job.html import CSS
from mediakit.widgets.job.player import VIEW_MAX_PX, fitted, jpeg_size
from mediakit.widgets.job.results.scroll_into_view import Arrival
from mediakit.widgets.toolkit.callbacks import Guard
from mediakit.widgets.toolkit.styles import style_tag
from mediakit.widgets.toolkit.widget_factory import WidgetFactory, close_tree

NOTHING = '<span class="mk-none"></span>'
PARTS = ("stage", "prompt", "title", "clock", "note", "details")


@dataclass(frozen=True)
class Question:
    """What is asked before something is done.

    Args:
        text: The question.
        yes: The words of the button that does it.
        no: The words of the button that does not.
        act: What it does; it receives whether the box was ticked.
        points: What is to be known before answering, as sentences.
        tick: The words of a box that can be ticked; none for no box.
    """

    text: str
    yes: str
    no: str
    act: Callable[[bool], object]
    points: tuple[str, ...] = ()
    tick: str = ""


class JobPanel:
    """The widgets of one job view.

    Args:
        guard: Wraps the handlers of questions.
        arrives: The job was just asked for: it is scrolled to if it is out of sight.
    """

    def __init__(self, guard: Guard, *, arrives: bool = False) -> None:
        self._guard = guard
        self._arrives = arrives
        self._factory = WidgetFactory()
        self._parts = {part: self._make_part(part) for part in PARTS}
        self._row = self._factory.make(w.HBox, "mk-job-actions")
        self._asking: tuple[Any, ...] = ()
        self._offered: tuple[Any, ...] = ()
        self._compare: Any = None
        self._video: Any = None
        self._style = self._factory.make(w.HTML)
        self.add_style("")
        self.widget = self._factory.make(w.VBox, "mk-job", children=self._children())

    def _make_part(self, part: str) -> Any:
        live = " mk-live" if part == "title" else ""
        return self._factory.make(w.HTML, f"mk-job-{part}{live}", value=NOTHING)

    def _children(self) -> tuple[Any, ...]:
        stage, *words, note, details = self._parts.values()
        self._left = self._factory.make(w.VBox, "mk-job-left", children=(stage,))
        said = (*words, self._row, note, details)
        right = self._factory.make(w.VBox, "mk-job-right", children=said)
        main = self._factory.make(w.HBox, "mk-job-main", children=(self._left, right))
        arrival = self._factory.make(Arrival, "mk-names", arrives=self._arrives)
        return (self._style, main, arrival)

    def make(self, widget_type: Any, **traits: Any) -> Any:
        """Make a widget that shares what the panel's widgets share."""
        return self._factory.make(widget_type, **traits)

    def button(
        self,
        text: str,
        tooltip: str,
        act: Callable[[], object],
        style: str = "",
        classes: str = "",
    ) -> Any:
        """Make a button; it is shown when it is offered.

        Args:
            text: Its words.
            tooltip: What it does.
            act: Its handler.
            style: "danger" for what cannot be taken back.
            classes: Names of the style sheet.
        """
        button = self._factory.make(
            w.Button, classes, description=text, tooltip=tooltip, button_style=style
        )
        button.on_click(lambda _: act())
        return button

    def add_style(self, tag: str) -> None:
        """Put a style tag on the page for as long as the panel is on it."""
        self._style.value = f"{tag}{style_tag(CSS)}{NOTHING}"

    def append(self, widget: Any) -> None:
        """Put something below everything else."""
        self.widget.children = (*self.widget.children, widget)

    def show(self, part: str, html: str) -> None:
        """Show HTML in a part; none takes no room, the same is not sent again."""
        self._parts[part].value = html or NOTHING

    def play(self, clip: bytes | None, poster: bytes | None = None) -> None:
        """Show a player of a small mp4 above the stage; None takes it away.

        Its bytes go to the page with the widgets, wherever that page is; a notebook
        that is saved does not keep them.

        Args:
            clip: The whole file.
            poster: A JPEG of the same shape.
        """
        before, self._video = self._video, None
        if clip is not None:
            self._video = self._make_video(clip, poster)
        self._arrange(before)

    def compare(self, widget: Any) -> None:
        """Show a widget in place of the result; None brings the result back."""
        before, self._compare = self._compare, widget
        self._arrange(before)

    @property
    def is_comparing(self) -> bool:
        """Tell whether something is shown in place of the result."""
        return self._compare is not None

    def _arrange(self, gone: Any) -> None:
        result = (self._video, self._parts["stage"])
        shown = result if self._compare is None else (self._compare,)
        children = tuple(each for each in shown if each is not None)
        if children != self._left.children:
            self._left.children = children
        if gone is not None:
            gone.close()

    def _make_video(self, clip: bytes, poster: bytes | None) -> Any:
        size = fitted(jpeg_size(poster), VIEW_MAX_PX) if poster else ("", "")
        # No tooltip: the page's half of ipywidgets 8.1 fails on one of a Video.
        return self._factory.make(
            w.Video,
            "mk-job-clip",
            value=clip,
            format="mp4",
            autoplay=False,
            loop=False,
            width=str(size[0]),
            height=str(size[1]),
        )

    def note(self, text: str) -> None:
        """Show plain text under the buttons; no text clears it."""
        self.show("note", _plain(text))

    def complain(self, sentence: str) -> None:
        """Show what went wrong, as plain text."""
        alert = Markup('<span role="alert" style="{}">{}</span>')
        self.show("note", alert.format(BAD, sentence))

    def offer(self, *buttons: Any) -> None:
        """Show these buttons, once no question is open."""
        self._offered = buttons
        if not self._asking:
            self._row.children = buttons

    def ask(self, question: Question) -> None:
        """Ask, in place of the buttons; nothing is done until it is answered."""
        self._drop_question()
        text = self._factory.make(w.HTML, "mk-question", value=_question_html(question))
        box = self._make_tick(question.tick) if question.tick else None
        yes = self.button(
            question.yes,
            "This cannot be undone",
            self._guard(lambda: self._answer(question.act, box)),
            style="danger",
        )
        no = self.button(question.no, "Change nothing", self._guard(self._answer))
        self._asking = tuple(x for x in (text, box, yes, no) if x is not None)
        self._row.children = self._asking
        no.focus()

    def _make_tick(self, words: str) -> Any:
        make = self._factory.make
        return make(w.Checkbox, "mk-tick", description=words, indent=False)

    def _answer(
        self, act: Callable[[bool], object] | None = None, box: Any = None
    ) -> None:
        is_ticked = box is not None and bool(box.value)
        self._drop_question()
        if act is not None:
            act(is_ticked)

    def _drop_question(self) -> None:
        asked, self._asking = self._asking, ()
        self._row.children = self._offered
        for widget in asked:
            widget.close()

    def close(self) -> None:
        """Close every widget."""
        self._drop_question()
        close_tree(self.widget)
        for widget in (self._video, self._parts["stage"]):
            if widget is not None:
                widget.close()
        self._factory.close()


def _question_html(question: Question) -> Markup:
    text = Markup("<b>{}</b>").format(question.text)
    points = NO_HTML.join(map(Markup("<li>{}</li>").format, question.points))
    return text + Markup("<ul>{}</ul>").format(points) if points else text


def _plain(text: str) -> Markup:
    return Markup("<span>{}</span>").format(text) if text else NO_HTML
