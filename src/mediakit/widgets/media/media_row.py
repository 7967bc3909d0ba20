"""One medium in a form: a box for its path or URL, and its properties."""

from __future__ import annotations

from typing import Any

import ipywidgets as w
from markupsafe import Markup

from mediakit.media import is_url, size_text
from mediakit.media_limits import MediaInfo, MediaName
from mediakit.safe_text import NO_HTML
from mediakit.widgets.controls.control import Control
from mediakit.widgets.controls.media_inspection import Inspection
from mediakit.widgets.toolkit.styles import data_url, line_html
from mediakit.widgets.uploads.upload_folder import own_name


def facts_text(info: MediaInfo) -> str:
    """Write what a file is for people."""
    facts = [size_text(info.size_bytes)]
    if info.width is not None and info.height is not None:
        facts.insert(0, f"{info.width} \N{MULTIPLICATION SIGN} {info.height}")
    if info.duration_s is not None:
        facts.append(f"{info.duration_s:.1f} s")
    if info.fps is not None:
        facts.append(f"{info.fps:.0f} fps")
    return " · ".join(facts)


def found_html(kind: MediaName, value: str, found: Inspection | None) -> Markup:
    """Write what is known of one medium: its picture and its facts.

    A remote picture is fetched by the browser; nothing of it is kept.
    """
    if not value:
        return NO_HTML
    if found is not None and found.words:
        source, facts = _thumbnail_url(found), found.words
    elif is_url(value):
        source = value if kind == "image" else ""
        facts = "" if source else _remote_text(found)
    elif found is None:
        return Markup('<div class="mk-media-found mk-quiet">checking the file …</div>')
    else:
        source = _thumbnail_url(found)
        facts = facts_text(found.info) if found.info else ""
        if facts and own_name(value):
            facts = f"Uploaded · {facts}"
    if not source and not facts:
        return NO_HTML
    picture = Markup('<img src="{}" alt="">').format(source) if source else ""
    place = Markup('<div class="mk-media-found">{}{}</div>')
    return place.format(picture, line_html(facts))


def _remote_text(found: Inspection | None) -> str:
    if found is None or found.info is None:
        return "remote; length unknown"
    return f"remote · {facts_text(found.info)}"


def _thumbnail_url(found: Inspection) -> str:
    return data_url(found.thumbnail) if found.thumbnail else ""


class MediaRow:
    """One path or URL: its box, its picture and facts, its problem.

    The box shows an uploaded file by its own name, for as long as nobody types there.

    Args:
        owner: The control that the row belongs to.
        value: The path or URL.
        name: What stands above the box.
        tooltip: What the name says when it is pointed at.
    """

    def __init__(
        self, owner: Control, value: str, name: str, tooltip: str | None = None
    ) -> None:
        make = owner.context.factory.make
        self._found = self._problem = self._upload = ""
        self.box = make(
            w.Text,
            "mk-wide",
            description=name,
            tooltip=tooltip,
            placeholder="Path or URL",
            continuous_update=True,
        )
        self.value = value
        self._below = make(w.HTML, "mk-note")
        self._line = make(w.HBox, "mk-row", children=(self.box,))
        self.widget = make(w.VBox, "mk-media", children=(self._line, self._below))
        owner.watch(self.box, self._typed)

    @property
    def value(self) -> str:
        """The path or URL, without blanks around it."""
        text = str(self.box.value).strip()
        return self._upload if text and text == own_name(self._upload) else text

    @value.setter
    def value(self, value: str) -> None:
        name = own_name(value)
        self._upload = value if name else ""
        self.box.value = name or value

    def _typed(self, text: str) -> None:
        self._upload = ""
        # What was found belongs to what stood in the box before.
        self.show_found("")

    @property
    def buttons(self) -> tuple[Any, ...]:
        """Return what stands behind the box."""
        return tuple(self._line.children[1:])

    @buttons.setter
    def buttons(self, buttons: tuple[Any, ...]) -> None:
        self._line.children = (self.box, *buttons)

    def show_found(self, html: str) -> None:
        """Show the picture and the facts of the medium."""
        self._found = html
        self._show()

    def show_problem(self, text: str) -> None:
        """Show what is wrong with the medium; nothing takes no room."""
        if self._upload:
            text = text.replace(self._upload, own_name(self._upload) or "")
        problem = Markup("<div>{}</div>").format(line_html(text, "bad"))
        self._problem = problem if text else NO_HTML
        self._show()

    def _show(self) -> None:
        self._below.value = self._found + self._problem
