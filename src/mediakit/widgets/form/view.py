"""The widgets of a form; they show a `FormState`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import ipywidgets as w
from markupsafe import Markup

from mediakit.catalog import Function
from mediakit.markup import NO_HTML, html_text
from mediakit.rules import NeedsAny, OnlyWhen
from mediakit.schema import FieldSpec
from mediakit.widgets.controls.context import WidgetContext
from mediakit.widgets.controls.control import Control
from mediakit.widgets.controls.json_box import FurtherBox
from mediakit.widgets.controls.json_values import FURTHER
from mediakit.widgets.controls.media_inspection import Inspection, MediaKey
from mediakit.widgets.controls.messages import (
    label_of,
    problems_text,
    rule_text,
    sentence_case,
    title_of,
)
from mediakit.widgets.form.code_view import CodeView
from mediakit.widgets.form.control_factory import build_field
from mediakit.widgets.form.price.price_bar import PriceBar
from mediakit.widgets.form.state import FormState
from mediakit.widgets.nested.objects import fill
from mediakit.widgets.timeline.static_html import still_html
from mediakit.widgets.timeline.time_axis import Axis
from mediakit.widgets.toolkit.accessible_names import namers
from mediakit.widgets.toolkit.cell_outputs import CardHandle
from mediakit.widgets.toolkit.focus import focuser
from mediakit.widgets.toolkit.styles import error_html, line_html, style_block
from mediakit.widgets.toolkit.widget_factory import close_tree
from mediakit.widgets.uploads.upload_folder import with_own_names

MOST_RESULTS = 12
"""How many results a form shows before people ask for the earlier ones."""


def is_main(function: Function, spec: FieldSpec) -> bool:
    """Tell whether a field stands in the open, or under "More settings".

    In the open is what must be given, it or another field, what the price is made
    from, media, the prompt, and what has a default that is more than on or off; but
    nothing that a rule may switch off.
    """
    declared, one_of = function.request_type.declared, function.request_type.one_of
    if one_of is not None:
        return True
    switched = {
        name
        for rule in function.rules
        if isinstance(rule, OnlyWhen)
        for name in rule.fields
    }
    if spec.name in switched:
        return False
    return (
        spec.required
        or any(
            isinstance(rule, NeedsAny) and spec.name in rule.fields
            for rule in function.rules
        )
        or spec.name in (declared.priced_by or ())
        or bool(spec.media_kind or (spec.item and spec.item.media_kind))
        or spec.name == _prompt(function)
        or (spec.default is not None and spec.kind != "boolean")
    )


def _prompt(function: Function) -> str | None:
    """Return the first text that people write at length."""
    return next((s.name for s in function.fields.values() if s.multiline), None)


class Section:
    """Some controls, each with a line below it.

    The lines are there before anybody can type: a box that gets another child draws
    all that stand behind it again, and interrupts typing there.

    Args:
        context: What widgets are made with.
        controls: The controls by field.
        folded: Whether they are not on the page yet; the lines are made when they are.
    """

    def __init__(
        self, context: WidgetContext, controls: Mapping[str, Control], *, folded: bool
    ) -> None:
        self._context = context
        self._controls = controls
        self._texts: Mapping[str, str] = {}
        self._notes = {} if folded else self._make_notes()
        self.widget = context.factory.make(w.VBox, "mk-fields", children=self._lines)

    def _make_notes(self) -> dict[str, Any]:
        make = self._context.factory.make
        return {
            name: make(w.HTML, "mk-note", value=self._texts.get(name, ""))
            for name in self._controls
        }

    @property
    def _lines(self) -> tuple[Any, ...]:
        pairs = ((c.widget, self._notes.get(n)) for n, c in self._controls.items())
        return tuple(each for pair in pairs for each in pair if each is not None)

    def change(self, controls: Mapping[str, Control]) -> None:
        """Show other controls from now on."""
        if list(controls.items()) != list(self._controls.items()):
            self._controls = controls
            self._notes = self._make_notes() if self._notes else {}
            self.widget.children = self._lines

    def unfold(self) -> None:
        """Get ready to be on the page."""
        if not self._notes:
            self._notes = self._make_notes()
            self.widget.children = self._lines

    def show_notes(self, texts: Mapping[str, str]) -> None:
        """Show a line of HTML below each control; nothing takes no room."""
        self._texts = texts
        for name, note in self._notes.items():
            note.value = texts.get(name, "")


class Fold:
    """A section of the form behind a button that unfolds it."""

    def __init__(self, context: WidgetContext, title: str, section: Section) -> None:
        self._section = section
        # A button, not an Accordion: its head cannot be reached by the keyboard.
        self._button = context.factory.make(
            w.ToggleButton, "mk-fold", description=title
        )
        self._button.observe(context.guard(self._turn), "value")
        self.widget = context.factory.make(
            w.VBox, "mk-fields", children=(self._button,)
        )

    def _turn(self, change: Any) -> None:
        if change.new:
            self._section.unfold()
        shown = (self._section.widget,) if change.new else ()
        self.widget.children = (self._button, *shown)


class FormView:
    """The widgets of a form.

    Args:
        function: The function that the form is for.
        context: What widgets are made with.
        meta: Facts for the head of the form, each a few words.
        generate: What the Generate button does.
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
        self._sweep = self._make_sweep(sweep)
        self._panel: Any = None
        self._wall: tuple[Any, ...] = ()
        self._results: tuple[Any, ...] = ()
        self._earlier: Any = None
        self._shows_all = False
        self._reason = context.factory.make(w.HTML, "mk-reason mk-live")
        self._error = context.factory.make(w.HTML, "mk-error-box")
        self.results = context.factory.make(w.VBox, "mk-results")
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
            children=(self._head, self._body, *namers(context.factory)),
        )

    def focus(self) -> None:
        """Put the focus into the first control, once the form is on the page."""
        if self._focuser is None:
            self._focuser = focuser(self._context.factory)
            if self._focuser is None:
                return
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
            "mk-go",
            description="Generate",
            button_style="primary",
            tooltip="Send the request; it is paid for when it completes",
            disabled=True,
        )
        button.on_click(self._context.guard(lambda _: generate()))
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
                make(w.HTML, value=fields_html(function)),
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
        one_of = state.function.request_type.one_of
        if one_of is None:
            return state
        function = state.function.of(state.values) if chosen else state.function
        fields = dict(function.fields)
        del fields[one_of.tag]
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
        self._code.show()
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

    def show_results(self, widgets: tuple[Any, ...]) -> None:
        """Show jobs beside the controls, in the order given, the first ones at once."""
        self._results = widgets
        shown = widgets if self._shows_all else widgets[:MOST_RESULTS]
        self.results.children = (*shown, *self._more(len(widgets) - len(shown)))

    def _more(self, count: int) -> tuple[Any, ...]:
        """Return the button that shows the earlier results; none for none."""
        if not count:
            return ()
        if self._earlier is None:
            self._earlier = self._context.factory.make(w.Button, "mk-small mk-add")
            self._earlier.on_click(self._context.guard(lambda _: self._show_all()))
        s = "" if count == 1 else "s"
        self._earlier.description = f"Show {count:,} earlier result{s}"
        return (self._earlier,)

    def _show_all(self) -> None:
        self._shows_all = True
        self.show_results(self._results)

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
        self.results.children = ()
        if self._earlier is not None:
            self._earlier.close()
        for section in self._sections:
            close_tree(section.widget)
        close_tree(self.widget)
        self._code.close()
        self.results.close()
        self._context.factory.close()


def head_html(function: Function, meta: tuple[str, ...]) -> Markup:
    """Write the head of a form, with the style sheet of everything below."""
    facts = NO_HTML.join(map(Markup("<span>{}</span>").format, meta))
    return style_block() + Markup(
        "<div class=mk-top><h3>{}</h3><div class=mk-meta>{}</div></div>"
        "<div class=mk-quiet>{}</div>"
    ).format(title_of(function), facts, function.doc)


def fields_html(function: Function) -> Markup:
    """Write what each field means, folded away, with the name to type in code."""
    row = Markup(
        "<tr><td>{}</td><td><code>{}</code></td>"
        "<td>{} <span class=mk-quiet>{}</span></td></tr>"
    )
    rows = (
        row.format(label_of(spec), name, spec.doc, _accepted(spec))
        for name, spec in _places(function.fields, "")
    )
    return Markup(
        "<details class=mk-fields-help><summary>What the fields mean</summary>"
        "<table class=mk-lines>{}</table></details>"
    ).format(NO_HTML.join(rows))


def _places(
    fields: Mapping[str, FieldSpec], within: str
) -> Iterator[tuple[str, FieldSpec]]:
    """Name every field with its place, such as "tracks[].keyframes[].url"."""
    for name, spec in fields.items():
        place, inner = f"{within}{name}", spec
        yield place, spec
        while inner.item is not None:
            place, inner = f"{place}[]", inner.item
        # A field that several variants have is explained once.
        fields = dict(inner.fields)
        for variant in inner.variants.values():
            fields = {**variant.fields, **fields}
        if inner.tag in fields:
            fields[inner.tag] = replace(fields[inner.tag], choices=(*inner.variants,))
        yield from _places(fields, f"{place}.")


def _accepted(spec: FieldSpec) -> str:
    limits = f"; {spec.limits.words}" if spec.limits else ""
    return f"{spec.accepted}{limits}"


def values_html(state: FormState) -> Markup:
    """Write a form as it stands, for a copy of the notebook without a kernel."""
    row = Markup("<tr><td>{}</td><td>{}</td></tr>").format
    rows = NO_HTML.join(
        row(html_text(name), _value_html(state, name, value))
        for name, value in state.body().items()
    )
    price = state.estimate.text if state.estimate else state.estimate_gap or ""
    return Markup("<div><b>{}</b><table>{}{}</table></div>").format(
        html_text(title_of(state.function)), rows, row("price", html_text(price))
    )


def _value_html(state: FormState, name: str, value: object) -> Markup:
    spec = state.function.fields.get(name)
    axis = None if spec is None else Axis.of(spec, state.function.rules)
    picture = "" if axis is None else still_html(axis, value)
    value = with_own_names(value)
    text = (
        json.dumps(value, ensure_ascii=False)
        if isinstance(value, dict | list)
        else str(value)
    )
    return picture + html_text(text)
