"""Checking bodies: single fields, and the rules between fields."""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from threading import Lock
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from mediakit.rules import Problem, all_of, any_of
from mediakit.schema.bodies import is_left_out, with_defaults
from mediakit.schema.fields import FieldSpec, fields_of, further_of, is_open
from mediakit.schema.requests import MediaRequest

# Before 2.12 pydantic builds a validator in two threads at once when both need it.
_BUILDING = Lock()


def check(
    request_type: type[MediaRequest],
    body: Mapping[str, object],
    *,
    strict_names: bool = True,
) -> list[Problem]:
    """Find all problems of a body; a valid one has none.

    Args:
        request_type: The declaration.
        body: The body to send.
        strict_names: Refuse unknown properties even if the service accepts them.

    Returns:
        At most one problem for each field, those of single fields first.
    """
    return read(request_type, body, strict_names=strict_names)[1]


def read(
    request_type: type[MediaRequest],
    body: Mapping[str, object],
    *,
    strict_names: bool = True,
) -> tuple[MediaRequest | None, list[Problem]]:
    """Read a body as a request; see `check`.

    Returns:
        The request, with null read as omitted, or None if there is a problem; and
        the problems.
    """
    request_type = request_type.of(body)
    request, own = _validated(request_type, body)
    problems = {p.field: p for p in own}
    if not strict_names and not (request_type.declared.closed or is_open(request_type)):
        known = fields_of(request_type)
        problems = {name: p for name, p in problems.items() if p.root in known}
    wrong = {problem.root for problem in problems.values()}
    if request_type.rules:
        values = with_defaults(request_type, body)
        for rule in request_type.rules:
            if wrong and not wrong.isdisjoint(rule.reads):
                continue
            for problem in rule.problems(values):
                problems.setdefault(problem.field, problem)
    return (None if problems else request), list(problems.values())


def own_problems(
    request_type: type[MediaRequest], body: Mapping[str, object]
) -> list[Problem]:
    """Find the problems of single fields, regardless of the others.

    Args:
        request_type: The declaration.
        body: The body to send.
    """
    return _validated(request_type, body)[1]


def _validated(
    request_type: type[MediaRequest], body: Mapping[str, object]
) -> tuple[MediaRequest | None, list[Problem]]:
    if not request_type.__pydantic_complete__:
        with _BUILDING:
            request_type.model_rebuild()
    try:
        request = request_type.model_validate(dict(body))
    except ValidationError as error:
        known, further = fields_of(request_type), further_of(request_type)
        whole = FieldSpec("", "object", fields=known, further=further)
        found = error.errors(include_url=False, include_context=False)
        return None, [_problem(details, whole) for details in found]
    if None in body.values():
        # Null counts as omitted where the field has a default.
        known = fields_of(request_type)
        given = {n: v for n, v in body.items() if not is_left_out(known, n, v)}
        request = request_type.model_validate(given)
    return request, []


def _problem(details: ErrorDetails, whole: FieldSpec) -> Problem:
    """Convert an error of pydantic to a problem of its field."""
    label, spec, rest = _walk(whole, details["loc"])
    got = details["input"]
    match details["type"]:
        case "extra_forbidden":
            return _unknown(label, str(rest[0]), got, spec)
        case "union_tag_not_found" if spec.tag is not None:
            accepted = any_of(spec.variants)
            return _required(_joined(label, spec.tag), accepted)
        case "union_tag_invalid" if spec.tag is not None:
            tag = got.get(spec.tag) if isinstance(got, dict) else got
            accepted = any_of(spec.variants)
            return Problem(_joined(label, spec.tag), _or_null(tag), accepted)
        case "missing":
            return _required(label, spec.accepted)
        case _:
            return Problem(label, _or_null(got), spec.accepted)


def _walk(
    spec: FieldSpec, location: Iterable[int | str]
) -> tuple[str, FieldSpec, list[int | str]]:
    """Follow a location as far as the known fields.

    Returns:
        The name of the place, such as "tracks[0].keyframes[2].url", its spec, and
        the rest of the location: an unknown property, or a member of a union.
    """
    label, rest = "", list(location)
    while rest:
        step = rest[0]
        if isinstance(step, int):
            if spec.item is None:
                break
            label, spec = f"{label}[{step}]", spec.item
        elif step in spec.variants:
            if spec.kind == "either" and (len(rest) == 1 or step == "value"):
                break  # no variant accepts it
            spec = spec.variants[step]
        elif step in spec.fields:
            label, spec = _joined(label, step), spec.fields[step]
        elif spec.further is not None and spec.kind == "object":
            label, spec = _joined(label, step), spec.further
        else:
            break
        rest.pop(0)
    return label, spec, rest


def _joined(label: str, name: str | None) -> str:
    return f"{label}.{name}" if label else str(name)


def _unknown(label: str, name: str, got: Any, spec: FieldSpec) -> Problem:
    nearest = get_close_matches(name, spec.fields, n=3)
    known = f"known are {all_of(spec.fields)}" if spec.fields else "there is none"
    # In brackets, because a full stop follows where it is shown.
    hint = f" (did you mean {any_of(nearest)}?)" if nearest else f" ({known})"
    accepted = f"a known field{hint}"
    place = _joined(label, name)
    return Problem(place, _or_null(got), accepted, said=f"is not {accepted}")


def _required(label: str, accepted: str) -> Problem:
    return Problem(label, None, accepted, required="")


class _Null:
    """Marks a null in the body where null is refused."""

    def __repr__(self) -> str:
        return "null"


NULL = _Null()


def _or_null(value: object) -> object:
    return NULL if value is None else value
