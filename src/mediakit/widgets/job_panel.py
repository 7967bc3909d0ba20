"""The widgets of a job view: parts of HTML, and a row of buttons that may ask back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from typing import Any

import ipywidgets as w

from mediakit.widgets.card import BAD
from mediakit.widgets.guard import Guard
from mediakit.widgets.job_html import CSS
from mediakit.widgets.look import Look, close_tree
from mediakit.widgets.playback import VIEW_MAX_PX, fitted, jpeg_size

NOTHING = '<span class="mk-none"></span>'
PARTS = ("title", "clock", "bar", "stage", "facts", "note")


@dataclass(frozen=True)
class Question:
    """What is asked before something is done.

    Args:
        text: The question.
        yes: The words of the button that does it.
        no: The words of the button that does not.
        act: What it does.
    """

    text: str
    yes: str
    no: str
    act: Callable[[], object]


class JobPanel:
    """The widgets of one job view.

    Args:
        guard: Wraps the handlers of questions.
    """

    def __init__(self, guard: Guard) -> None:
        self._guard = guard
        self._look = Look()
        self._parts = {part: self._make_part(part) for part in PARTS}
        self._row = self._look.make(w.HBox, "mk-job-actions")
        self._asking: tuple[Any, ...] = ()
        self._offered: tuple[Any, ...] = ()
        self._style = self._look.make(w.HTML)
        self.add_style("")
        self.widget = self._look.make(w.VBox, "mk-job", children=self._children())

    def _make_part(self, part: str) -> Any:
        live = " mk-live" if part == "title" else ""
        return self._look.make(w.HTML, f"mk-job-{part}{live}", value=NOTHING)

    def _children(self) -> tuple[Any, ...]:
        title, clock, bar, stage, facts, note = self._parts.values()
        self._left = self._look.make(w.VBox, "mk-job-left", children=(stage,))
        main = self._look.make(w.HBox, "mk-job-main", children=(self._left, facts))
        return (self._style, title, clock, bar, main, self._row, note)

    def button(
        self, text: str, tooltip: str, act: Callable[[], object], style: str = ""
    ) -> Any:
        """Make a button; it is shown when it is offered.

        Args:
            text: Its words.
            tooltip: What it does.
            act: Its handler.
            style: "danger" for what cannot be taken back.
        """
        button = self._look.make(
            w.Button, description=text, tooltip=tooltip, button_style=style
        )
        button.on_click(lambda _: act())
        return button

    def add_style(self, tag: str) -> None:
        """Put a style tag on the page for as long as the panel is on it."""
        self._style.value = f"{tag}<style>{CSS}</style>{NOTHING}"

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
        *before, stage = self._left.children
        if clip is None and not before:
            return
        self._left.children = (stage,)
        for video in before:
            video.close()
        if clip is not None:
            self._left.children = (self._video(clip, poster), stage)

    def _video(self, clip: bytes, poster: bytes | None) -> Any:
        size = fitted(jpeg_size(poster), VIEW_MAX_PX) if poster else ("", "")
        # No tooltip: the page's half of ipywidgets 8.1 fails on one of a Video.
        return self._look.make(
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
        self.show("note", f'<span role="alert" style="{BAD}">{escape(sentence)}</span>')

    def offer(self, *buttons: Any) -> None:
        """Show these buttons, once no question is open."""
        self._offered = buttons
        if not self._asking:
            self._row.children = buttons

    def ask(self, question: Question) -> None:
        """Ask, in place of the buttons; nothing is done until it is answered."""
        self._drop_question()
        text = self._look.make(w.HTML, value=_plain(question.text))
        yes = self.button(
            question.yes,
            "This cannot be taken back",
            self._guard(lambda: self._answer(question.act)),
            style="danger",
        )
        no = self.button(question.no, "Change nothing", self._guard(self._answer))
        self._asking = (text, yes, no)
        self._row.children = self._asking
        no.focus()

    def _answer(self, act: Callable[[], object] | None = None) -> None:
        self._drop_question()
        if act is not None:
            act()

    def _drop_question(self) -> None:
        asked, self._asking = self._asking, ()
        self._row.children = self._offered
        for widget in asked:
            widget.close()

    def close(self) -> None:
        """Close every widget."""
        self._drop_question()
        close_tree(self.widget)
        self._look.close()


def _plain(text: str) -> str:
    return f"<span>{escape(text)}</span>" if text else ""
