"""The line of `%%generate`: a function, its fields as options, and a few more; pure."""

from __future__ import annotations

import json
import re
import shlex
from argparse import SUPPRESS, ArgumentParser, Namespace
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from mediakit.catalog import Function
from mediakit.client.submissions import Take
from mediakit.errors import InputError
from mediakit.schema import FieldSpec

TRUTH = {"true": True, "yes": True, "on": True}
TRUTH |= {"false": False, "no": False, "off": False}
TAKES = 'a whole number from 1, or "next"'
OWN = ("--take", "--client", "--no-wait", "--help")
_NAME = re.compile(r"--[\w-]+")


def read_line(line: str) -> tuple[str, Namespace, list[str]]:
    """Return the function of a line, the magic's own options, and all other words."""
    try:
        words = shlex.split(line)
    except ValueError as error:
        raise _refused(str(error).lower(), line) from None
    if not words or words[0].startswith("-"):
        accepted = 'a function first, such as "text-to-video --duration 5"'
        raise InputError("function", got=line or None, accepted=accepted)
    # An option of two words can be written with either dash.
    dashed = [_NAME.sub(lambda name: name[0].replace("_", "-"), w, 1) for w in words]
    words = [d if w.startswith("--") else w for d, w in zip(dashed, words, strict=True)]
    own, others = own_parser().parse_known_args(words[1:])
    return words[0], own, others


def fields_of(
    function: Function, words: Sequence[str], cell: str | None
) -> dict[str, Any]:
    """Return the fields of a request, read by the function's declaration.

    What is no value of its field stays the text that it is, and what is no field
    stays too, for the check to refuse it with its own words.
    """
    parser = parser_of(function)
    written = dict.fromkeys(found[0] for w in words if (found := _NAME.match(w)))
    names = (*function.fields, *(f"no_{name}" for name in function.fields))
    for option in written.keys() - {*map(option_of, names)}:
        parser.add_argument(option, nargs="?", const=True, type=_json)
    fields = vars(parser.parse_args(list(words)))
    for name, spec in function.fields.items():
        if name in fields and spec.kind == "list" and spec.item is not None:
            fields[name] = _list(spec.item, fields[name])
    return fields | _prompt(function, (cell or "").strip(), fields)


def _list(item: FieldSpec, texts: list[str]) -> list[object]:
    """Read a list: one JSON list, or the option once for each item."""
    whole = _json(texts[0]) if len(texts) == 1 else None
    return whole if isinstance(whole, list) else [*map(_reader(item), texts)]


def _prompt(
    function: Function, prompt: str, fields: dict[str, object]
) -> dict[str, Any]:
    name = prompt_name(function)
    if not prompt:
        return {}
    if name is None:
        accepted = f"an empty cell: {function.kind} takes no prompt"
        raise InputError("%%generate", got=prompt, accepted=accepted)
    if name in fields:
        accepted = "the text of the cell or the option, not both"
        raise InputError(option_of(name), got=fields[name], accepted=accepted)
    return {name: prompt}


def prompt_name(function: Function) -> str | None:
    """Return the field that the cell's text is for; None when there is none."""
    written = (s.name for s in function.fields.values() if s.multiline)
    return next(written, None)


def option_of(name: str) -> str:
    """Write a field as an option: "--aspect-ratio"."""
    return f"--{name.replace('_', '-')}"


# -- parsers --------------------------------------------------------------------------


class _Parser(ArgumentParser):
    def __init__(self, **more: Any) -> None:
        super().__init__(add_help=False, allow_abbrev=False, **more)

    def error(self, message: str) -> NoReturn:
        raise _refused(message.removeprefix("argument "), None)


def own_parser() -> ArgumentParser:
    """Return the parser of the options that every function has."""
    parser = _Parser()
    add = parser.add_argument
    again = "the draw of this request: a whole number from 1, or next for another one"
    add("--take", type=_take, default=1, help=again)
    variable = "use the client in this variable"
    add("--client", metavar="NAME", help=variable)
    at_once = "return at once; the job appears later"
    add("--no-wait", action="store_true", help=at_once)
    add("--help", action="store_true", help="show this, and send nothing")
    return parser


def parser_of(function: Function, *parents: ArgumentParser) -> ArgumentParser:
    """Return the parser of a function's fields; `parents` give their options too."""
    prompt = prompt_name(function)
    cell = f"The text of the cell is its {prompt}." if prompt else "It takes no prompt."
    parser = _Parser(
        prog=function.kind,
        usage=f"%%%%generate {function.kind} [options]",
        description=f"{function.doc} {cell}",
        argument_default=SUPPRESS,
        parents=parents,
    )
    for spec in function.fields.values():
        _add(parser, spec)
    return parser


def _add(parser: ArgumentParser, spec: FieldSpec) -> None:
    option, is_list = option_of(spec.name), spec.kind == "list" and spec.item
    default = "" if spec.default is None else f", {json.dumps(spec.default)} if omitted"
    needed = "required; " if spec.required else ""
    more: dict[str, Any] = {"nargs": "?", "const": True}
    if spec.kind == "boolean":
        opposite = f"--no-{option[2:]}"
        parser.add_argument(
            opposite, dest=spec.name, action="store_false", help=SUPPRESS
        )
    else:
        more = {"metavar": spec.name.upper()}
    parser.add_argument(
        option,
        dest=spec.name,
        action="append" if is_list else "store",
        type=str if is_list else _reader(spec),
        help=f"{spec.doc} ({needed}{spec.accepted}{default})".replace("%", "%%"),
        **more,
    )


def _refused(reason: str, got: str | None) -> InputError:
    accepted = f'options such as --duration 5 or --resolution "720p"; {reason}'
    return InputError("%%generate", got=got, accepted=accepted)


def _take(text: str) -> Take:
    if text == "next":
        return "next"
    if text.isdecimal() and int(text) >= 1:
        return int(text)
    raise InputError("--take", got=text, accepted=TAKES)


def _json(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _reader(spec: FieldSpec) -> Callable[[str], object]:
    """Return what makes a value of a field from a text, or leaves it a text."""

    def read(text: str) -> object:
        try:
            match spec.kind:
                case "choice":
                    return {str(each): each for each in spec.choices}[text]
                case "integer":
                    return int(text)
                case "number":
                    return float(text)
                case "boolean":
                    return TRUTH[text.lower()]
                case "text" | "media":
                    return text
        except (KeyError, ValueError):
            return text
        return _json(text)

    return read
