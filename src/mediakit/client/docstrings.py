"""Copies the docstrings of asynchronous methods to the blocking ones."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from inspect import cleandoc
from typing import Any, TypeVar

MethodT = TypeVar("MethodT", bound=Callable[..., Any])

_ARGS = re.compile(r"^Args:\n((?: +.*\n?)+)", re.MULTILINE)
_ARGUMENT = re.compile(r"^ {4}(\w+): (.*\n?(?: {5,}.*\n?)*)", re.MULTILINE)


def explained_by(source: Callable[..., Any]) -> Callable[[MethodT], MethodT]:
    """Give a blocking method the docstring of the asynchronous one.

    Its own first line stays; all that follows the source's first line is added, so
    that `help()` and Shift-Tab explain each argument.

    Args:
        source: The asynchronous method.
    """
    rest = cleandoc(source.__doc__ or "").partition("\n\n")[2]

    def with_docstring(method: MethodT) -> MethodT:
        method.__doc__ = f"{cleandoc(method.__doc__ or '')}\n\n{rest}".strip()
        return method

    return with_docstring


def with_arguments(
    doc: str | None, names: Iterable[str], meanings: Mapping[str, str]
) -> str:
    """Return a docstring for other arguments; the rest of it stays.

    Args:
        doc: The docstring.
        names: The arguments, in order.
        meanings: Their descriptions; the docstring has those that are missing here.
    """
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
