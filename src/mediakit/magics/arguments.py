"""The line of `%%generate`: a function, its fields as options, and a few more; pure."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from mediakit.catalog import Function
from mediakit.client.submitting import Take
from mediakit.errors import InputError
from mediakit.schema import FieldSpec

OWN_VALUES = ("take", "client")
OWN_FLAGS = ("wait", "no-wait", "help")
TRUTHS = {
    **dict.fromkeys(("true", "yes", "on"), True),
    **dict.fromkeys(("false", "no", "off"), False),
}
WRITTEN = 'options such as --duration 5 or --resolution "720p"'


@dataclass(frozen=True)
class Line:
    """What stands in the line, before the function is known.

    Args:
        function: Its name.
        client: The variable of the client to use; None for the usual one.
        take: Which draw of this request.
        wait: Wait for the result.
        help: Only say which options there are.
        options: The function's fields in order, each with its text; None for none.
    """

    function: str
    client: str | None
    take: Take
    wait: bool
    help: bool
    options: tuple[tuple[str, str | None], ...]


def read_line(line: str) -> Line:
    """Take a line apart.

    Raises:
        InputError: It cannot be read, or names no function.
    """
    words = _words(line)
    if not words or words[0].startswith("--"):
        accepted = 'a function first, such as "text-to-video --duration 5"'
        raise InputError("function", got=line or None, accepted=accepted)
    options = list(_options(words[1:]))
    own: dict[str, str | None] = {}
    for name, text in options:
        if name in (*OWN_VALUES, *OWN_FLAGS):
            _refuse_twice(name, own)
            own[name] = text
    fields = tuple(option for option in options if option[0] not in own)
    return Line(
        function=words[0],
        client=_needed("client", own, "the name of a variable"),
        take=_take(_needed("take", own, 'a whole number from 1, or "next"')),
        wait="no-wait" not in own,
        help="help" in own,
        options=fields,
    )


def _words(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError as error:
        accepted = f"{WRITTEN} ({str(error).lower()})"
        raise InputError("%%generate", got=line, accepted=accepted) from None


def _options(words: list[str]) -> Iterator[tuple[str, str | None]]:
    """Pair each option with its value; an option that stands alone has none."""
    left = iter(words)
    word = next(left, None)
    while word is not None:
        if not word.startswith("--") or word == "--":
            raise InputError("%%generate", got=word, accepted=WRITTEN)
        name, equals, value = word.removeprefix("--").partition("=")
        word = next(left, None)
        if equals:
            yield name, value
        elif name in OWN_FLAGS or word is None or word.startswith("--"):
            yield name, None
        else:
            yield name, word
            word = next(left, None)


def _refuse_twice(name: str, given: dict[str, str | None]) -> None:
    if name in given:
        raise InputError(f"--{name}", got="given twice", accepted="once")


def _needed(name: str, own: dict[str, str | None], accepted: str) -> str | None:
    if name in own and not own[name]:
        raise InputError(f"--{name}", got=None, accepted=accepted)
    return own.get(name)


def _take(text: str | None) -> Take:
    if text is None:
        return 1
    if text == "next":
        return "next"
    if text.isdecimal() and int(text) >= 1:
        return int(text)
    raise InputError("--take", got=text, accepted='a whole number from 1, or "next"')


def fields_of(function: Function, line: Line, cell: str | None) -> dict[str, object]:
    """Return the fields of a request, read by the function's declaration.

    What is no value of its field stays the text that it is, for the check to refuse it
    with the field's own words. The text of the cell is the prompt.
    """
    texts: dict[str, list[str | None]] = {}
    for option, text in line.options:
        name, text = _field(function, option, text)
        texts.setdefault(name, []).append(text)
    fields = {name: _value(function, name, each) for name, each in texts.items()}
    prompt = (cell or "").strip()
    return fields | _prompt(function, prompt, fields) if prompt else fields


def _field(function: Function, option: str, text: str | None) -> tuple[str, str | None]:
    name = option.replace("-", "_")
    denied = name.removeprefix("no_")
    spec = function.fields.get(denied)
    is_denial = name != denied and spec is not None and spec.kind == "boolean"
    return (denied, "false") if text is None and is_denial else (name, text)


def _prompt(
    function: Function, prompt: str, fields: dict[str, object]
) -> dict[str, object]:
    name = prompt_name(function)
    if name is None:
        accepted = f"an empty cell: {function.kind} takes no prompt"
        raise InputError("%%generate", got=prompt, accepted=accepted)
    if name in fields:
        accepted = "the text of the cell or the option, not both"
        raise InputError(f"--{name}", got=fields[name], accepted=accepted)
    return {name: prompt}


def prompt_name(function: Function) -> str | None:
    """Return the field that the cell's text is for; None when there is none."""
    written = (s.name for s in function.fields.values() if s.multiline)
    return next(written, None)


def _value(function: Function, name: str, texts: list[str | None]) -> object:
    spec = function.fields.get(name)
    if spec is not None and spec.kind == "list" and spec.item is not None:
        return _list(spec.item, texts)
    if len(texts) > 1:
        raise InputError(f"--{name}", got=f"given {len(texts)} times", accepted="once")
    (text,) = texts
    if text is not None:
        return _json(text) if spec is None else _read(spec, text)
    if spec is not None and spec.kind != "boolean":
        raise InputError(f"--{name}", got=None, accepted=spec.accepted)
    return True


def _list(item: FieldSpec, texts: list[str | None]) -> list[object]:
    """Read a list: one JSON list, or the option once for each item."""
    given = [text or "" for text in texts]
    if len(given) == 1:
        whole = _json(given[0])
        if isinstance(whole, list):
            return whole
    return [_read(item, text) for text in given]


def _json(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _read(spec: FieldSpec, text: str) -> object:
    """Return the value that a text stands for; what stands for none as it is."""
    match spec.kind:
        case "text" | "media":
            return text
        case "choice":
            return next((each for each in spec.choices if str(each) == text), text)
        case "boolean":
            return TRUTHS.get(text.lower(), text)
        case "integer" | "number":
            with suppress(ValueError):
                return int(text) if spec.kind == "integer" else float(text)
            return text
    return _json(text)


def help_text(function: Function) -> str:
    """Write which options a function has, one a line, with what they accept."""
    name = prompt_name(function)
    cell = f"The text of the cell is its {name}." if name else "It takes no prompt."
    rows = [
        (option_of(spec), f"{spec.doc} {_accepted(spec)}")
        for spec in function.fields.values()
        if spec.name != name
    ]
    rows += [
        ("--take next", "Submit another take of the same; or which one, from 1."),
        ("--no-wait", "Continue at once; the job shows itself when it is there."),
        ("--client name", "Use the client in this variable."),
    ]
    width = max(len(option) for option, _ in rows) + 2
    lines = (f"  {option:{width}}{text}" for option, text in rows)
    return "\n".join([f"{function.kind}: {function.doc} {cell}", *lines])


def option_of(spec: FieldSpec) -> str:
    """Write a field as an option: "--aspect-ratio"."""
    return f"--{spec.name.replace('_', '-')}"


def _accepted(spec: FieldSpec) -> str:
    default = "" if spec.default is None else f", {json.dumps(spec.default)} if omitted"
    return f"({'required; ' if spec.required else ''}{spec.accepted}{default})"
