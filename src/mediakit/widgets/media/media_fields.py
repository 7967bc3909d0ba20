"""Controls of media fields: rows of paths and URLs, and an upload button."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import ipywidgets as w
from markupsafe import Markup

from mediakit.media_limits import MediaName
from mediakit.rules import Problem
from mediakit.schema import FieldSpec
from mediakit.widgets.controls.context import WidgetContext
from mediakit.widgets.controls.control import Control, Note
from mediakit.widgets.controls.media_inspection import Inspection, MediaKey
from mediakit.widgets.controls.messages import problem_text, within
from mediakit.widgets.media.media_row import MediaRow, found_html
from mediakit.widgets.media.upload_button import make_upload
from mediakit.widgets.toolkit.widget_factory import close_tree
from mediakit.widgets.uploads.accepted_files import accept_text, refusal

TAGS = {"image": "Image", "video": "Video", "audio": "Audio"}


class MediaControl(Control):
    """What a field of one medium and a field of several have in common."""

    def __init__(self, spec: FieldSpec, context: WidgetContext) -> None:
        super().__init__(spec, context)
        item = spec.item or spec
        if item.media_kind is None:
            raise TypeError(f"{spec.name} does not say which medium it takes")
        self.kind: MediaName = item.media_kind
        self._found: Mapping[MediaKey, Inspection] = {}
        self.beside: tuple[Any, ...] = context.beside(self) if context.beside else ()

    @property
    @abstractmethod
    def rows(self) -> tuple[MediaRow, ...]:
        """Return the rows, those without a value included."""

    @property
    def given(self) -> list[MediaRow]:
        """Return the rows that have a value, in order."""
        return [row for row in self.rows if row.value]

    @property
    def note(self) -> Note:
        """Say what is accepted of the files, where that always holds."""
        return Note(self.spec.limits.words if self.spec.limits else "")

    def show_found(self, found: Mapping[MediaKey, Inspection]) -> None:
        """Show what was found out about the local files, and remote pictures."""
        self._found = found
        for row in self.rows:
            seen = found.get((self.kind, row.value))
            row.show_found(found_html(self.kind, row.value, seen))

    def place_problems(
        self, problems: tuple[Problem, ...], place: str = ""
    ) -> tuple[Problem, ...]:
        """Show problems of single media in their rows; return the others."""
        texts = {p.field: problem_text(p) for p in problems}
        at = place or self.spec.name
        labels = {row: f"{at}[{index}]" for index, row in enumerate(self.given)}
        for row in self.rows:
            row.show_problem(texts.pop(labels.get(row, ""), ""))
        return tuple(p for p in problems if p.field in texts)

    def make_upload(self) -> Any:
        """Make the button that takes files from the browser."""
        words = f" {self.spec.limits.words}." if self.spec.limits else ""
        return make_upload(
            self.context,
            check=self._refusal,
            take=self._kept,
            label=self.label,
            multiple=self.spec.item is not None,
            accept=accept_text(self.spec),
            hint=f"Upload from this computer, or drop a file here.{words}",
        )

    def _refusal(self, name: str, size_bytes: int, content_type: str) -> str | None:
        most = self.spec.max_length if self.spec.item else None
        if most is not None and len(self.given) >= most:
            files = "file" if most == 1 else "files"
            return f"{name} was not uploaded: this field takes {most} {files}."
        return refusal(self.spec, name, size_bytes, content_type)

    def _kept(self, path: Path) -> None:
        with self.quietly():
            self.take(str(path))
        self.tell()

    @abstractmethod
    def take(self, path: str) -> None:
        """Take the path of an uploaded file as a value."""


class MediaBox(MediaControl):
    """A field for one medium."""

    def __init__(self, spec: FieldSpec, context: WidgetContext) -> None:
        super().__init__(spec, context)
        self._row = MediaRow(self, spec.default or "", self.heading, self.hint)
        self._row.buttons = (self.make_upload(), *self.beside)
        self.widget, self.named = self._row.widget, self._row.box

    @property
    def rows(self) -> tuple[MediaRow, ...]:
        """Return the one row."""
        return (self._row,)

    @property
    def parts(self) -> tuple[Any, ...]:
        """Return the box and the upload button."""
        upload, *_ = self._row.buttons
        return (self._row.box, *self.beside, upload)

    def read(self) -> object:
        """Return the path or URL; None for none."""
        return self._row.value or None

    def become(self, spec: FieldSpec) -> bool:
        """Become the field of another medium in place; the path or URL stays."""
        if spec.media_kind is None:
            return False
        self.spec, self.kind = spec, spec.media_kind
        self.named.description = self.heading
        self._row.show_found("")
        upload, *_ = self._row.buttons
        upload.accept = accept_text(spec)
        return True

    def write(self, value: object) -> None:
        """Show a path or URL."""
        self._row.value = "" if value is None else str(value)

    def take(self, path: str) -> None:
        """Take the path of an uploaded file as the value."""
        self.write(path)


class MediaList(MediaControl):
    """A field for several media, in an order that people can change."""

    def __init__(self, spec: FieldSpec, context: WidgetContext) -> None:
        super().__init__(spec, context)
        make = context.factory.make
        self._rows: list[MediaRow] = []
        self.named = self._head = make(
            w.HTML, "mk-wide mk-head-line", description=self.heading, tooltip=self.hint
        )
        hint = f"Add a row to {within(self.label)}"
        self._add = self._button("Add", hint, self._added, "mk-small mk-adds")
        self._upload = self.make_upload()
        top = (self._head, self._add, self._upload, *self.beside)
        line = make(w.HBox, "mk-row", children=top)
        self._lines = make(w.VBox, "mk-media")
        self.widget = make(w.VBox, "mk-media", children=(line, self._lines))
        self.value = spec.default

    @property
    def rows(self) -> tuple[MediaRow, ...]:
        """Return the rows, those without a value included."""
        return tuple(self._rows)

    @property
    def parts(self) -> tuple[Any, ...]:
        """Return the boxes and all buttons."""
        rows = (part for row in self._rows for part in (row.box, *row.buttons))
        return (*rows, self._add, *self.beside, self._upload)

    def set_enabled(self, *, enabled: bool) -> None:
        """Let people change it, or not; buttons that lead nowhere are off."""
        if not enabled:
            super().set_enabled(enabled=enabled)
            return
        # Each is set once: switching a button on and off again would be two messages.
        most = self.spec.max_length
        self._add.disabled = most is not None and len(self._rows) >= most
        for button in (self._upload, *self.beside):
            button.disabled = most is not None and len(self.given) >= most
        for index, row in enumerate(self._rows):
            up, down, remove, *cite = row.buttons
            row.box.disabled = remove.disabled = False
            up.disabled = index == 0
            down.disabled = index == len(self._rows) - 1
            for button in cite:
                button.disabled = not row.value

    def read(self) -> object:
        """Return the paths and URLs in order; None when there are none."""
        return [row.value for row in self.given] or None

    def write(self, value: object) -> None:
        """Show some paths and URLs, one row each."""
        values = list(value) if isinstance(value, list | tuple) else []
        if not values and self.spec.to_fill_in:
            values = [""]  # a row to begin with
        self._resize(len(values))
        for row, item in zip(self._rows, values, strict=True):
            row.value = str(item)
        self._arrange()

    def take(self, path: str) -> None:
        """Take the path of an uploaded file into the first free row."""
        free = [row for row in self._rows if not row.value]
        if not free:
            self._resize(len(self._rows) + 1)
            free = self._rows[-1:]
        free[0].value = path
        self._arrange()

    def tell(self) -> None:
        """Say that the value was changed by hand, with the rows renumbered."""
        with self.quietly():
            self._arrange()
        super().tell()

    def _button(
        self,
        text: str,
        tooltip: str,
        press: Callable[[], object],
        classes: str = "mk-small",
    ) -> Any:
        button = self.context.factory.make(
            w.Button, classes, description=text, tooltip=tooltip
        )
        button.on_click(self.context.guard(lambda _: press()))
        return button

    def _resize(self, count: int) -> None:
        self._rows, gone = self._rows[:count], self._rows[count:]
        while len(self._rows) < count:
            self._rows.append(self._make_row())
        self._place_rows()
        for row in gone:
            close_tree(row.widget)

    def _place_rows(self) -> None:
        self._lines.children = tuple(row.widget for row in self._rows)

    def _make_row(self) -> MediaRow:
        row = MediaRow(self, "", "")
        row.buttons = (
            self._button("Up", "Move one place up", lambda: self._move(row, -1)),
            self._button("Down", "Move one place down", lambda: self._move(row, 1)),
            self._button("Remove", "Remove this row", lambda: self._remove(row)),
            *self._cite_button(row),
        )
        return row

    @property
    def _tag(self) -> str | None:
        """Return how prompts cite these media; None if they do not."""
        tag = f"@{TAGS[self.kind]}"
        return tag if f"{tag}1" in self.context.prompts else None

    def _cite_button(self, row: MediaRow) -> tuple[Any, ...]:
        cite = self.context.cite
        if cite is None or self._tag is None:
            return ()
        tooltip = "Add this reference to the end of the prompt"
        return (self._button("Cite", tooltip, lambda: cite(row.box.description)),)

    def _added(self) -> None:
        self._resize(len(self._rows) + 1)
        self.tell()

    def _move(self, row: MediaRow, by: int) -> None:
        index = self._rows.index(row)
        target = min(max(0, index + by), len(self._rows) - 1)
        self._rows.insert(target, self._rows.pop(index))
        self._place_rows()
        self.tell()

    def _remove(self, row: MediaRow) -> None:
        self._rows.remove(row)
        self._place_rows()
        close_tree(row.widget)
        self.tell()

    def _arrange(self) -> None:
        """Number the rows as prompts cite them; a row without a value has no number."""
        tag = self._tag or f"{TAGS[self.kind]} "
        number = 0
        for row in self._rows:
            number += bool(row.value)
            row.box.description = f"{tag}{number}" if row.value else "new"
        self._head.value = self._head_html(number)
        self.set_enabled(enabled=True)

    def _head_html(self, count: int) -> Markup:
        most = self.spec.max_length
        text = f"{count} of {most}" if count and most else str(count or "none")
        return Markup("<span>{}</span>").format(text)
