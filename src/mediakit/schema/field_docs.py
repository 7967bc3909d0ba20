"""The docstrings of the fields of a class, read on first use.

Pydantic would read the source of every class on import, which takes a fifth of a
sandbox's start.
"""

import ast
import linecache
import sys
from collections.abc import Iterator
from functools import lru_cache
from inspect import cleandoc
from itertools import pairwise
from typing import NamedTuple


class Place(NamedTuple):
    """The place of a class: a line of a file or of a notebook cell."""

    file: str
    line: int


def place_in(module: str) -> Place | None:
    """Return the place of the class that this module creates; None if unknown."""
    frame = sys._getframe(1).f_back
    while frame is not None and frame.f_globals.get("__name__") != module:
        frame = frame.f_back
    return frame and Place(frame.f_code.co_filename, frame.f_lineno)


def docs_at(place: Place, name: str) -> dict[str, str]:
    """Return the docstrings of the fields of the class of this name, by field."""
    for node in _classes_in("".join(linecache.getlines(place.file))):
        if node.name == name and node.lineno <= place.line <= (node.end_lineno or 0):
            return dict(_docs(node))
    return {}


@lru_cache(maxsize=32)
def _classes_in(source: str) -> tuple[ast.ClassDef, ...]:
    """Return the classes in a text, which a module has several of."""
    try:
        tree = ast.parse(source)
    except SyntaxError:  # the file was changed since
        return ()
    return tuple(node for node in ast.walk(tree) if isinstance(node, ast.ClassDef))


def _docs(node: ast.ClassDef) -> Iterator[tuple[str, str]]:
    for field, below in pairwise(node.body):
        match field, below:
            case (
                ast.AnnAssign(target=ast.Name(id=name)),
                ast.Expr(value=ast.Constant(value=str(text))),
            ):
                yield name, cleandoc(text)
