"""The base class of controls that contain other controls."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, Protocol, TypeVar

import ipywidgets as w

from mediakit.rules import Problem
from mediakit.schema import FieldSpec
from mediakit.widgets.controls.context import WidgetContext
from mediakit.widgets.controls.control import Build, Control
from mediakit.widgets.controls.media_inspection import Inspection, MediaKey
from mediakit.widgets.controls.messages import is_within, problems_text
from mediakit.widgets.toolkit.styles import line_html


class Member:
    """A control inside another one, and the line below it.

    That something is missing is said there only after the control was used: a group
    that was just added is not wrong, it is empty.

    Args:
        step: Its place in the other one, such as ".url".
        control: The control.
        hear: Called after each change by hand.
    """

    def __init__(self, step: str, control: Control, hear: Callable[[], object]) -> None:
        self.step = step
        self.control = control
        self._hear = hear
        self._touched = False
        self._make = control.context.factory.make
        self._note: Any = None
        self.widget = self._make(w.VBox, "mk-cell", children=(control.widget,))
        control.listen(self._used)

    def _used(self) -> None:
        self._touched = True
        self._hear()

    def show(self, problems: tuple[Problem, ...], place: str) -> None:
        """Show what is wrong with its value, or what the control has to say.

        Args:
            problems: Those of its value.
            place: Where it stands.
        """
        left = self.control.place_problems(problems, place)
        if not self._touched:
            left = tuple(problem for problem in left if not problem.is_missing)
        note = self.control.note
        text = problems_text(left, place)
        self._say(line_html(text, "bad") if text else line_html(note.text, note.tone))

    def _say(self, html: str) -> None:
        if self._note is not None:
            self._note.value = html
        elif html:
            # Behind the control, which so keeps its place on the page, and its focus.
            self._note = self._make(w.HTML, "mk-note", value=html)
            self.widget.children = (*self.widget.children, self._note)


class NestedControl(Control):
    """A control that is made of others, and hands on to them what a form shows.

    Args:
        spec: The field.
        context: What controls are made with.
        build: Makes the controls inside.
    """

    def __init__(self, spec: FieldSpec, context: WidgetContext, build: Build) -> None:
        super().__init__(spec, context)
        self._build = build
        self._enabled = True
        self._problems: tuple[Problem, ...] = ()
        self._place = spec.name

    @property
    @abstractmethod
    def controls(self) -> Iterable[Control]:
        """Return the controls inside that are there now."""

    @abstractmethod
    def share_problems(
        self, problems: tuple[Problem, ...], place: str
    ) -> tuple[Problem, ...]:
        """Hand problems on to where they are; return the others."""

    @property
    def parts(self) -> tuple[Any, ...]:
        """Return what people change in the controls inside."""
        return tuple(part for control in self.controls for part in control.parts)

    def set_enabled(self, *, enabled: bool) -> None:
        """Let people change it, or not; its value stays."""
        self._enabled = enabled
        for control in self.controls:
            control.set_enabled(enabled=enabled)

    def show_found(self, found: Mapping[MediaKey, Inspection]) -> None:
        """Show what was found out about the media inside."""
        super().show_found(found)
        for control in self.controls:
            control.show_found(found)

    def place_problems(
        self, problems: tuple[Problem, ...], place: str = ""
    ) -> tuple[Problem, ...]:
        """Show problems beside the controls that they concern; return the others."""
        self._problems, self._place = problems, place or self.spec.name
        return self.share_problems(problems, self._place)

    def renew(self) -> None:
        """Show once more what is known, after controls inside were made again."""
        self.show_found(self._found)
        self.set_enabled(enabled=self._enabled)
        self.share_problems(self._problems, self._place)


class Placed(Protocol):
    """What problems can be shown at."""

    @property
    def step(self) -> str:
        """Its place in the control that it belongs to."""

    def show(self, problems: tuple[Problem, ...], place: str) -> None:
        """Show what is wrong with its value."""


M = TypeVar("M", bound=Placed)


def at_place(members: Iterable[M], place: str, at: str) -> M | None:
    """Return the member at a place, or around it; None when there is none.

    Args:
        members: The members of one control.
        place: The place, such as "tracks[0].keyframes[2]".
        at: Where the control's value stands.
    """
    target = Problem(place, None, "")
    around = (each for each in members if is_within(target, at + each.step))
    return next(around, None)


def share(
    members: Iterable[Placed], problems: tuple[Problem, ...], place: str
) -> tuple[Problem, ...]:
    """Show problems at the members that they concern.

    Args:
        members: The members of one control.
        problems: The problems of its value.
        place: Where its value stands.

    Returns:
        The problems that concern none of them.
    """
    left = problems
    for member in members:
        label = place + member.step
        inside = partial(is_within, place=label)
        member.show(tuple(filter(inside, left)), label)
        left = tuple(problem for problem in left if not inside(problem))
    return left
