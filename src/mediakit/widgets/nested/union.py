"""The control of a value that has one of several shapes, such as a text or a list."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import ipywidgets as w

from mediakit.rules import Problem
from mediakit.schema import FieldSpec
from mediakit.widgets.controls.context import WidgetContext
from mediakit.widgets.controls.control import Build, Control
from mediakit.widgets.controls.messages import option_text
from mediakit.widgets.nested.nested_control import NestedControl
from mediakit.widgets.toolkit.widget_factory import close_tree


class Either(NestedControl):
    """What is to be given, and the control for that.

    What was filled in stays when another shape is chosen, and comes back with it.
    """

    def __init__(self, spec: FieldSpec, context: WidgetContext, build: Build) -> None:
        super().__init__(spec, context, build)
        self._options = {option_text(each): each for each in spec.variants.values()}
        self._kept: dict[str, object] = {}
        self._chooser = build(self._choice, context)
        self._chooser.listen(self._chosen)
        self.named = self._chooser.named
        self._body: Control | None = None
        self.widget = context.factory.make(w.VBox, "mk-list")
        self._change_body(spec.default)

    @property
    def _choice(self) -> FieldSpec:
        """The choice of a shape; one that must be made begins with the first."""
        spec = self.spec
        first = next(iter(self._options)) if spec.to_fill_in else None
        return FieldSpec(
            spec.name,
            "choice",
            choices=tuple(self._options),
            required=spec.required,
            nullable=spec.nullable,
            default=first if spec.default is None else self._shape_of(spec.default),
            doc=spec.doc,
        )

    def _shape_of(self, value: object) -> str:
        """Return the name of the option that a value is of.

        Raises:
            ValueError: It is of none.
        """
        option = self.spec.option(value)
        if option is self.spec:
            raise ValueError(f"{value!r} is not {option.accepted}")
        return option_text(option)

    @property
    def controls(self) -> Iterable[Control]:
        """Return what people choose with, and the control of what is chosen."""
        return (self._chooser,) if self._body is None else (self._chooser, self._body)

    def set_required(self, *, required: bool) -> None:
        """Mark it as required, or not."""
        self._chooser.set_required(required=required)

    def _chosen(self) -> None:
        self._change_body(None)
        self.renew()
        self.tell()

    def _change_body(self, value: object) -> None:
        """Show the control of what is chosen now, with what it held before."""
        name, gone = str(self._chooser.value), self._body
        if gone is not None:
            self._kept[option_text(gone.spec)] = gone.value
        option = self._options.get(name)
        if option is None:
            self._body = None
        else:
            # It is there because it was chosen: nothing switches it off.
            inside = replace(option, name=self.spec.name, required=True, nullable=False)
            self._body = self._build(inside, self.context)
            kept = self._kept.get(name) if value is None else value
            if kept is not None:
                self._body.value = kept
            self._body.listen(self.tell)
        self.widget.children = tuple(control.widget for control in self.controls)
        if gone is not None:
            close_tree(gone.widget)

    def read(self) -> object:
        """Return the value; None while nothing is chosen, or nothing is filled in."""
        return None if self._body is None else self._body.value

    def write(self, value: object) -> None:
        """Show a value; None means the default.

        Raises:
            ValueError: It has none of the shapes, or its control cannot show it.
        """
        given = self.spec.default if value is None else value
        chosen = self._choice.default if given is None else self._shape_of(given)
        if chosen == self._chooser.value and self._body is not None:
            self._body.value = given
            return
        self._chooser.value = chosen
        self._kept = {}
        self._change_body(given)

    def reveal(self, place: str, at: str = "") -> Control:
        """Unfold what stands at a place in the value."""
        return self if self._body is None else self._body.reveal(place, at)

    def share_problems(
        self, problems: tuple[Problem, ...], place: str
    ) -> tuple[Problem, ...]:
        """Show problems below the fields that they concern; return the others."""
        return (
            problems
            if self._body is None
            else self._body.place_problems(problems, place)
        )
