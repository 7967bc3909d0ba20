"""Model functions as attributes of a client, such as `client.text_to_video(...)`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import wraps
from inspect import Parameter, Signature, cleandoc
from keyword import iskeyword
from typing import Any, Literal

from mediakit.catalog import Catalog, Function
from mediakit.rules import any_of
from mediakit.schema import FieldSpec

VERBS = ("submit", "run", "estimate", "form")
"""The methods of a client that take a function and its fields."""
NO_FUNCTIONS = "none, because mediakit.toml binds no function of this service"
_PLAIN_TYPES: dict[str, Any] = {
    "boolean": bool,
    "integer": int,
    "number": float,
    "text": str,
    "list": list,
    "object": dict,
    "variants": dict,
}


_ARGS = re.compile(r"^Args:\n((?: +.*\n?)+)", re.MULTILINE)
_ARGUMENT = re.compile(r"^ {4}(\w+): (.*\n?(?: {5,}.*\n?)*)", re.MULTILINE)


class Functions:
    """The functions of a client, for tab completion.

    `client.functions.text_to_video.submit(prompt="a kite")` is the same call as
    `client.submit("text-to-video", prompt="a kite")`; editors show its arguments and
    their meaning. A kind that several functions share is no attribute.
    """

    def __init__(self, client: object, catalog: Catalog) -> None:
        kinds = [function.kind for function in catalog]
        self._client = client
        self._by_name = {
            name_of(function.kind): function
            for function in catalog
            if kinds.count(function.kind) == 1
        }

    def __getattr__(self, name: str) -> BoundFunction:
        known = vars(self).get("_by_name", {})
        if name not in known:
            accepted = any_of(sorted(known)) if known else NO_FUNCTIONS
            raise AttributeError(f"no function {name!r}; accepted: {accepted}")
        return BoundFunction(self._client, known[name])

    def __dir__(self) -> list[str]:
        return sorted(self._by_name)

    def __repr__(self) -> str:
        return f"<functions: {', '.join(sorted(self._by_name))}>"


class BoundFunction:
    """A function of a client; the request's fields are its arguments."""

    def __init__(self, client: object, function: Function) -> None:
        self.function = function
        self.__doc__ = doc_of(function)
        for verb in VERBS:
            method = getattr(client, verb, None)
            if method is not None:
                setattr(self, verb, _bound(method, function))

    # __init__ sets the methods that the client has.
    submit: Callable[..., Any]
    run: Callable[..., Any]
    estimate: Callable[..., Any]
    form: Callable[..., Any]

    def __repr__(self) -> str:
        return f"<{self.function.kind}: {self.function.doc}>"


def name_of(kind: str) -> str:
    """Return a kind as a Python name: "text_to_video"."""
    return kind.replace("-", "_")


def doc_of(function: Function) -> str:
    """Return a docstring: what a function does and what each field means."""
    fields = "".join(
        f"\n    {name}: {_sentence(spec)}" for name, spec in function.fields.items()
    )
    return f"{function.doc}\n\nArgs:{fields}" if fields else function.doc


def _sentence(spec: FieldSpec) -> str:
    return " ".join(filter(None, (spec.doc, f"Accepted: {spec.accepted}.")))


def _bound(method: Callable[..., Any], function: Function) -> Callable[..., Any]:
    @wraps(method)
    def call(**fields: Any) -> Any:
        return method(function.path, **fields)

    own = Signature.from_callable(method)
    parameters = list(_parameters(own, function))
    call.__signature__ = own.replace(  # type: ignore[attr-defined]
        parameters=parameters
    )
    meanings = {name: _sentence(spec) for name, spec in function.fields.items()}
    names = [parameter.name for parameter in parameters]
    about = _with_arguments(method.__doc__, names, meanings)
    call.__doc__ = f"{function.doc}\n\n{about}"
    return call


def _parameters(own: Signature, function: Function) -> Iterator[Parameter]:
    """Yield the function's fields, required ones first, then the call's own.

    A field whose name Python does not accept, such as `class`, is passed in `**fields`.
    """
    specs = function.fields.values()
    named = [spec for spec in specs if _is_name(spec.name)]
    fields = sorted(named, key=lambda spec: not spec.required)
    is_open = function.is_open or len(named) < len(specs)
    for spec in fields:
        default = Parameter.empty if spec.required else spec.default
        yield Parameter(
            spec.name,
            Parameter.KEYWORD_ONLY,
            default=default,
            annotation=_annotation(spec),
        )
    for parameter in own.parameters.values():
        if parameter.kind is Parameter.KEYWORD_ONLY:
            if parameter.name not in function.fields:
                yield parameter
        elif parameter.kind is Parameter.VAR_KEYWORD and is_open:
            yield parameter


def _is_name(name: str) -> bool:
    return name.isidentifier() and not iskeyword(name)


def _annotation(spec: FieldSpec) -> Any:
    if spec.media_kind:
        return f"{spec.media_kind}: path, URL or object"
    if spec.kind == "choice":
        kind: Any = Literal[spec.choices]
    else:
        kind = _PLAIN_TYPES.get(spec.kind, Any)
    return kind if spec.to_fill_in or spec.default is not None else kind | None


def _with_arguments(
    doc: str | None, names: Iterable[str], meanings: Mapping[str, str]
) -> str:
    """Return a docstring for these arguments in place of its own."""
    text = cleandoc(doc or "")
    args = _ARGS.search(text)
    known = dict(_ARGUMENT.findall(args[1])) if args else {}
    known = {name: meaning.rstrip() for name, meaning in known.items()}
    texts = known | dict(meanings)
    lines = "\n".join(f"    {name}: {texts[name]}" for name in names if name in texts)
    section = f"Args:\n{lines}\n" if lines else ""
    if args is None:
        return f"{text}\n\n{section}".strip()
    return f"{text[: args.start()]}{section}{text[args.end() :]}".strip()
