"""The sweep panel of a form: its choices, its plan, and its payload."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import compress
from typing import TYPE_CHECKING, Any

from mediakit.catalog import Catalog
from mediakit.schema import FieldSpec
from mediakit.widgets.controls.messages import (
    label_of,
    option_label,
    several_of,
    with_unit,
)
from mediakit.widgets.form.python_code import sweep_call
from mediakit.widgets.form.sweep_call import (
    NUMBERS,
    SweepCall,
    SweepChoice,
    axes_of,
    first_entry,
    way_of,
)
from mediakit.widgets.job.payload import Payload

if TYPE_CHECKING:
    from mediakit.sweep import AsyncPlan
    from mediakit.widgets.form.state import FormState
    from mediakit.widgets.sweeps.plan_view import SweepBudget

# Sweeps import pandas, so they are imported on first use.

PAST = (
    "The results of this form's last sweep are in the history; in code: "
    'client.sweep_results("{}").'
)
MOST_TAKES = 1_000
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
    "lists": "Separate the files or URLs of a list with a comma and a space.",
}


@dataclass(frozen=True)
class Planned:
    """The plan of a call, or why there is none."""

    call: SweepCall
    plan: AsyncPlan | None = None
    reason: str = ""
    is_draft: bool = False  # the plan is of drafts


@dataclass(frozen=True)
class SweepPanel:
    """The choices in the panel of a form, with their plan and their last run."""

    was_opened: bool = False  # nothing is planned before
    is_open: bool = False
    choice: SweepChoice = field(default_factory=SweepChoice)
    takes: str = "1"  # as typed
    budget: str = ""  # as typed
    used_micro_usd: int = 0  # of the budget
    planned: Planned | None = None  # perhaps of an earlier call
    runs: bool = False
    error: tuple[SweepCall, str] | None = None  # what went wrong with a call
    last: str = ""  # the ID of the sweep that ran last; empty for none
    wall: str = ""  # the ID of its wall's model; empty for none

    def kept(self) -> SweepPanel:
        """Return the panel of a form that replaces this one: what is chosen."""
        return SweepPanel(choice=self.choice, takes=str(self.choice.takes))

    def edited(self, state: FormState, message: Mapping[str, Any]) -> SweepPanel:
        """Return the panel after a message of the page."""
        panel = replace(self, was_opened=True, error=None)
        match message:
            case {"open": is_open}:
                return replace(panel, is_open=bool(is_open))
            case {"takes": text}:
                takes = str(text).strip()
                choice = self.choice
                if _is_count(takes):
                    choice = replace(choice, takes=int(takes))
                return replace(panel, takes=takes, choice=choice)
            case {"budget": text}:
                return replace(panel, budget=str(text).strip())
        return replace(panel, choice=self._chosen(state, message))

    def _chosen(self, state: FormState, message: Mapping[str, Any]) -> SweepChoice:
        """Return the sweep's axes after an edit."""
        choice = self.choice
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

    @property
    def spending(self) -> SweepBudget:
        from mediakit.widgets.sweeps.plan_view import SweepBudget

        return SweepBudget(self.budget, self.used_micro_usd)


def _is_count(text: str) -> bool:
    return text.isdecimal() and 1 <= int(text) <= MOST_TAKES


def call_to_plan(state: FormState) -> SweepCall | None:
    """Return the call that is still to be planned, or None if there is none."""
    if not state.sweep.was_opened or _gap(state) or _planned(state) is not None:
        return None
    return state.sweep_call


def plan_of_call(state: FormState) -> AsyncPlan | None:
    """Return the plan of the form's call; None until there is one."""
    planned = _planned(state)
    return None if planned is None or _gap(state) else planned.plan


def _planned(state: FormState) -> Planned | None:
    planned = state.sweep.planned
    return planned if planned and planned.call == state.sweep_call else None


def _gap(state: FormState) -> str:
    """Return what is missing for a plan; "" if nothing is."""
    call, choice = state.sweep_call, state.sweep.choice
    axes = {*choice.varied, *call.slots}
    if not _is_count(state.sweep.takes):
        return TAKES
    if call.problems:
        others = [text for name, text in call.problems.items() if name not in axes]
        return " ".join(others) or INCOMPLETE
    return NOTHING_VARIES if not axes and choice.takes == 1 else ""


def run_text(state: FormState) -> str:
    """Return the label of the Run button, with a price that the budget allows."""
    plan, spending = plan_of_call(state), state.sweep.spending
    if state.sweep.runs:
        return RUNNING
    if plan is None or spending.is_wrong:
        return "Run"
    return spending.run_text(plan)


# -- how it looks -----------------------------------------------------------------


def panel_payload(catalog: Catalog, state: FormState) -> Payload:
    """Return the panel's payload."""
    panel = state.sweep
    return {
        "sweep": _panel(catalog, state) if panel.was_opened else None,
        "past": PAST.format(panel.last) if panel.last and not panel.wall else "",
        "wall": [panel.wall] if panel.wall else [],
    }


def _panel(catalog: Catalog, state: FormState) -> Payload:
    from mediakit.widgets.sweeps.plan_view import plan_html

    panel, call, specs = state.sweep, state.sweep_call, axes_of(state)
    plan, spending, gap = plan_of_call(state), panel.spending, _gap(state)
    planned = _planned(state)
    # The old plan is faded until the new one is made.
    shown = None if gap or panel.planned is None else panel.planned.plan
    axes = [*(name for name in panel.choice.varied if name in specs), *call.slots]
    error_of, error = panel.error or (None, "")
    return {
        "open": panel.is_open,
        "varies": [
            [name, label_of(spec), name in panel.choice.varied]
            for name, spec in specs.items()
        ],
        "axes": [_axis(panel.choice, call, name, specs.get(name)) for name in axes],
        "takes": panel.takes,
        "plan": "" if shown is None else str(plan_html(shown, spending)),
        "fades": plan is None and shown is not None,
        "said": gap or ("" if planned is None else planned.reason),
        "budget": panel.budget,
        "fits": "" if plan is None else spending.fits_text(plan),
        "run": run_text(state),
        "off": plan is None or panel.runs or not spending.allows(plan),
        "drafts": plan is not None and plan.can_draft,
        # The call that does the same as Run, at the price on its button.
        "code": sweep_call(
            catalog,
            state.function,
            call.arguments,
            is_draft=planned is not None and planned.is_draft,
            budget="" if spending.limit_micro_usd is None else spending.text,
            price=None if plan is None else plan.estimate(),
        ),
        "error": error if error_of == call else "",
    }


def _axis(
    choice: SweepChoice, call: SweepCall, name: str, spec: FieldSpec | None
) -> Payload:
    way = "slot" if spec is None else way_of(spec)
    label = "{" + name + "}"
    if spec is not None:
        label = label_of(spec) if way == "both" else several_of(label_of(spec))
        label = with_unit(label, None if way == "choices" else spec.unit)
    first = "" if spec is None else first_entry(spec, None)
    entry = choice.entries.get(name, first)
    is_media = spec is not None and spec.media_kind and way == "lines"
    part: Payload = {
        "name": name,
        "label": f"{label}{ONE_PER_LINE.get('media' if is_media else way, '')}",
        "way": way,
        "hint": HINTS.get("media" if is_media else way, ""),
        "problem": call.problems.get(name, ""),
    }
    if spec is not None and way == "choices":
        unit = f" {spec.unit}" if spec.unit else ""
        texts = [option_label(each, unit, spec.title) for each in spec.choices]
        ticked = [at for at, option in enumerate(spec.choices) if option in entry]
        return part | {"options": texts, "ticked": ticked}
    return part | {"text": str(entry)}
