"""The base class of controls: a widget for one field, and its value."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

from mediakit.rules import Problem
from mediakit.schema import FieldSpec
from mediakit.widgets.controls.context import WidgetContext
from mediakit.widgets.controls.media_inspection import Inspection, MediaKey
from mediakit.widgets.controls.messages import hint_of, label_of
from mediakit.widgets.toolkit.styles import Tone


class Note(NamedTuple):
    """What a control itself has to say.

    Args:
        text: Plain text; nothing takes no room.
        tone: How it is said.
    """

    text: str = ""
    tone: Tone = "quiet"


Build = Callable[[FieldSpec, WidgetContext], "Control"]
"""Makes the control of a field."""


class Control(ABC):
    """One field's control: its widget, and the value in both directions.

    Args:
        spec: The field.
        context: What controls are made with.
    """

    widget: Any
    """What stands in the form."""
    named: Any
    """The part that carries the field's name."""

    def __init__(self, spec: FieldSpec, context: WidgetContext) -> None:
        self.spec = spec
        self.context = context
        self._listener: Callable[[], object] | None = None
        self._in_code = False
        self._found: Mapping[MediaKey, Inspection] = {}

    @property
    def value(self) -> object:
        """The value; None means "not sent"."""
        return self.read()

    @value.setter
    def value(self, value: object) -> None:
        with self.quietly():
            self.write(value)

    @abstractmethod
    def read(self) -> object:
        """Return the value that the control shows."""

    @abstractmethod
    def write(self, value: object) -> None:
        """Show a value."""

    def amend(self, value: object) -> None:
        """Show a value that differs from the shown one in few places.

        What is the same stays as it is on the page, with its focus.
        """
        if value != self.value:
            self.value = value

    def become(self, spec: FieldSpec) -> bool:
        """Become the control of another field in place, and tell whether that can be.

        What people type meanwhile so reaches it. The value stays as it is.

        Args:
            spec: The other field, of the same name.
        """
        return False

    def reveal(self, place: str, at: str = "") -> Control:
        """Unfold what stands at a place inside the value.

        Args:
            place: The place, such as "tracks[0].keyframes[2]".
            at: Where the value stands.

        Returns:
            The innermost control at or around the place.
        """
        return self

    @property
    def parts(self) -> tuple[Any, ...]:
        """Return the widgets that people change."""
        return (self.widget,)

    @property
    def note(self) -> Note:
        """Return what the control itself has to say, such as a count."""
        return Note()

    @property
    def label(self) -> str:
        """Return the field's name for people, with its unit."""
        if self.spec.kind == "choice":
            return label_of(self.spec)  # each choice has the unit
        unit = self.spec.unit or (self.spec.item.unit if self.spec.item else None)
        return f"{label_of(self.spec)} ({unit})" if unit else label_of(self.spec)

    @property
    def hint(self) -> str:
        """Return the field's name in code and what it does, for the tooltip."""
        return hint_of(self.spec)

    @property
    def heading(self) -> str:
        """Return the name with the mark of a field that is always required."""
        return f"{self.label} *" if self.spec.to_fill_in else self.label

    @property
    def holds_media(self) -> bool:
        """Tell whether there are media in its value."""
        return any(each.media_kind for each in self.spec.with_inner())

    def show_found(self, found: Mapping[MediaKey, Inspection]) -> None:
        """Show what was found out about the media in its value."""
        self._found = found

    def place_problems(
        self, problems: tuple[Problem, ...], place: str = ""
    ) -> tuple[Problem, ...]:
        """Show problems inside the value where they are; return the others.

        Args:
            problems: What is wrong with the value, and with what is inside it.
            place: Where the value stands, such as "tracks[0].keyframes"; the field's
                name by default.
        """
        return problems

    def listen(self, listener: Callable[[], object]) -> None:
        """Call a function after each change by hand."""
        self._listener = listener

    def take_listener(self, other: Control) -> None:
        """Notify the observers of another control of changes."""
        self._listener = other._listener

    def set_enabled(self, *, enabled: bool) -> None:
        """Let people change it, or not; its value stays."""
        for part in self.parts:
            part.disabled = not enabled

    def set_required(self, *, required: bool) -> None:
        """Mark it as required, or not."""
        self.named.description = f"{self.label} *" if required else self.label

    def watch(self, widget: Any, hear: Callable[[Any], object] | None = None) -> None:
        """Take changes of a widget's value as changes by hand.

        Args:
            widget: The widget.
            hear: Puts the rest of the control in line with it.
        """

        def changed(change: Any) -> None:
            if not self._in_code:
                with self.quietly():
                    if hear is not None:
                        hear(change.new)
                self.tell()

        widget.observe(self.context.guard(changed), "value")

    def tell(self) -> None:
        """Say that the value was changed by hand."""
        if self._listener is not None:
            self._listener()

    @contextmanager
    def quietly(self) -> Iterator[None]:
        """Change the widgets in code: no listener is called."""
        before, self._in_code = self._in_code, True
        try:
            yield
        finally:
            self._in_code = before
