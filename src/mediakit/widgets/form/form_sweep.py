"""The sweep panel of a form: the axes, the plan, its run, and its wall."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import compress
from typing import TYPE_CHECKING, Any

from mediakit.client.io_thread import ClosedError, io_thread
from mediakit.errors import MediakitError
from mediakit.schema import FieldSpec
from mediakit.widgets.controls.messages import label_of, several_of
from mediakit.widgets.form.fields_payload import option_label
from mediakit.widgets.form.live_form import LiveForm
from mediakit.widgets.form.python_code import sweep_call
from mediakit.widgets.form.sweep_call import (
    NUMBERS,
    SweepCall,
    SweepChoice,
    axes_of,
    call_of,
    first_entry,
    way_of,
)
from mediakit.widgets.job.payload import Payload
from mediakit.widgets.toolkit.callbacks import sentence_of
from mediakit.widgets.toolkit.throttle import Paced

if TYPE_CHECKING:
    from mediakit.sweep import AsyncPlan, AsyncResults
    from mediakit.widgets.gallery import Gallery
    from mediakit.widgets.sweeps.plan_view import SweepBudget
    from mediakit.widgets.toolkit.cell_outputs import CardHandle

# Sweeps import pandas, so they are imported on first use.

PAST = (
    "The results of this form's last sweep are in the history; in code: "
    'client.sweep_results("{}").'
)
MOST_TAKES = 1_000
UPDATES_EVERY_S = 2.0
PLAN_CHANGED = "The plan has changed. Press Run after the price updates."
NOTHING_VARIES = "Choose what to vary, or set Takes to 2 or more."
TAKES = f"Takes: enter a whole number from 1 to {MOST_TAKES:,}."
RUNNING = "Running…"
INCOMPLETE = "Complete the values above to see the plan."
ONE_PER_LINE = {
    "lines": ", one per line",
    "media": ", one file or URL per line",
    "lists": ", one list per line",
    "json": ", one JSON value per line",
    "slot": ", one per line",
}
HINTS = {
    "numbers": f"Such as {NUMBERS}",
    "lines": "Put a word in braces, such as {animal}, to vary it separately.",
    "lists": "Separate the files or URLs of a list by a comma and a space.",
}


class FormSweep:
    """Turns fields of a form into axes; nothing is planned until it is opened."""

    def __init__(self, live: LiveForm) -> None:
        self.last = ""
        """The id of the sweep that ran last; empty for none."""
        self.choice = SweepChoice()
        self._live = live
        self._client = live.client
        self._call: SweepCall | None = None  # None before it was opened
        self._is_open = False
        self._edits = 0
        self._plan: AsyncPlan | None = None
        self._html = ""
        self._sentence = ""
        self._error = ""
        self._budget = ""
        self._used_micro_usd = 0
        self._takes = ""
        self._handle: CardHandle | None = None
        self._gallery: Gallery | None = None
        self._runs = False
        self._is_draft = False  # the plan is of drafts
        self._ends: list[Callable[[], object]] = []

    def close(self) -> None:
        """Stop planning; a run continues."""
        self._edits += 1
        for end in self._ends:
            end()
        if self._gallery is not None:
            self._gallery.close()
        if self._handle is not None:
            self._handle.close()

    # -- user actions --------------------------------------------------------------

    def _begin(self) -> None:
        self._call = call_of(self._live.now, self.choice)
        self._takes = str(self.choice.takes)
        # Cells and other jobs submitted on the wall change the price of the plan.
        clock, complain = self._live.clock, self._live.say
        updates = Paced(io_thread(), clock, UPDATES_EVERY_S, self._refresh, complain)
        leave = self._live.client.on_settled(lambda _: updates.ask())
        self._ends += [leave, updates.close]
        self._plan_soon()

    def on_message(self, message: Mapping[str, Any]) -> None:
        if self._call is None:
            self._begin()
        match message:
            case {"past": True}:
                self._live.tasks.run(self._show_past)
            case {"open": is_open}:
                self._is_open = bool(is_open)
            case {"takes": text}:
                self._takes = str(text).strip()
                self._plan_soon()
                if self._has_takes:
                    self.choice = replace(self.choice, takes=int(self._takes))
            case {"budget": text}:
                self._budget = str(text).strip()
                self._error = ""
            case {"run": text}:
                self._run(str(text))
            case {"drafts": True}:
                self._live.tasks.run(self._show_drafts)
            case _:
                self.choice = self._chosen(message)
        self._live.show()

    def _chosen(self, message: Mapping[str, Any]) -> SweepChoice:
        """Return the sweep's axes after an edit."""
        choice = self.choice
        state = self._live.now
        match message:
            case {"vary": name, "on": True}:
                value = state.values.get(name, state.further.get(name))
                return choice.with_varied(axes_of(state)[name], value)
            case {"vary": name}:
                return choice.without(name)
            case {"axis": name, "option": at, "on": is_on}:
                options = axes_of(state)[name].choices
                ticked = choice.entries.get(name, ())
                is_ticked = [option in ticked for option in options]
                is_ticked[at] = bool(is_on)
                return choice.with_entry(name, tuple(compress(options, is_ticked)))
            case {"axis": name, "text": text}:
                return choice.with_entry(name, str(text))
        return choice

    # -- display -------------------------------------------------------------------

    def payload(self) -> Payload:
        """Return the panel's payload for the current form."""
        past = PAST.format(self.last) if self.last and self._gallery is None else ""
        if self._call is None:
            return {"sweep": None, "past": past}
        call = call_of(self._live.now, self.choice)
        if call != self._call:
            self._call = call
            self._plan_soon()
        return {"sweep": self._panel(call), "past": past}

    def _panel(self, call: SweepCall) -> Payload:
        from mediakit.widgets.sweeps.plan_view import plan_html

        specs = axes_of(self._live.now)
        plan = self._plan
        if plan is not None:
            self._html = str(plan_html(plan, self._typed))
        axes = [*(n for n in self.choice.varied if n in specs), *call.slots]
        problems = call.problems
        return {
            "open": self._is_open,
            "varies": [
                [name, label_of(spec), name in self.choice.varied]
                for name, spec in specs.items()
            ],
            "axes": [self._axis(n, specs.get(n), problems.get(n, "")) for n in axes],
            "takes": self._takes,
            "plan": self._html,
            "fades": plan is None and bool(self._html),
            "said": self._sentence,
            "budget": self._budget,
            "fits": "" if plan is None else self._typed.fits_text(plan),
            "run": self._run_text,
            "off": plan is None or self._runs or not self._typed.allows(plan),
            "drafts": plan is not None and plan.can_draft,
            "code": self._code(call),
            "error": self._error,
        }

    def _code(self, call: SweepCall) -> str:
        """Return the call that does the same as Run, at the price on its button."""
        plan, typed = self._plan, self._typed
        return sweep_call(
            self._client.catalog,
            self._live.function,
            call.arguments,
            is_draft=self._is_draft,
            budget="" if typed.limit_micro_usd is None else typed.text,
            price=None if plan is None else plan.estimate(),
        )

    def _axis(self, name: str, spec: FieldSpec | None, problem: str) -> Payload:
        way = "slot" if spec is None else way_of(spec)
        label = "{" + name + "}"
        if spec is not None:
            label = label_of(spec) if way == "both" else several_of(label_of(spec))
            label += f" ({spec.unit})" if spec.unit and way != "choices" else ""
        first = "" if spec is None else first_entry(spec, None)
        entry = self.choice.entries.get(name, first)
        is_media = spec is not None and spec.media_kind and way == "lines"
        part: Payload = {
            "name": name,
            "label": f"{label}{ONE_PER_LINE.get('media' if is_media else way, '')}",
            "way": way,
            "hint": HINTS.get("media" if is_media else way, ""),
            "problem": problem,
        }
        if spec is not None and way == "choices":
            unit = f" {spec.unit}" if spec.unit else ""
            texts = [option_label(each, unit, spec.title) for each in spec.choices]
            ticked = [at for at, choice in enumerate(spec.choices) if choice in entry]
            return part | {"options": texts, "ticked": ticked}
        return part | {"text": str(entry)}

    # -- the price ----------------------------------------------------------------

    @property
    def _has_takes(self) -> bool:
        text = self._takes
        return text.isdecimal() and 1 <= int(text) <= MOST_TAKES

    @property
    def _run_text(self) -> str:
        """Return the label of the button, with a price that the budget allows."""
        plan = self._plan
        if self._runs:
            return RUNNING
        if plan is None or self._typed.is_wrong:
            return "Run"
        return self._typed.run_text(plan)

    @property
    def _typed(self) -> SweepBudget:
        from mediakit.widgets.sweeps.plan_view import SweepBudget

        return SweepBudget(self._budget, self._used_micro_usd)

    # -- the plan -----------------------------------------------------------------

    def _plan_soon(self) -> None:
        self._edits += 1
        self._plan = None
        self._is_draft = False
        self._error = ""
        call = self._call
        if call is None:
            return
        axes = {*self.choice.varied, *call.slots}
        others = [t for n, t in call.problems.items() if n not in axes]
        if not self._has_takes:
            self._html = ""
            self._sentence = TAKES
        elif call.problems:
            self._html = ""
            self._sentence = " ".join(others) or INCOMPLETE
        elif not axes and self.choice.takes == 1:
            self._html = ""
            self._sentence = NOTHING_VARIES
        else:
            # The old plan is faded until the new one is made.
            self._sentence = ""
            make = partial(self._make_plan, call, self._edits)
            self._live.after_typing("sweep", make)

    async def _make_plan(self, call: SweepCall, edits: int) -> None:
        from mediakit.sweep import AsyncPlan, plan_of

        if edits != self._edits:
            return
        plan = None
        sentence = ""
        try:
            plan = await plan_of(
                self._client.core,
                AsyncPlan,
                self._live.function.path,
                takes=call.takes,
                **call.axes,
            )
            self._used_micro_usd = await plan._used_micro_usd()
        except MediakitError as error:
            self._html = ""
            sentence = str(error)
        if edits == self._edits:
            self._change(plan, sentence)

    def _change(self, plan: AsyncPlan | None, sentence: str = "") -> None:
        self._plan = plan
        self._sentence = sentence
        self._live.show()

    async def _show_drafts(self) -> None:
        """Show the plan of drafts, with its price on the button."""
        plan = self._plan
        if plan is not None:
            drafts = await plan._drafts()
            if self._plan is plan:
                self._used_micro_usd = await drafts._used_micro_usd()
                self._is_draft = True
                self._change(drafts)

    async def _refresh(self) -> None:
        plan = self._plan
        if plan is None or self._runs:
            return
        with suppress(ClosedError):  # keep the last display
            await plan._refresh()
            self._used_micro_usd = await plan._used_micro_usd()
            if self._plan is plan:
                self._change(plan)

    # -- running it ---------------------------------------------------------------

    def _run(self, text: str) -> None:
        """Run the plan if its price is the one on the button."""
        plan = self._plan
        if self._runs:
            return
        if plan is None or text != self._run_text:
            self._error = PLAN_CHANGED
            return
        from mediakit.widgets.sweeps.plan_view import CHANGED

        self._runs = True
        self._error = ""
        budget = self._budget or None

        async def run() -> None:
            try:
                now = await plan._again()
                self._used_micro_usd = await now._used_micro_usd()
                label = self._typed.run_text(now)
                if label != text:
                    self._change(now)
                    self._error = CHANGED.format(label, text)
                    return
                results = await plan._begin(budget)
                self._show_wall(results)
            except MediakitError as error:
                self._error = sentence_of(error)
                return
            finally:
                self._runs = False
                self._live.show()
            await results.wait()
            await plan._refresh()
            self._used_micro_usd = await plan._used_micro_usd()
            if self._plan is plan:
                self._change(plan)

        self._live.tasks.run(run)

    async def _show_past(self) -> None:
        """Show the wall of a sweep that an earlier form ran; nothing is sent."""
        from mediakit.sweep import AsyncPlan, AsyncResults, past_plan

        plan = await past_plan(self._client.core, self.last, AsyncPlan)
        self._show_wall(AsyncResults(plan, self._client.core))

    def _show_wall(self, results: AsyncResults) -> None:
        from mediakit.widgets.sweeps.wall import wall_of

        live = self._live
        if self._handle is None:
            self._handle = live.handle.another()
            live.widget.hides += self._handle.live_rules
        wall = wall_of(results).gallery
        before, self._gallery = self._gallery, wall
        self.last = results.id
        live.widget.show_form({"wall": [wall.view.model_id], "past": ""}, brings=True)
        live.show()
        wall.follow_with(self._handle)
        if before is not None:
            before.close()
