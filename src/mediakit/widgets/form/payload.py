"""The derived state of a form as plain data for the page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from mediakit.estimates import Estimate, EstimateKind
from mediakit.media import is_url
from mediakit.media_html import data_url
from mediakit.money import MicroUSD, format_cents
from mediakit.rules import Problem
from mediakit.schema import FieldSpec
from mediakit.widgets.controls import Wire, shown
from mediakit.widgets.controls.media_inspection import Inspection, MediaKey
from mediakit.widgets.controls.messages import (
    STEPS,
    inner_place,
    label_of,
    mid_sentence,
    placed_text,
    rule_text,
    sentence_case,
    titled,
)
from mediakit.widgets.form.funds import Affordability, Funds
from mediakit.widgets.form.state import FormState
from mediakit.widgets.job.payload import Payload
from mediakit.widgets.job.text import file_texts, kind_text
from mediakit.widgets.toolkit.styles import Tone
from mediakit.widgets.uploads.upload_folder import own_name

FEW_LEFT = 5
CODE_HINT = "This call does the same. Click the code to select all of it."
OWNED_HINT = (
    'This call returns your existing result, free of charge; take="next" submits '
    "another take. Click the code to select all of it."
)
NO_PRICE, NO_LINES = "There is no price yet.", "No lines."


def state_payload(state: FormState, fields: Mapping[str, FieldSpec]) -> Payload:
    """Return everything that the page draws besides the values."""
    return {
        "problems": [
            p for name, spec in fields.items() for p in _beside(state, name, spec)
        ],
        "off": {
            n: sentence_case(rule_text(t))
            for n, t in {**state.replaced, **state.disabled}.items()
        },
        "counts": {
            name: shown(fields[name], value)
            for name, value in state.overridden.items()
            if name in fields
        },
        "lists": state.lists,
        "required": sorted(state.required),
        "price": price_payload(state),
        "go": {
            "text": state.generate_text,
            "off": state.submit_reason is not None,
            "hint": state.submit_hint,
            "another": state.is_another_take,
            "stop": state.can_stop,
        },
        "owned": state.owned_text,
        "slots": state.slots_text,
        "code_hint": CODE_HINT if state.existing is None else OWNED_HINT,
    }


# -- what is wrong ----------------------------------------------------------------


def _beside(state: FormState, name: str, spec: FieldSpec) -> Iterator[Payload]:
    """Yield the problems beside a field, or else its warnings."""
    if name in state.disabled:
        return
    problems = state.problems_of(name)
    tone = "bad" if problems else "warn"
    for problem in problems or state.warnings_of(name):
        yield {
            "missing": problem.is_missing,
            "tone": tone,
            "at": list(_places(problem, spec)),
        }


def _places(problem: Problem, spec: FieldSpec) -> Iterator[tuple[str, str, str]]:
    """Yield the places around a problem with its text, innermost first."""
    # A problem names an inner value; the page shows it at the nearest visible field.
    steps = [match.end() for match in STEPS.finditer(problem.field)] or [0]
    # A closing bracket belongs to its step; a name in front of a dot ends before it.
    places = [problem.field[:end] for end in reversed(steps)]
    for place in dict.fromkeys((*places, spec.name)):
        name = inner_place(problem, place)
        if place == problem.field == spec.name and _is_clause(problem.message):
            name = f"the {mid_sentence(label_of(spec))}"
        text = with_own_names_in(placed_text(problem, name))
        yield place, name, text


def _is_clause(said: str) -> bool:
    """Return whether a text is a predicate by itself, such as "mentions"."""
    return bool(said) and not said.startswith("is ")


def with_own_names_in(text: str) -> str:
    """Replace the paths of uploads in a sentence with their names."""
    words = (own_name(word.rstrip(":;,.")) for word in text.split(" "))
    named = zip(text.split(" "), words, strict=True)
    return " ".join(
        word if name is None else word.replace(word.rstrip(":;,."), name)
        for word, name in named
    )


# -- what it costs ----------------------------------------------------------------


def tone_of(affordability: Affordability) -> Tone:
    """Return how close a price comes to using up what is left."""
    if affordability.covered is False:
        return "bad"
    if affordability.count is None or affordability.count > FEW_LEFT:
        return "plain"
    return "warn" if affordability.count > 1 else "bad"


def price_payload(state: FormState) -> Payload:
    estimate, covered = state.estimate, state.affordability
    share = covered.share
    return {
        **_amount(estimate, state.estimate_gap),
        "tone": tone_of(covered),
        "share": 0 if share is None else round(min(share, 1.0), 4),
        "funds": funds_text(state.funds, covered),
        "held": state.funds.held_text or "",
        "caution": state.caution or "",
    }


def _amount(estimate: Estimate | None, gap: str | None) -> Payload:
    if estimate is None:
        return {"gap": gap or "", "no_lines": NO_PRICE}
    unknown = estimate.kind is EstimateKind.UNKNOWN
    return {
        "text": estimate.short_text,
        "kind": "" if unknown else kind_text(estimate),
        "ends": [estimate.low, estimate.high],
        "lines": [
            [line.what, line.quantity_text, line.rate_text, line.amount_text]
            for line in estimate.lines
        ],
        "total": estimate.text,
        "notes": list(estimate.notes),
        "no_lines": NO_LINES,
    }


def funds_text(funds: Funds, affordability: Affordability) -> str:
    """Return the funds in one line: left, held, and enough for how many."""
    if funds.left_micro_usd is None:
        return ""
    amount = format_cents(max(0, funds.left_micro_usd))
    facts = [f"{titled(funds.left_of)} {amount}"]
    if funds.held_text:
        facts.append(f"{format_cents(funds.held_now_micro_usd)} held")
    if affordability.count:
        facts.append(f"about {affordability.count:,} more")
    if funds.read_at is not None:
        facts.append(f"{funds.read_at.astimezone():%H:%M}")
    return "\u00a0· ".join(facts)  # a line never begins with a dot


def price_seen(ends: Sequence[int | None] | None) -> Estimate | None:
    """Return the price that the page showed, from its ends, or None."""
    if not ends:
        return None
    low, high = (None if end is None else MicroUSD(end) for end in ends)
    return Estimate(low, high, EstimateKind.UPPER_BOUND)


# -- media ------------------------------------------------------------------------


def found_payload(found: Mapping[MediaKey, Inspection]) -> Payload:
    return {
        f"{kind} {value}": {
            "picture": data_url(seen.thumbnail) if seen.thumbnail else "",
            "facts": _facts(value, seen),
            "title": seen.title,
            "length_s": seen.info.duration_s if seen.info else None,
        }
        for (kind, value), seen in found.items()
    }


def _facts(value: str, seen: Inspection) -> str:
    if seen.words:
        return seen.words
    texts = file_texts(seen.info)
    if seen.info and seen.info.fps is not None:
        texts.append(f"{seen.info.fps:.0f} fps")
    facts = " · ".join(texts)
    if is_url(value):
        return f"remote · {facts}" if facts else "remote; length unknown"
    return f"Uploaded · {facts}" if facts and own_name(value) else facts


def own_names(wire: Wire) -> dict[str, str]:
    """Return the file names of uploads in the page's values, by path."""
    if isinstance(wire, str):
        name = own_name(wire)
        return {} if name is None else {wire: name}
    if isinstance(wire, Mapping):
        wire = list(wire.values())
    names: dict[str, str] = {}
    for each in wire if isinstance(wire, list) else ():
        names |= own_names(each)
    return names
