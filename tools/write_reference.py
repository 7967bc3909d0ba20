"""Write docs/reference.md from the declarations of the functions."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from operator import itemgetter
from pathlib import Path

from mediakit.catalog import Catalog, Function
from mediakit.catalog.examples import FILES as EXAMPLE_FILES
from mediakit.catalog.examples import SITE, example, variations
from mediakit.errors import InputError
from mediakit.estimates import Estimate, Line
from mediakit.schema import FieldSpec, InputFacts

PAGE = Path(__file__).parents[1] / "docs" / "reference.md"
EXAMPLE_S = 5
WIDTH = 72
FACTS = InputFacts(
    seconds={f"{SITE}/{name}": EXAMPLE_S for name in EXAMPLE_FILES.values()}
)
INTRODUCTION = f"""# Reference

All functions, generated from their declarations by `make docs`. Names in `code` are
literal. Paths are the sandbox's; a hosted service has its own, bound in
`mediakit.toml`. Prices are estimates for the example, and for the example with one
changed field; clips and sounds in them last {EXAMPLE_S} s. A note such as (spec 4.9)
names the section of the service's interface specification that a rule comes from.
"""


def reference_page(catalog: Catalog) -> str:
    """Return the reference of a catalog as Markdown.

    Args:
        catalog: The functions.

    Returns:
        The page: for each function its fields, the limits of its files, its rules, a
        call, and the price of that.
    """
    counted = Counter(function.kind for function in catalog)
    names = {f.path: f.kind if counted[f.kind] == 1 else f.path for f in catalog}
    named = sorted(((names[f.path], f) for f in catalog), key=itemgetter(0))
    overview = _table(
        ("function", "makes", ""),
        (
            (f"[{_text(name)}](#{_anchor(name)})", f.media_type, _text(f.doc))
            for name, f in named
        ),
    )
    sections = (_section(name, function) for name, function in named)
    return "\n".join([INTRODUCTION, *overview, "", *sections]).rstrip() + "\n"


def _anchor(name: str) -> str:
    return "".join(c for c in name.lower() if c.isalnum() or c in "-_")


def _section(name: str, function: Function) -> str:
    return "\n".join(
        [
            f"## {_text(name)}",
            "",
            *_about(function),
            "",
            *_fields(function.fields),
            *_further(function),
            *_files(function),
            *_rules(function),
            *_prices(name, function),
        ]
    )


def _about(function: Function) -> Iterator[str]:
    if function.doc:
        yield f"{_text(function.doc)}\n"
    where = f"Path {_code(function.path)}, makes {_MADE[function.media_type]}"
    yield f"{where} (spec {function.spec})." if function.spec else f"{where}."


_MADE = {"video": "a video", "image": "a picture", "audio": "a sound"}


def _fields(fields: Mapping[str, FieldSpec], within: str = "") -> Iterator[str]:
    if not fields:
        return
    yield from _table(
        ("field", "accepted", "required", "default", ""),
        (_row(spec) for spec in fields.values()),
    )
    yield ""
    for name, spec in fields.items():
        yield from _inside(spec, f"{within}.{name}" if within else name)


def _row(spec: FieldSpec) -> tuple[str, ...]:
    return (
        _code(spec.name),
        _text(spec.accepted),
        "yes" if spec.required else "",
        "" if spec.default is None else _code(json.dumps(spec.default)),
        _text(spec.doc),
    )


def _inside(spec: FieldSpec, label: str) -> Iterator[str]:
    """Yield the fields of objects inside a field, at any depth."""
    if spec.item is not None:
        yield from _inside(spec.item, f"{label}[]")
    if spec.fields:
        yield f"Each {_code(label)}:" if label.endswith("]") else f"{_code(label)}:"
        yield ""
        yield from _fields(spec.fields, label)
    if spec.kind == "either":
        for option in spec.variants.values():
            yield from _inside(option, label)
        return
    for value, variant in spec.variants.items():
        yield f"{_code(label)} with {_code(f'{spec.tag} = {value}')}:"
        yield ""
        yield from _fields(variant.fields, label)


def _further(function: Function) -> Iterator[str]:
    if function.is_open:
        yield "Any further field is sent unchanged.\n"


def _files(function: Function) -> Iterator[str]:
    for name, limits in function.media_limits(example(function)).items():
        yield f"Files in {_code(name)}: {_text(limits.words)}.\n"


def _rules(function: Function) -> Iterator[str]:
    if function.rules:
        yield from (f"- {_text(rule.sentence)}." for rule in function.rules)
        yield ""


def _prices(name: str, function: Function) -> Iterator[str]:
    body = example(function)
    first = _estimate(function, body)
    unknown = first is None or first.low is None
    price = "" if first is None or unknown else f"  # {first.text}"
    yield f"```python\n{_call(name, body)}{price}\n```\n"
    if first is None or unknown:
        yield "The price is unknown; you can set a rate in `mediakit.toml`.\n"
        return
    yield from _table(("", "price", "made of"), _price_rows(function, body, first))
    yield ""
    if first.notes:
        yield f"{' '.join(map(_text, first.notes))}\n"


def _price_rows(
    function: Function, body: dict[str, object], first: Estimate
) -> Iterator[tuple[str, ...]]:
    yield _price_row("the example", first)
    for words, changed in variations(function, body):
        estimate = _estimate(function, changed)
        if estimate is not None and estimate.lines != first.lines:
            yield _price_row(_code(words), estimate)


def _price_row(words: str, estimate: Estimate) -> tuple[str, ...]:
    made_of = "; ".join(map(_line, estimate.lines))
    return words, _text(str(estimate)), _text(made_of)


def _line(line: Line) -> str:
    return f"{line.what}: {line.quantity_text} at {line.rate_text}"


def _estimate(function: Function, body: Mapping[str, object]) -> Estimate | None:
    try:
        return function.estimate(body, FACTS)
    except InputError:
        return None


def _call(name: str, body: Mapping[str, object]) -> str:
    plain = {key: value for key, value in body.items() if key.isidentifier()}
    others = {key: value for key, value in body.items() if key not in plain}
    arguments = [_python(name, 1)]
    arguments += [f"{key}={_python(value, 1)}" for key, value in plain.items()]
    if others:
        arguments.append(f"**{_python(others, 1)}")
    return _fitted("client.submit(", arguments, ")", 0)


def _python(value: object, depth: int) -> str:
    """Return a JSON value as Python, on several lines if one is too long."""
    if isinstance(value, dict):
        items = [f"{json.dumps(k)}: {_python(v, depth + 1)}" for k, v in value.items()]
        return _fitted("{", items, "}", depth)
    if isinstance(value, list):
        items = [_python(item, depth + 1) for item in value]
        return _fitted("[", items, "]", depth)
    return json.dumps(value) if isinstance(value, str) else repr(value)


def _fitted(start: str, parts: list[str], end: str, depth: int) -> str:
    line = f"{start}{', '.join(parts)}{end}"
    if len(line) + 4 * depth <= WIDTH and "\n" not in line:
        return line
    inner = "".join(f"{' ' * 4 * (depth + 1)}{part},\n" for part in parts)
    return f"{start}\n{inner}{' ' * 4 * depth}{end}"


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"


def _text(text: str) -> str:
    """Escape a text from outside for one line of a table."""
    marks = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "|": "\\|", "[": "\\[", "]": "\\]"}
    return "".join(marks.get(c, c) for c in " ".join(text.split()))


def _code(text: str) -> str:
    # A backtick would end it; a bar would end the table's cell even inside code.
    plain = " ".join(text.split()).replace("`", "'").replace("|", "\\|")
    return f"`{plain}`" if plain else ""


def main() -> None:
    """Write the page."""
    PAGE.write_text(reference_page(Catalog.default()), "utf-8")


if __name__ == "__main__":
    main()
