"""The widgets of a form; they show a `FormState`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import ipywidgets as w

from mediakit.catalog import Function
from mediakit.schema import FieldSpec
from mediakit.widgets.controls.context import WidgetContext
from mediakit.widgets.controls.control import Control
from mediakit.widgets.controls.json_box import FurtherBox
from mediakit.widgets.controls.json_values import FURTHER
from mediakit.widgets.controls.media_inspection import Inspection, MediaKey
from mediakit.widgets.controls.messages import (
    problems_text,
    rule_text,
    sentence_case,
)
from mediakit.widgets.form.code_view import HINT, OWNED_HINT, CodeView
from mediakit.widgets.form.control_factory import build_field
from mediakit.widgets.form.html import head_html
from mediakit.widgets.form.price.price_bar import PriceBar
from mediakit.widgets.form.sections import Fold, Section, is_main
from mediakit.widgets.form.state import FormState
from mediakit.widgets.job.jobs import JobsWidget
from mediakit.widgets.job.view import JobView
from mediakit.widgets.nested.objects import fill
from mediakit.widgets.toolkit.accessible_names import Namer
from mediakit.widgets.toolkit.cell_outputs import CardHandle
from mediakit.widgets.toolkit.focus import Focuser
from mediakit.widgets.toolkit.styles import error_html, line_html
from mediakit.widgets.toolkit.widget_factory import close_tree


class FormView:
    """The widgets of a form.

    Args:
        function: The function that the form is for.
        context: What widgets are made with.
        meta: Facts for the head of the form, each a few words.
        generate: What the Generate button does.
        show_owned: Shows the job that the request has already.
        refresh: Reads the balance again.
        code: Writes the call that makes the same request.
        sweep: Hears that the part that varies fields is opened or closed.
    """

    def __init__(
        self,
        function: Function,
        context: WidgetContext,
        *,
        meta: tuple[str, ...],
        generate: Callable[[], object],
        show_owned: Callable[[], object],
        refresh: Callable[[], object],
        code: Callable[[], str],
        sweep: Callable[[Any], object],
    ) -> None:
        texts = (spec.doc for spec in function.fields.values() if spec.multiline)
        cite = self._cite if "prompt" in function.fields else None
        self._context = context = replace(context, prompts=" ".join(texts), cite=cite)
        fields, rules = function.fields.items(), function.rules
        self.controls = {n: build_field(s, context, rules) for n, s in fields}
        main = {n: c for n, c in self.controls.items() if is_main(function, c.spec)}
        more = {n: c for n, c in self.controls.items() if n not in main}
        if function.is_open:
            box = FurtherBox(function.fields, context)
            self.controls[FURTHER.name] = main[FURTHER.name] = box
        parts = (part for part in (main, more) if part)
        self._names = [[*part] for part in (main, more) if part]
        self._sections = [
            Section(context, part, folded=bool(at)) for at, part in enumerate(parts)
        ]
        self._price = PriceBar(context, refresh, self._place_lines)
        self._code = CodeView(context, code)
        self._generate = self._make_generate(generate)
        self._owned_text = context.factory.make(w.HTML, "mk-live")
        self._show_owned = self._make_show_owned(show_owned)
        self._owned = context.factory.make(w.HBox, "mk-pay-row mk-owned")
        self._sweep = self._make_sweep(sweep)
        self._panel: Any = None
        self._wall: tuple[Any, ...] = ()
        self._reason = context.factory.make(w.HTML, "mk-reason mk-live")
        self._error = context.factory.make(w.HTML, "mk-error-box")
        self.results = JobsWidget(_dom_classes=("mk-results",))
        self._parts = self._column(function)
        # The place of the results is there from the start: nothing moves later.
        body = (self._parts, self.results)
        self._body = context.factory.make(w.HBox, "mk-body", children=body)
        self._head = context.factory.make(
            w.HTML, "mk-head", value=head_html(function, meta)
        )
        self._focuser: Any = None
        self.widget = context.factory.make(
            w.VBox,
            "mk-form",
            children=(self._head, self._body, context.factory.make(Namer, "mk-names")),
        )

    def focus(self) -> None:
        """Put the focus into the first control, once the form is on the page."""
        if self._focuser is None:
            self._focuser = self._context.factory.make(Focuser, "mk-names")
            self.widget.children = (*self.widget.children, self._focuser)
        self._focuser.wanted = True

    def _cite(self, citation: str) -> None:
        """Write a citation behind the prompt, as if it were typed there."""
        box = self.controls["prompt"].parts[0]
        text = str(box.value).rstrip()
        box.value = f"{text} {citation}" if text else citation

    def _make_generate(self, generate: Callable[[], object]) -> Any:
        button = self._context.factory.make(
            w.Button,
            "mk-go mk-paid",
            description="Generate",
            button_style="primary",
            tooltip="Send the request; you pay when it completes",
            disabled=True,
        )
        button.on_click(self._context.guard(lambda _: generate()))
        return button

    def _make_show_owned(self, show_owned: Callable[[], object]) -> Any:
        button = self._context.factory.make(
            w.Button,
            "mk-small",
            description="Show it",
            tooltip="Show your existing result; nothing is sent or charged",
        )
        button.on_click(self._context.guard(lambda _: show_owned()))
        return button

    def _make_sweep(self, sweep: Callable[[Any], object]) -> Any:
        button = self._context.factory.make(
            w.ToggleButton,
            "mk-small mk-opens",
            description="Sweep…",
            tooltip="Turn fields into lists, and see what all combinations cost",
        )
        button.observe(self._context.guard(sweep), "value")
        return button

    def _column(self, function: Function) -> Any:
        make = self._context.factory.make
        main, *more = self._sections
        folds = [Fold(self._context, "More settings", part).widget for part in more]
        top = (self._price.amount, self._generate)
        pay = (
            make(w.HBox, "mk-pay-row mk-pay-top", children=top),
            self._owned,
            self._reason,
            self._price.balance,
            make(w.HBox, "mk-pay-row", children=(*self._price.buttons, self._sweep)),
            self._error,
        )
        self._pay = make(w.VBox, "mk-pay", children=pay)
        return make(
            w.VBox,
            "mk-controls",
            children=(
                main.widget,
                *folds,
                self._pay,
                self._code.widget,
            ),
        )

    def _place_lines(self, lines: Any) -> None:
        """Show the price breakdown, above what went wrong."""
        *above, error = self._pay.children
        self._pay.children = (*above, lines, error)

    @property
    def values(self) -> dict[str, object]:
        """Return what the controls show, by field."""
        return {name: control.value for name, control in self.controls.items()}

    def adapted(self, state: FormState, *, chosen: bool = True) -> FormState:
        """Show the fields of the kind of body that is chosen, and no others.

        Args:
            state: What the form shows.
            chosen: Let controls take what that kind of body takes alone; else they
                take the values of any kind.

        Returns:
            The state with what their controls hold: a value that this kind of body
            does not take is its default.
        """
        tag = state.function.tag
        if tag is None:
            return state
        function = state.function.of(state.values) if chosen else state.function
        fields = dict(function.fields)
        del fields[tag]
        gone = [self._renew(spec, state) for spec in fields.values()]
        for section, names in zip(self._sections, self._names, strict=True):
            here = [name for name in names if name not in state.disabled]
            section.change({name: self.controls[name] for name in here})
        for control in gone:
            if control is not None:
                close_tree(control.widget)
        return replace(state, values=self.values)

    def _renew(self, spec: FieldSpec, state: FormState) -> Control | None:
        """Give a field its own control, and return the one that it had."""
        before = self.controls[spec.name]
        if before.spec == spec:
            return None
        self.controls[spec.name] = made = build_field(spec, self._context, ())
        fill([made], state.values)
        made.take_listener(before)
        return before

    def show(self, state: FormState) -> None:
        """Bring every widget in line with a state; only differences are sent."""
        notes = {}
        for name, control in self.controls.items():
            with control.quietly():
                control.set_enabled(enabled=name not in state.disabled)
                control.set_required(required=name in state.required)
            notes[name] = self._note(name, control, state)
        for section in self._sections:
            section.show_notes(notes)
        self._price.show(state)
        self._code.show(OWNED_HINT if state.is_another_take else HINT)
        owned = (self._owned_text, self._show_owned) if state.owned_text else ()
        self._owned_text.value = line_html(state.owned_text, "plain")
        self._owned.children = owned
        reason = state.submit_reason
        self._generate.disabled = reason is not None
        self._generate.description = state.generate_text
        self._reason.value = line_html(state.submit_hint)

    def _note(self, name: str, control: Control, state: FormState) -> str:
        if name in state.disabled:
            return line_html(sentence_case(rule_text(state.disabled[name])))
        problems = control.place_problems(state.problems_of(name))
        if problems:
            return line_html(problems_text(problems, name), "bad")
        warnings = state.warnings_of(name)
        if warnings:
            return line_html(problems_text(warnings, name), "warn")
        return line_html(control.note.text, control.note.tone)

    def show_found(self, found: Mapping[MediaKey, Inspection]) -> None:
        """Show what was found out about media, as pictures and facts."""
        for control in self.controls.values():
            control.show_found(found)

    def show_error(self, text: str) -> None:
        """Show what went wrong, as plain text; no text clears it."""
        self._error.value = error_html(text)

    def show_results(self, jobs: tuple[JobView, ...]) -> None:
        """Show jobs beside the controls, newest first."""
        self.results.show_jobs(jobs)

    @property
    def shows_sweep(self) -> bool:
        """Tell whether the part that varies fields is open."""
        return self._panel is not None

    def show_sweep(self, panel: Any | None) -> None:
        """Show the part that varies fields below the price, or hide it."""
        at = self._parts.children.index(self._pay) + 1
        parts = [p for p in self._parts.children if p is not self._panel]
        self._panel = panel
        shown = () if panel is None else (panel,)
        self._parts.children = (*parts[:at], *shown, *parts[at:])

    def show_wall(self, wall: Any) -> None:
        """Show the wall of a sweep over the whole width, in place of the one before."""
        head, body = self.widget.children[:2]
        rest = [c for c in self.widget.children[2:] if c not in self._wall]
        wall.add_class("mk-below")
        self._wall = (wall,)
        self.widget.children = (head, body, wall, *rest)

    def promise_return(self) -> None:
        """Let the form say, once its kernel is gone, that nothing of it is lost."""
        self.widget.add_class("mk-returns")

    def hide(self, handle: CardHandle) -> None:
        """Hide a handle's cards for as long as this form is on the page."""
        self._head.value += handle.live_style

    def close(self) -> None:
        """Close every widget but the results, which may live on elsewhere."""
        for widget in (self._owned_text, self._show_owned):
            widget.close()
        for section in self._sections:
            close_tree(section.widget)
        close_tree(self.widget)
        self._code.close()
        self._context.factory.close()
