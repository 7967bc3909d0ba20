"""Magics for IPython and notebooks: `%%generate`, `%jobs` and `%balance`."""

from __future__ import annotations

import json
import re
import shlex
from argparse import SUPPRESS, ArgumentParser, Namespace
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

from IPython.core.magic import Magics, line_cell_magic, line_magic, magics_class

from mediakit.blocking_client import Client
from mediakit.catalog import Catalog, Function
from mediakit.client.submissions import Take
from mediakit.completion import (
    Completions,
    choices_offer,
    functions_offer,
    offer_at,
    offer_in,
)
from mediakit.entry_points import connect
from mediakit.errors import InputError, MediakitError
from mediakit.job import Job
from mediakit.money import format_usd
from mediakit.schema import FieldSpec
from mediakit.widgets.job.text import estimate_text

if TYPE_CHECKING:
    import pandas as pd

USUAL_CLIENT = "client"
LATEST_JOBS = 10
MOST_JOBS = 500
JOBS_COLUMNS = ["created_at", "kind", "prompt", "state", "status"]


class StoppedError(MediakitError):
    """Waiting was interrupted; the job continues."""


@magics_class
class MediakitMagics(Magics):
    """Generate media from the text of a cell, and show jobs and balance.

    They use the variable `client` if it is a client, or else connect once, as
    `mediakit.connect()` does.
    """

    def __init__(self, shell: Any) -> None:
        super().__init__(shell)
        self._names: Mapping[str, object] = shell.user_ns
        self._own: Client | None = None

    @line_cell_magic
    def generate(self, line: str, cell: str | None = None) -> Job | None:
        """Generate media; the text of the cell is the prompt.

            %%generate text-to-video --duration 5 --resolution 1080p
            a paper kite over dunes, late afternoon light

        The options are the function's fields; `--help` lists them. The price is shown
        before anything is sent. The same cell finds the job that it submitted before;
        `--take next` submits another take. It waits for the result; Ctrl-C ends the
        waiting, not the job. With `--no-wait`, the cell ends at once and shows the job.
        `--client name` uses the client in that variable. A value in braces, such as
        `{path}`, is one of your variables.
        """
        name, options, words = read_line(line)
        client = self._client(options.client)
        function = client.catalog.function(name)
        if options.help:
            text = parser_of(function, own_parser()).format_help()
            print(text)  # noqa: T201 - it is the answer
            return None
        fields = fields_of(function, words, cell)
        price = client.estimate(function.path, **fields)
        text = f"{name}: {estimate_text(price)}"
        print(text)  # noqa: T201 - said before it is sent
        try:
            submit = partial(client.submit, function.path, take=options.take)
            job = submit(max_price=price, **fields)
            return job if options.no_wait else job.wait()
        except KeyboardInterrupt as stopped:
            text = str(stopped)
            raise StoppedError(f"{text[:1].upper()}{text[1:]}") from None

    @line_magic
    def jobs(self, line: str) -> pd.DataFrame:
        """Return the latest jobs as a frame, newest first; `%jobs 30` for more.

        It has the most useful columns; `client.history.frame()` has all of them.
        """
        wanted = line.strip() or str(LATEST_JOBS)
        if not wanted.isdecimal() or not 1 <= int(wanted) <= MOST_JOBS:
            accepted = f"followed by a number from 1 to {MOST_JOBS}"
            raise InputError("%jobs", got=wanted, accepted=accepted)
        entries = self._client().history.search("", limit=int(wanted))
        frame = entries[JOBS_COLUMNS].assign(
            created_at=entries["created_at"].dt.floor("s")
        )
        frame["charge_usd"] = entries["charge_micro_usd"].astype("Float64") / 1e6
        return frame.assign(job_id=entries["job_id"])

    @line_magic
    def balance(self, line: str) -> None:
        """Print the balance, and the part of it held for unsettled jobs."""
        if line.strip():
            accepted = "used without arguments"
            raise InputError("%balance", got=line.strip(), accepted=accepted)
        client = self._client()
        spendable = client.balance().spendable_micro_usd
        reserved = client.reserved_micro_usd()
        available = format_usd(max(0, spendable - reserved))
        text = f"Balance: {available} ({client.service.label})"
        if reserved:
            text += f". {format_usd(reserved)} more is held until jobs are settled"
        print(f"{text}.")  # noqa: T201 - it is the answer

    def _client(self, name: str | None = None) -> Client:
        client = self._names.get(name or USUAL_CLIENT)
        if isinstance(client, Client):
            return client
        if name is not None:
            accepted = "a variable that holds a client of mediakit.connect()"
            raise InputError("--client", got=name, accepted=accepted)
        if self._own is None:
            self._own = connect()
        return self._own

    def offer(self, code: str, names: Mapping[str, object]) -> Completions | None:
        """Return the Tab completions in the line of `%%generate`."""
        variable = names.get(USUAL_CLIENT)
        client = variable if isinstance(variable, Client) else self._own
        catalog = Catalog.default() if client is None else client.catalog
        return line_offer(code, catalog, names)


def load(shell: Any) -> None:
    """Register the magics and their completions with an IPython shell."""
    magics = MediakitMagics(shell)
    shell.register_magics(magics)
    offer_in(shell, offer_at)
    offer_in(shell, magics.offer, name="mediakit-magics")


# -- the line of %%generate: a function, its fields as options, and a few more --------


TRUTH = {"true": True, "yes": True, "on": True}
TRUTH |= {"false": False, "no": False, "off": False}
TAKES = 'a whole number from 1, or "next"'
OWN = ("--take", "--client", "--no-wait", "--help")
_NAME = re.compile(r"--[\w-]+")


def read_line(line: str) -> tuple[str, Namespace, list[str]]:
    """Split a line into the function, the magic's own options, and other words."""
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
    """Parse the fields of a request by the function's declaration.

    Invalid values stay strings, and unknown fields are kept, for the check to reject.
    """
    parser = parser_of(function)
    written = dict.fromkeys(match[0] for w in words if (match := _NAME.match(w)))
    names = (*function.fields, *(f"no_{name}" for name in function.fields))
    for option in written.keys() - {*map(option_of, names)}:
        parser.add_argument(option, nargs="?", const=True, type=_json)
    fields = vars(parser.parse_args(list(words)))
    for name, spec in function.fields.items():
        if name in fields and spec.kind == "list" and spec.item is not None:
            fields[name] = _list(spec.item, fields[name])
    return fields | _prompt(function, (cell or "").strip(), fields)


def _list(item: FieldSpec, texts: list[str]) -> list[object]:
    """Parse a list: one JSON list, or the option once per item."""
    whole = _json(texts[0]) if len(texts) == 1 else None
    return whole if isinstance(whole, list) else [*map(_reader(item), texts)]


def _prompt(
    function: Function, prompt: str, fields: dict[str, object]
) -> dict[str, Any]:
    name = prompt_name(function)
    if not prompt:
        return {}
    if name is None:
        accepted = f"used with an empty cell, because {function.kind} takes no prompt"
        raise InputError("%%generate", got=prompt, accepted=accepted)
    if name in fields:
        accepted = "the text of the cell or the option, not both"
        raise InputError(option_of(name), got=fields[name], accepted=accepted)
    return {name: prompt}


def prompt_name(function: Function) -> str | None:
    """Return the field for the cell's text, or None if there is none."""
    written = (s.name for s in function.fields.values() if s.multiline)
    return next(written, None)


def option_of(name: str) -> str:
    """Return a field's option: "--aspect-ratio"."""
    return f"--{name.replace('_', '-')}"


class _Parser(ArgumentParser):
    def __init__(self, **options: Any) -> None:
        super().__init__(add_help=False, allow_abbrev=False, **options)

    def error(self, message: str) -> NoReturn:
        raise _refused(message.removeprefix("argument "), None)


def own_parser() -> ArgumentParser:
    """Return the parser of the options common to all functions."""
    parser = _Parser()
    add = parser.add_argument
    again = "the number of the take, from 1, or next for another one"
    add("--take", type=_take, default=1, help=again)
    variable = "use the client in this variable"
    add("--client", metavar="NAME", help=variable)
    at_once = "return at once; the job appears later"
    add("--no-wait", action="store_true", help=at_once)
    add("--help", action="store_true", help="show this, and send nothing")
    return parser


def parser_of(function: Function, *parents: ArgumentParser) -> ArgumentParser:
    """Return the parser of a function's fields, with the options of `parents`."""
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
    settings: dict[str, Any] = {"nargs": "?", "const": True}
    if spec.kind == "boolean":
        opposite = f"--no-{option[2:]}"
        parser.add_argument(
            opposite, dest=spec.name, action="store_false", help=SUPPRESS
        )
    else:
        settings = {"metavar": spec.name.upper()}
    parser.add_argument(
        option,
        dest=spec.name,
        action="append" if is_list else "store",
        type=str if is_list else _reader(spec),
        help=f"{spec.doc} ({needed}{spec.accepted}{default})".replace("%", "%%"),
        **settings,
    )


def _refused(reason: str, value: str | None) -> InputError:
    accepted = f'options such as --duration 5 or --resolution "720p"; {reason}'
    return InputError("%%generate", got=value, accepted=accepted)


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
    """Return a function that parses a field's value, or leaves it as a string."""

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


# -- Tab completion in that line ------------------------------------------------------


_GENERATE = re.compile(r"\A\s*%%?generate[ \t]+([^\n]*)\Z")
_WORD = re.compile(r"\S*\Z")


def line_offer(
    code: str, catalog: Catalog, names: Mapping[str, object]
) -> Completions | None:
    """Return the Tab completions at the end of a magic's line; None elsewhere."""
    line = _GENERATE.match(code)
    if line is None:
        return None
    typed = _WORD.search(line[1])
    word = typed[0] if typed else ""
    words = line[1].removesuffix(word).split()
    if not words:
        return functions_offer(word, catalog)
    try:
        function = catalog.function(words[0])
    except InputError:
        return None
    if word.startswith("--") and "=" in word:
        option, _, value = word.partition("=")
        return _values_offer(function, option, value, names)
    if words[-1].startswith("--"):
        offer = _values_offer(function, words[-1], word, names)
        if offer is not None:
            return offer
    return _options_offer(function, word, words)


def _options_offer(function: Function, typed: str, words: list[str]) -> Completions:
    prompt = prompt_name(function)
    fields = [spec for spec in function.fields.values() if spec.name != prompt]
    names = [option_of(spec.name) for spec in fields]
    repeated = {option_of(spec.name) for spec in fields if spec.kind == "list"}
    rest = (e for e in (*names, *OWN) if e in repeated or e not in words)
    return Completions.of(typed, rest, "option")


def _values_offer(
    function: Function, option: str, typed: str, names: Mapping[str, object]
) -> Completions | None:
    name = option.removeprefix("--").replace("-", "_")
    if name == "take":
        return Completions.of(typed, ("next",), "choice")
    if name == "client":
        clients = (each for each, value in names.items() if hasattr(value, "catalog"))
        return Completions.of(typed, clients, "client")
    spec = function.fields.get(name)
    if spec is None:
        return None
    if spec.kind == "boolean":
        return Completions.of(typed, ("true", "false"), "choice")
    whole = choices_offer(typed, spec)
    numbers = (str(each) for each in spec.choices if not isinstance(each, str))
    number_offer = Completions.of(typed, numbers, "choice")
    texts = (*whole.texts, *number_offer.texts)
    return Completions(typed, texts, "choice") if texts else None
