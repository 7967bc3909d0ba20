"""What follows from a form's values, as the page draws it: plain data; pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from mediakit.estimates import Estimate, EstimateKind
from mediakit.media import is_url
from mediakit.money import format_cents
from mediakit.rules import Problem
from mediakit.schema import FieldSpec
from mediakit.widgets.controls.media_inspection import Inspection, MediaKey
from mediakit.widgets.controls.messages import (
    STEPS,
    inner_place,
    placed_text,
    rule_text,
    sentence_case,
    titled,
)
from mediakit.widgets.controls.wire import Wire
from mediakit.widgets.form.funds import Affordability, Funds
from mediakit.widgets.form.state import FormState
from mediakit.widgets.job.payload import Payload
from mediakit.widgets.job.text import file_texts, kind_text
from mediakit.widgets.toolkit.styles import Tone, data_url
from mediakit.widgets.uploads.upload_folder import own_name

FEW_LEFT = 5
CODE_HINT = "This call does the same. Click the code to select all of it."
OWNED_HINT = (
    'This call returns your existing result, free of charge; take="next" submits '
    "another take. Click the code to select all of it."
)
NO_PRICE, NO_LINES = "There is no price yet.", "No lines."


def state_payload(state: FormState, fields: Mapping[str, FieldSpec]) -> Payload:
    """Return everything that the page draws beside the values."""
    return {
        "problems": [each for name in fields for each in _beside(state, name)],
        "off": {n: sentence_case(rule_text(t)) for n, t in state.disabled.items()},
        "required": sorted(state.required),
        "price": price_payload(state),
        "go": {
            "text": state.generate_text,
            "off": state.submit_reason is not None,
            "hint": state.submit_hint,
            "another": state.is_another_take,
        },
        "owned": state.owned_text,
        "slots": state.slots_text,
        "code_hint": OWNED_HINT if state.is_another_take else CODE_HINT,
    }


# -- what is wrong ----------------------------------------------------------------


def _beside(state: FormState, name: str) -> Iterator[Payload]:
    """Yield what stands beside a field: its problems, else its warnings."""
    if name in state.disabled:
        return
    problems = state.problems_of(name)
    tone = "bad" if problems else "warn"
    for problem in problems or state.warnings_of(name):
        yield {
            "missing": problem.is_missing,
            "tone": tone,
            "at": list(_places(problem, name)),
        }


def _places(problem: Problem, root: str) -> Iterator[tuple[str, str, str]]:
    """Yield the places around a problem, the innermost first, with its words."""
    # What a place's value holds is named there; the page says it at the nearest one.
    steps = [found.end() for found in STEPS.finditer(problem.field)] or [0]
    # A closing bracket belongs to its step; a name in front of a dot ends before it.
    places = [problem.field[:end] for end in reversed(steps)]
    for place in dict.fromkeys((*places, root)):
        name = inner_place(problem, place)
        text = with_own_names_in(placed_text(problem, name))
        yield place, name, text


def with_own_names_in(text: str) -> str:
    """Return a sentence with uploads by their own names."""
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
    """Return what is left, how far it goes, and what running jobs hold."""
    if funds.left_micro_usd is None:
        return ""
    amount = format_cents(max(0, funds.left_micro_usd))
    left = [f"{titled(funds.left_of)}: {amount}"]
    if affordability.count:
        s = "" if affordability.count == 1 else "s"
        left.append(f"enough for about {affordability.count:,} run{s}")
    held = [funds.held_text] if funds.held_text else []
    if funds.read_at is not None:
        held.append(f"as of {funds.read_at.astimezone():%H:%M}")
    return f"{' · '.join(left)}\n{' · '.join(held)}"


Ends = tuple[int | None, int | None]
"""The lower and the upper end of a price, micro-USD; None where it has none."""


def is_dearer(now: Ends, before: Ends) -> bool:
    """Return whether a price may come to more than another one."""
    return _dearness(*now) > _dearness(*before)


def _dearness(low: int | None, high: int | None) -> tuple[bool, int, bool, int]:
    # The upper end counts first; what has none may cost anything.
    return (high is None, high or 0, low is None, low or 0)


# -- media ------------------------------------------------------------------------


def found_payload(found: Mapping[MediaKey, Inspection]) -> Payload:
    return {
        f"{kind} {value}": {
            "picture": data_url(seen.thumbnail) if seen.thumbnail else "",
            "facts": _facts(value, seen),
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
    """Return the own names of uploads in the page's values, by path."""
    if isinstance(wire, str):
        name = own_name(wire)
        return {} if name is None else {wire: name}
    if isinstance(wire, Mapping):
        wire = list(wire.values())
    found: dict[str, str] = {}
    for each in wire if isinstance(wire, list) else ():
        found |= own_names(each)
    return found
