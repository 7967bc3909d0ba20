"""The part of a form that varies fields and runs every combination.

It depends on pandas, so a form imports it when it is opened first.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import ipywidgets as w

from mediakit.clock import Clock
from mediakit.errors import MediakitError
from mediakit.schema import FieldSpec
from mediakit.sweep import plan_of
from mediakit.widgets.controls.context import WidgetContext
from mediakit.widgets.controls.messages import label_of
from mediakit.widgets.form.code_view import CodeView
from mediakit.widgets.form.python_code import sweep_call
from mediakit.widgets.form.state import FormState
from mediakit.widgets.form.sweep.sweep_call import (
    NUMBERS,
    Entry,
    SweepCall,
    SweepChoice,
    axes_of,
    call_of,
    first_entry,
    way_of,
)
from mediakit.widgets.sweeps import AsyncPlan
from mediakit.widgets.sweeps.plan_view import PlanView
from mediakit.widgets.toolkit.background_tasks import TaskRunner
from mediakit.widgets.toolkit.cell_outputs import CardHandle
from mediakit.widgets.toolkit.styles import line_html
from mediakit.widgets.toolkit.widget_factory import close_tree

if TYPE_CHECKING:
    from mediakit.blocking_client import Client

PAUSE_S = 0.4
MOST_TAKES = 1_000
CODE_TITLE = "Copy sweep as Python"
NOTHING_VARIES = "Select what varies, or set more than one take."
INCOMPLETE = "Complete the values above to see the plan."
HINTS = {
    "numbers": f"such as {NUMBERS}",
    "lines": "one per line; a word in braces, such as {animal}, has its own values",
    "media": "one file or URL per line",
    "lists": "one list per line, its files or URLs separated by a comma and a space",
    "json": "one JSON value per line",
    "slot": "one per line",
}


class AxisBox:
    """The control of an axis, and a line below it.

    Args:
        name: The field or slot.
        spec: The field; None for a slot.
        context: What widgets are made with.
        entry: What stands in it at first.
        hear: Takes what stands in it, after each change by hand.
    """

    def __init__(
        self,
        name: str,
        spec: FieldSpec | None,
        context: WidgetContext,
        entry: Entry,
        hear: Callable[[Entry], object],
    ) -> None:
        self._context, self._hear = context, hear
        self._label = f"Values of {'{' + name + '}' if spec is None else _name(spec)}"
        way = "slot" if spec is None else way_of(spec)
        self._ticks: dict[object, Any] = {}
        if spec is not None and way == "choices":
            self._control = self._make_ticks(spec, entry)
        elif way == "both":
            both = line_html("no and yes")
            self._control = context.factory.make(
                w.HTML, "mk-head-line", description=self._label, value=both
            )
        else:
            hint = "media" if spec is not None and spec.media_kind else way
            box = w.Text if way == "numbers" else w.Textarea
            self._control = self._make_box(box, HINTS[hint], str(entry))
        self._note = context.factory.make(w.HTML, "mk-note")
        self.lines = (self._control, self._note)

    def _make_box(self, box_type: Any, hint: str, entry: str) -> Any:
        box = self._context.factory.make(
            box_type,
            "mk-axis",
            description=self._label,
            placeholder=hint,
            value=entry,
            continuous_update=True,
        )
        box.observe(self._context.guard(lambda change: self._hear(change.new)), "value")
        return box

    def _make_ticks(self, spec: FieldSpec, entry: Entry) -> Any:
        unit = f" {spec.unit}" if spec.unit else ""
        for choice in spec.choices:
            text = choice if isinstance(choice, str) else f"{choice}{unit}"
            tick = make_tick(self._context, text, is_ticked=choice in entry)
            tick.observe(self._context.guard(self._ticked), "value")
            self._ticks[choice] = tick
        return make_group(self._context, self._label, tuple(self._ticks.values()))

    def _ticked(self, _: object) -> None:
        self._hear(tuple(c for c, tick in self._ticks.items() if tick.value))

    def show_problem(self, text: str) -> None:
        """Show what is wrong with it; no text is nothing."""
        self._note.value = line_html(text, "bad")

    def close(self) -> None:
        """Free its widgets."""
        for line in self.lines:
            close_tree(line)


def make_tick(context: WidgetContext, text: str, *, is_ticked: bool) -> Any:
    """Make a tick box with its text behind it."""
    return context.factory.make(
        w.Checkbox, "mk-tick", description=text, indent=False, value=is_ticked
    )


def make_group(context: WidgetContext, label: str, ticks: tuple[Any, ...]) -> Any:
    """Make a row of tick boxes with a name."""
    make = context.factory.make
    name = make(w.Label, "mk-group-name", value=label)
    row = make(w.Box, "mk-ticks", children=ticks)
    return make(w.HBox, "mk-row mk-choices", children=(name, row))


def _name(spec: FieldSpec) -> str:
    # Each choice has the unit.
    has_unit = spec.unit and spec.kind != "choice"
    return f"{label_of(spec)} ({spec.unit})" if has_unit else label_of(spec)


class SweepPanel:
    """What varies in a form, the plan that follows, and the buttons that run it.

    Nothing is sent before Run is pressed. The plan follows the form and what is typed.

    Args:
        client: The client.
        context: What widgets are made with.
        state: What the form shows.
        choice: What varies at first.
        tasks: Leaves work to the I/O thread.
        clock: Gives time.
        handle: Keeps what the notebook shows of a run without a kernel.
        place: Shows the wall of a run.
    """

    def __init__(
        self,
        client: Client,
        context: WidgetContext,
        state: FormState,
        choice: SweepChoice,
        *,
        tasks: TaskRunner,
        clock: Clock,
        handle: CardHandle,
        place: Callable[[Any], object],
    ) -> None:
        self.choice = choice
        self._client, self._context, self._state = client, context, state
        self._tasks, self._clock = tasks, clock
        self._edits = 0
        self._call: SweepCall | None = None
        self._names: tuple[str, ...] = ()
        self._boxes: dict[str, AxisBox] = {}
        make = context.factory.make
        self._ticks = make(w.VBox, "mk-fields")
        self._axes = make(w.VBox, "mk-fields")
        self._takes = make(
            w.BoundedIntText,
            "mk-box",
            description="Takes",
            tooltip="How many draws of each combination",
            min=1,
            max=MOST_TAKES,
            value=choice.takes,
            continuous_update=True,
        )
        self._takes.observe(context.guard(self._take_takes), "value")
        self._plan = PlanView(factory=context.factory, handle=handle, place=place)
        self._code = CodeView(context, self.as_python, title=CODE_TITLE)
        parts = (self._ticks, self._axes, self._takes, self._plan.widget)
        self.widget = make(
            w.VBox, "mk-pay mk-sweep", children=(*parts, self._code.widget)
        )
        self.show(state)

    def as_python(self) -> str:
        """Return the call that makes the same plan, as code."""
        arguments = {} if self._call is None else self._call.arguments
        function = self._state.function
        return sweep_call(self._client.catalog, function, arguments)

    def show(self, state: FormState) -> None:
        """Follow the form."""
        self._state = state
        specs = axes_of(state)
        if tuple(specs) != self._names:
            self._names = tuple(specs)
            self._show_ticks(specs)
        call = call_of(state, self.choice)
        self._show_axes(specs, call)
        if call != self._call:
            self._call = call
            self._code.show()
            self._plan_soon()

    def close(self) -> None:
        """Free the widgets; a run continues."""
        self._edits += 1
        self._plan.close()
        self._code.close()
        close_tree(self.widget)

    # -- what people do -----------------------------------------------------------

    def _turn(self, name: str, change: Any) -> None:
        if change.new:
            value = self._state.values.get(name, self._state.further.get(name))
            spec = axes_of(self._state)[name]
            self._choose(self.choice.with_varied(spec, value))
        else:
            self._choose(self.choice.without(name))

    def _take_takes(self, change: Any) -> None:
        self._choose(self.choice.with_takes(change.new))

    def _choose(self, choice: SweepChoice) -> None:
        self.choice = choice
        self.show(self._state)

    # -- what is shown ------------------------------------------------------------

    def _show_ticks(self, specs: dict[str, FieldSpec]) -> None:
        ticks = []
        for name, spec in specs.items():
            is_ticked = name in self.choice.varied
            tick = make_tick(self._context, label_of(spec), is_ticked=is_ticked)
            tick.observe(self._context.guard(partial(self._turn, name)), "value")
            ticks.append(tick)
        before = self._ticks.children
        self._ticks.children = (make_group(self._context, "What varies", tuple(ticks)),)
        for each in before:
            close_tree(each)

    def _show_axes(self, specs: dict[str, FieldSpec], call: SweepCall) -> None:
        """Show a box for each axis; one that stays is not drawn again."""
        names = [*(n for n in self.choice.varied if n in specs), *call.slots]
        gone = [self._boxes.pop(n) for n in [*self._boxes] if n not in names]
        for name in names:
            if name not in self._boxes:
                self._boxes[name] = self._make_box(name, specs.get(name))
            self._boxes[name].show_problem(call.problems.get(name, ""))
        lines = tuple(line for name in names for line in self._boxes[name].lines)
        if lines != self._axes.children:
            self._axes.children = lines
        for box in gone:
            box.close()

    def _make_box(self, name: str, spec: FieldSpec | None) -> AxisBox:
        first = "" if spec is None else first_entry(spec, None)
        entry = self.choice.entries.get(name, first)

        def hear(entry: Entry) -> None:
            self._choose(self.choice.with_entry(name, entry))

        return AxisBox(name, spec, self._context, entry, hear)

    # -- the plan -----------------------------------------------------------------

    def _plan_soon(self) -> None:
        self._edits += 1
        if self._call is None:
            return
        others = [t for n, t in self._call.problems.items() if n not in self._boxes]
        if self._call.problems:
            self._plan.change(None, " ".join(others) or INCOMPLETE)
        elif not self.choice.varied and self.choice.takes == 1:
            self._plan.change(None, NOTHING_VARIES)
        else:
            self._plan.hold()
            make = partial(self._plan_after_typing, self._call, self._edits)
            self._tasks.run(make)

    async def _plan_after_typing(self, call: SweepCall, edits: int) -> None:
        await self._clock.sleep(PAUSE_S)
        if edits != self._edits:
            return
        plan, said = None, ""
        try:
            plan = await plan_of(
                self._client.core,
                self._state.function.path,
                call.axes,
                takes=call.takes,
                make=AsyncPlan,
            )
        except MediakitError as error:
            said = str(error)
        self._context.guard(self._show_plan)(plan, said, edits)

    def _show_plan(self, plan: AsyncPlan | None, said: str, edits: int) -> None:
        if edits == self._edits:
            self._plan.change(plan, said)
