"""Example bodies of functions, derived from fields and rules."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from mediakit.catalog.function import Function
from mediakit.schema import FieldSpec, problems_in

PROMPT = "a kite over dunes"
SITE = "https://example.com"
FILES = {"image": "cat.png", "video": "walk.mp4", "audio": "waves.mp3"}
ATTEMPTS = 5
FEW = 3
USUAL_LENGTH = {"s": 5, "ms": 5_000}

Body = dict[str, Any]


def example(function: Function) -> Body:
    """Make a short valid body with the fields that are required."""
    function = next(iter(function.variants.values()), function)
    fields = function.fields
    body = {
        name: value_for(spec)
        for name, spec in fields.items()
        if spec.required or (spec.multiline and name == "prompt")
    }
    for _ in range(ATTEMPTS):
        problems = function.check(body)
        for name in {problem.root for problem in problems} & fields.keys():
            _adjust(fields[name], body)
    return body


def _adjust(spec: FieldSpec, body: Body) -> None:
    """Fix a field with a problem: omit it, negate it, or set it."""
    if spec.kind == "boolean":
        body[spec.name] = not body.get(spec.name, spec.default)
    elif spec.name in body and not spec.required:
        del body[spec.name]
    else:
        body[spec.name] = value_for(spec)


def value_for(spec: FieldSpec) -> Any:
    """Return a value that a field accepts."""
    if spec.default is not None:
        return spec.default
    match spec.kind:
        case "choice":
            usual = USUAL_LENGTH.get(spec.unit or "")
            return usual if usual in spec.choices else spec.choices[0]
        case "integer":
            return int(_number(spec))
        case "number":
            return _number(spec)
        case "text":
            text = PROMPT if spec.multiline else "kite"
            return text[: spec.max_length].ljust(spec.min_length or 0, ".")
        case "boolean":
            return True
        case "media":
            return f"{SITE}/{FILES[str(spec.media_kind)]}"
        case "list":
            item = replace(spec.item or FieldSpec("", "json"), name="")
            return [value_for(item) for _ in range(spec.min_length or 1)]
        case "object":
            return {n: value_for(f) for n, f in spec.fields.items() if f.required}
        case "variants" | "either":
            return value_for(next(iter(spec.variants.values())))
        case _:
            return {}


def _number(spec: FieldSpec) -> float:
    usual = USUAL_LENGTH.get(spec.unit or "")
    low = spec.low if spec.low is not None else spec.above
    if usual is not None and low != 0 and not any(problems_in(spec, usual)):
        return usual
    if low is None:
        return spec.high if spec.high is not None and spec.high < 1 else 1
    return low if spec.low is not None else low + (spec.step or 1)


def variations(function: Function, body: Body) -> Iterator[tuple[str, Body]]:
    """Yield bodies that differ from an example in one field that affects the price."""
    priced = function.declared.priced_by
    for name, spec in function.fields.items():
        if priced is None or name in priced:
            for value, words in _others(spec, body.get(name, spec.default)):
                yield words, {**body, name: value}


def _others(spec: FieldSpec, now: object) -> Iterator[tuple[Any, str]]:
    for value in _values(spec, now):
        if value != now:
            yield value, f"{spec.name} = {_json(value)}"
    if spec.kind == "list" and spec.item is not None and spec.item.media_kind:
        one = value_for(spec.item)
        for count in sorted({1, spec.max_length or 1}):
            if [one] * count != now:
                yield [one] * count, f"{count} in {spec.name}"


def _values(spec: FieldSpec, now: object) -> list[Any]:
    if spec.kind == "boolean":
        return [not now]
    if spec.kind == "choice":
        numbers = [v for v in spec.choices if isinstance(v, int) and v > 0]
        if len(numbers) <= FEW:
            return list(spec.choices)
        return [*(v for v in spec.choices if v not in numbers), numbers[-1]]
    if spec.kind in ("integer", "number") and spec.high is not None:
        return [spec.high]
    return []


def _json(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
