"""Model functions as attributes of a client, such as `client.text_to_video(...)`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
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


class Functions:
    """The functions of a client, for tab completion.

    `client.functions.text_to_video.submit(prompt="a kite")` is the same call as
    `client.submit("text-to-video", prompt="a kite")`; editors show its arguments and
    their meaning. A kind that several functions share is not an attribute.
    """

    def __init__(self, client: object, catalog: Catalog) -> None:
        kinds = [function.kind for function in catalog]
        self._client = client
        self._by_name = {
            function.kind.replace("-", "_"): function
            for function in catalog
            if kinds.count(function.kind) == 1
        }

    def __getattr__(self, name: str) -> BoundFunction:
        functions = vars(self).get("_by_name", {})
        if name not in functions:
            accepted = any_of(sorted(functions)) if functions else NO_FUNCTIONS
            raise AttributeError(f"no function {name!r}; accepted: {accepted}")
        return BoundFunction(self._client, functions[name])

    def __dir__(self) -> list[str]:
        return sorted(self._by_name)

    def __repr__(self) -> str:
        return f"<functions: {', '.join(sorted(self._by_name))}>"


class BoundFunction:
    """A function of a client, with the request's fields as its arguments."""

    def __init__(self, client: object, function: Function) -> None:
        self.function = function
        self.__doc__ = f"{function.doc}\n\nArgs:\n{_fields_text(function)}"
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


def _fields_text(function: Function) -> str:
    """Return the section of a docstring that explains the fields."""
    return "".join(
        f"    {name}: {f'{spec.doc} '.lstrip()}Accepted: {spec.accepted}.\n"
        for name, spec in function.fields.items()
    )


def _bound(method: Callable[..., Any], function: Function) -> Callable[..., Any]:
    @wraps(method)
    def call(**fields: Any) -> Any:
        return method(function.path, **fields)

    own = Signature.from_callable(method)
    parameters = list(_parameters(own, function))
    vars(call)["__signature__"] = own.replace(parameters=parameters)
    about = cleandoc(method.__doc__ or "")
    names = {parameter.name for parameter in parameters} - function.fields.keys()
    for name in own.parameters.keys() - names:
        about = re.sub(rf"^    {name}: .*\n(?: {{5,}}.*\n)*", "", about, flags=re.M)
    about = about.replace("Args:\n", f"Args:\n{_fields_text(function)}", 1)
    call.__doc__ = f"{function.doc}\n\n{about}"
    return call


def _parameters(own: Signature, function: Function) -> Iterator[Parameter]:
    """Yield the function's fields, required ones first, then the call's own.

    A field whose name is a keyword, such as `class`, is passed in `**fields`.
    """
    specs = function.fields.values()
    named = [s for s in specs if s.name.isidentifier() and not iskeyword(s.name)]
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


def _annotation(spec: FieldSpec) -> Any:
    if spec.media_kind:
        return f"{spec.media_kind}: path, URL or object"
    if spec.kind == "choice":
        kind: Any = Literal[spec.choices]
    else:
        kind = _PLAIN_TYPES.get(spec.kind, Any)
    return kind if spec.to_fill_in or spec.default is not None else kind | None
