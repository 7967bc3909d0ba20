"""The state of a form: values, problems, price, and whether it can be submitted.

Nothing here knows a widget, a kernel or a particular function: everything follows from
the function's fields and rules, and external facts (files, the balance) are passed in
as data.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from mediakit.catalog import Function
from mediakit.errors import InputError
from mediakit.estimates import Estimate, EstimateKind
from mediakit.forks import cached_property
from mediakit.money import format_cents, format_usd
from mediakit.prompt_templates import slots_in
from mediakit.rules import NeedsAny, Problem
from mediakit.schema import FieldSpec, stripped
from mediakit.widgets.controls.json_values import FURTHER, sendable, unreadable
from mediakit.widgets.controls.media_inspection import Inspection, MediaKey
from mediakit.widgets.controls.messages import (
    how_to_give,
    label_of,
    mid_sentence,
    missing_text,
    place_text,
    placed_text,
)
from mediakit.widgets.form.draft import digest_of
from mediakit.widgets.form.form_media import FormMedia
from mediakit.widgets.form.funds import Affordability, Funds
from mediakit.widgets.form.sweep_call import SweepCall, call_of
from mediakit.widgets.form.sweep_panel import SweepPanel
from mediakit.widgets.uploads.upload_folder import shown_path

MEDIA_NAMES = {"video": "clip", "image": "picture", "audio": "sound"}
NOT_WITHIN_A_BUDGET = "Its price is unknown, so your budget cannot be enforced."


@dataclass(frozen=True)
class Owned:
    """A job in the history of the form's request."""

    job_id: str
    is_completed: bool
    take: int = 1


@dataclass(frozen=True)
class FormState:
    """Everything that a form shows at one moment."""

    function: Function
    # None means "not sent"; `FURTHER.name` has the properties without a field
    values: Mapping[str, object]
    touched: frozenset[str] = frozenset()  # set by people or code; these show problems
    # the known facts about media
    inspections: Mapping[MediaKey, Inspection] = field(default_factory=dict)
    funds: Funds = field(default_factory=Funds)
    sending: str | None = None  # what the request in flight waits for; None without one
    can_stop: bool = False  # whether the request in flight can be stopped
    # the digests of the bodies that the form submitted, by job id
    submitted: Mapping[str, str] = field(default_factory=dict)
    # existing jobs in the history, by the digest of the body
    made: Mapping[str, Owned] = field(default_factory=dict)
    sentence: str = ""  # below the price
    is_sentence_until_edited: bool = False  # whether the next edit removes it
    shows_code: bool = False
    sweep: SweepPanel = field(default_factory=SweepPanel)

    @classmethod
    def start(
        cls, function: Function, values: Mapping[str, object] | None = None
    ) -> FormState:
        """Return a new form with defaults and given values, whose names are checked."""
        given = dict(values or {})
        unknown = [
            problem
            for problem in function.check(given)
            if problem.root not in function.fields and not problem.is_missing
        ]
        if unknown:
            raise InputError.of(unknown, spec=function.spec)
        further = {n: given.pop(n) for n in list(given) if n not in function.fields}
        if further:
            given[FURTHER.name] = further
        defaults = {name: spec.default for name, spec in function.fields.items()}
        return cls(function, defaults | given)

    # Changes.

    def with_value(self, name: str, value: object) -> FormState:
        """Return the state after an edit of a field, which then shows its problems."""
        values, touched = {**self.values, name: value}, self.touched | {name}
        return replace(self, values=values, touched=touched)

    def saying(self, text: str, *, until_edited: bool = False) -> FormState:
        """Return the state with a sentence below the price."""
        return replace(self, sentence=text, is_sentence_until_edited=until_edited)

    def with_sweep(self, **changes: Any) -> FormState:
        """Return the state after changes of the sweep panel."""
        return replace(self, sweep=replace(self.sweep, **changes))

    def with_inspections(self, found: Mapping[MediaKey, Inspection]) -> FormState:
        return replace(self, inspections={**self.inspections, **found})

    def with_balance(self, funds: Funds) -> FormState:
        return replace(self, funds=funds)

    def with_submitted(self, job_id: str, body_digest: str) -> FormState:
        return replace(self, submitted={**self.submitted, job_id: body_digest})

    def without_submitted(self, job_id: str) -> FormState:
        """Return the state after a job failed: it is not charged (spec 7.3)."""
        left = {id_: body for id_, body in self.submitted.items() if id_ != job_id}
        jobs = {name: job for name, job in self.made.items() if job.job_id != job_id}
        return replace(self, submitted=left, made=jobs)

    def with_made(self, body_digest: str, job: Owned | None) -> FormState:
        """Return the state after a search of the history for a body's job."""
        others = {name: job for name, job in self.made.items() if name != body_digest}
        jobs = {} if job is None else {body_digest: job}
        return replace(self, made=others | jobs)

    # Rules.

    @cached_property
    def disabled(self) -> Mapping[str, str]:
        """Return the disabled fields, with the reason."""
        # A disabled field counts as omitted for the others, so that its remembered
        # value has no effect.
        off: dict[str, str] = {}
        for _ in self.function.fields:
            reasons = dict(self._switched_off(off))
            if reasons == off:
                break
            off = reasons
        return off

    @cached_property
    def replaced(self) -> Mapping[str, str]:
        """Return the fields that another field replaces, with the reason."""
        fields, declared = self.function.fields, self.function.declared
        replaced = {
            name: f"not used, because {label_of(fields[by])} is set"
            for by, name in declared.replaces
            if self._body.get(by)
        }
        labels = {name: label_of(fields[by]) for by, name, _ in declared.sets}
        words = {n: f"set to {v} by {labels[n]}" for n, v in self.overridden.items()}
        return replaced | words

    @cached_property
    def overridden(self) -> Mapping[str, object]:
        """Return the effective values of fields that another field sets."""
        sets = self.function.declared.sets
        return {name: value for by, name, value in sets if self._body.get(by)}

    @cached_property
    def lists(self) -> Mapping[str, tuple[int, str]]:
        """Return the initial number of items of lists, and their first value."""
        single = dict(self.function.declared.replaces)
        return {
            name: (count, str(self.values.get(single.get(name, "")) or ""))
            for name, count in self.function.item_counts(self._body).items()
        }

    def _switched_off(self, off: Mapping[str, str]) -> Iterator[tuple[str, str]]:
        applying = {n: v for n, v in self.values.items() if n not in off}
        values = self.function.canonical_body(applying)
        for name in self.function.fields:
            for rule in self.function.rules:
                reason = rule.disables(name, values)
                if reason is not None:
                    yield name, reason
                    break

    @cached_property
    def required(self) -> frozenset[str]:
        """Return the required fields, given the values of the others."""
        values = self.function.canonical_body(self.body())
        return frozenset(
            name
            for name, spec in self.function.fields.items()
            if spec.to_fill_in
            or any(rule.requires(name, values) for rule in self.function.rules)
        )

    def body(self) -> dict[str, object]:
        """Return the body to send: enabled fields with a value."""
        return dict(self._body)

    @cached_property
    def _body(self) -> Mapping[str, object]:
        fields = {}
        chosen = self.function.of(self.values).fields
        for name, spec in {**self.function.fields, **chosen}.items():
            value = stripped(spec, sendable(self.values.get(name)))
            if name in self.disabled:
                continue
            if not _is_nothing(spec, value):
                fields[name] = value
            elif spec.null_when_empty:
                fields[name] = None
        return self.further | fields

    @property
    def further(self) -> dict[str, object]:
        """Return the undeclared properties for an open function."""
        further = self.values.get(FURTHER.name)
        return dict(further) if isinstance(further, dict) else {}

    @property
    def media_titles(self) -> dict[str, str]:
        """Return the titles of the jobs that made media, by URL."""
        seen = self.inspections.items()
        return {url: each.title for (_, url), each in seen if each.title}

    @cached_property
    def media(self) -> FormMedia:
        return FormMedia(self.function, self.body(), self.inspections)

    # Problems.

    @cached_property
    def problems(self) -> tuple[Problem, ...]:
        """Return all problems, in field order."""
        mistakes = self.function.check(self.media.checked_body)
        # Invalid JSON counts as missing in the check, but is reported as invalid.
        texts = {problem.field: problem for problem in self._unreadable()}
        mistakes = [*texts.values(), *(p for p in mistakes if p.field not in texts)]
        wrong = {problem.field for problem in mistakes}
        mistakes += [p for p in self.media.problems() if p.field not in wrong]
        order = {name: place for place, name in enumerate(self.function.fields)}
        return tuple(sorted(mistakes, key=lambda p: order.get(p.root, len(order))))

    def _unreadable(self) -> Iterator[Problem]:
        for name, value in self.values.items():
            if name not in self.disabled:
                yield from unreadable(name, value)

    def _spec(self, place: str) -> FieldSpec:
        """Return the field of a place such as "tracks[0].id"."""
        root = place.split("[", 1)[0].split(".", 1)[0]
        return self.function.fields.get(root, FURTHER)

    def problems_of(self, name: str) -> tuple[Problem, ...]:
        """Return the problems beside a field; none until it is touched."""
        return self._beside(name, self.problems)

    def _beside(self, name: str, found: tuple[Problem, ...]) -> tuple[Problem, ...]:
        if name not in self.touched:
            return ()
        return tuple(each for each in found if self._spec(each.field).name == name)

    # Warnings.

    @cached_property
    def warnings(self) -> tuple[Problem, ...]:
        """Return likely mistakes that do not block sending."""
        wrong = {problem.field for problem in self.problems}
        mistakes = (
            *self.function.warnings(self.body()),
            *self.media.warnings(),
            *self._unfilled_slots(),
        )
        return tuple(warning for warning in mistakes if warning.field not in wrong)

    def _slots(self, name: str) -> list[str]:
        """Return the unfilled slots in a long text."""
        value = self._body.get(name)
        return sorted(slots_in([value])) if self._spec(name).multiline else []

    def _unfilled_slots(self) -> Iterator[Problem]:
        for name, value in self.body().items():
            slots = self._slots(name)
            if slots:
                named = " and ".join(f"{{{slot}}}" for slot in slots)
                sentence = f"contains {named}, which only a sweep fills"
                yield Problem(name, value, "text without slots", sentence)

    def warnings_of(self, name: str) -> tuple[Problem, ...]:
        """Return the warnings beside a field; none until it is touched."""
        return self._beside(name, self.warnings)

    # Price.

    @cached_property
    def _priced(self) -> Estimate | InputError:
        try:
            return self.function.estimate(self.media.checked_body, self.media.facts)
        except InputError as error:
            return error

    @property
    def estimate(self) -> Estimate | None:
        return self._priced if isinstance(self._priced, Estimate) else None

    @property
    def estimate_gap(self) -> str | None:
        """Return what is missing for a price; None if there is one."""
        if isinstance(self._priced, Estimate):
            return None
        problem = self._priced.problems[0]
        spec = self._spec(problem.field)
        if problem.got is not None:
            if spec.name not in self.touched:  # no problem is shown beside the field
                return self._problem_reason(problem)
            return f"Correct the {mid_sentence(label_of(spec))} to see the price."
        if problem.field != spec.name:
            return f"Complete the {mid_sentence(label_of(spec))} to see the price."
        return f"{how_to_give(spec)} to see the price."

    @cached_property
    def affordability(self) -> Affordability:
        estimate = self.estimate
        if estimate is None:
            return Affordability(None, self.funds.left_micro_usd)
        # A range from 0 without an upper end is unknown, not free.
        needed = (estimate.low or None) if estimate.high is None else estimate.high
        if estimate.high is not None and self.funds.left_of == "budget":
            needed = estimate.hold_micro_usd
        return Affordability(needed, self.funds.left_micro_usd)

    # The Generate button.

    @cached_property
    def body_digest(self) -> str:
        return digest_of(self.body())

    @property
    def is_another_take(self) -> bool:
        """Return whether this request was submitted before."""
        return self._is_submitted_here or self.owned is not None

    @property
    def _is_submitted_here(self) -> bool:
        return bool(self.submitted) and self.body_digest in self.submitted.values()

    @property
    def existing(self) -> Owned | None:
        """Return the job of this request in the history, visible or not."""
        return self.made.get(self.body_digest) if self.made else None

    @property
    def owned(self) -> Owned | None:
        """Return the job of this request if the form does not show it."""
        return None if self._is_submitted_here else self.existing

    @property
    def owned_text(self) -> str:
        """Return a sentence on the existing job of the request, or ""."""
        if self.owned is None:
            return ""
        if not self.owned.is_completed:
            return "This request is already in progress."
        name = MEDIA_NAMES.get(self.function.media_type, "result")
        return f"You have this {name}."

    @property
    def generate_text(self) -> str:
        """Return the label of the main button, with the price if known."""
        words = "Another take" if self.is_another_take else "Generate"
        estimate = self.estimate
        if estimate is None or estimate.high is None:
            return words
        written = format_usd if estimate.kind is EstimateKind.EXACT else format_cents
        price = written(estimate.high)
        sure = written(estimate.low) == price
        return f"{words} · {price}" if sure else f"{words} · up to {price}"

    @cached_property
    def sweep_call(self) -> SweepCall:
        """Return the `client.sweep` call for the choices in the sweep panel."""
        return call_of(self, self.sweep.choice)

    # Whether it can be submitted.

    @cached_property
    def submit_reason(self) -> str | None:
        """Return why the form cannot be submitted; None if it can."""
        if self.sending is not None:
            return self.sending
        if self.problems:
            return self._problem_reason(self.problems[0])
        if self.media.unseen:
            return f"Checking {shown_path(self.media.unseen[0][1])}."
        return self._price_reason()

    @property
    def submit_hint(self) -> str:
        # A mistake is explained once, beside its field; here it is only mentioned.
        if self.sending is not None or not self.problems:
            return self.submit_reason or ""
        first = self.problems[0]
        root = self._spec(first.field)
        gap = None if isinstance(self._priced, Estimate) else self._priced.problems[0]
        if gap is not None and gap.field == first.field == root.name:
            return ""  # the price line says what to do
        is_inner_gap = first.is_missing and first.field != root.name
        if self.problems_of(root.name) and not is_inner_gap:
            correct = f"Correct the {mid_sentence(label_of(root))}"
            do = how_to_give(root) if first.is_missing else correct
            is_repeated = self.estimate_gap == f"{do} to see the price."
            return "" if is_repeated else f"{do} to continue."
        return self.submit_reason or ""

    @property
    def slots_text(self) -> str:
        """Return a sentence on slots that would be sent as written, or ""."""
        left = [slot for name in self.function.fields for slot in self._slots(name)]
        if not left:
            return ""
        named = " and ".join(f"{{{slot}}}" for slot in dict.fromkeys(left))
        return f"{named} will be sent as written. A sweep fills in slots."

    @property
    def caution(self) -> str | None:
        """Return what is unknown about the payment; None if nothing is."""
        if self.estimate is not None and self.estimate.kind is EstimateKind.UNKNOWN:
            return "You will be charged; the price isn't known in advance."
        if self.estimate is not None and self.estimate.high is None:
            return "The price has no known upper limit."
        if self.funds.balance is None:
            return self.funds.trouble or "The balance is not known yet."
        return None

    def _problem_reason(self, problem: Problem) -> str:
        spec = self._spec(problem.field)
        if problem.is_missing:
            return missing_text(spec, problem, self._instead_of(problem))
        return f"{placed_text(problem, place_text(spec, problem.field))}."

    def _instead_of(self, problem: Problem) -> list[FieldSpec]:
        """Return the fields of which any one can replace a missing one."""
        rules = (r for r in self.function.rules if isinstance(r, NeedsAny))
        others = (r.fields[1:] for r in rules if r.fields[0] == problem.field)
        return [self.function.fields[name] for name in next(others, ())]

    def _price_reason(self) -> str | None:
        if self.estimate is None:
            return None
        if self.estimate.high is None and self.funds.budget is not None:
            return NOT_WITHIN_A_BUDGET
        if self.affordability.covered is not False:
            return None
        needed = format_usd(self.affordability.needed_micro_usd)
        is_listed = not self.estimate.known_micro_usd
        exact = self.estimate.kind is EstimateKind.EXACT and is_listed
        price = f"This costs {needed}" if exact else f"This may cost up to {needed}"
        if self.estimate.high is None:
            price = f"This costs at least {needed}"
        holds = f"; {self.funds.held_text}" if self.funds.held_text else ""
        left = f"{self.funds.left_text} is left{self.funds.age_text}"
        return f"{price}, but only {left}{holds}."


def _is_nothing(spec: FieldSpec, value: object) -> bool:
    if spec.kind == "json":
        return value is None  # an explicit [] is intended
    return value is None or value == "" or value == [] or value == ()
