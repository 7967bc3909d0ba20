"""Finds secrets in a program's texts, logs, errors, objects and files."""

from __future__ import annotations

import logging
import re
import traceback
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import quote, quote_plus

from IPython.lib.pretty import pretty

import mediakit

OURS = str(Path(mediakit.__file__).parent)
# Marks of a signed URL, for any signer.
SIGNED = re.compile(r"[?&](?:[\w-]*signature|sig|token)=[\w%+/=.-]{8,}", re.IGNORECASE)
DEPTH = 6
# Under these names a caller hands a secret in, and has it in his own frame as well.
HANDED_IN = {
    "api_key": ("connect", "AsyncClient", "Settings", "_refuse_half"),
    "given": ("Client.__init__",),
    "settings": ("Client.__init__",),
    "history": ("connect", "AsyncClient", "Settings"),
    "url": ("History.__init__",),
    "place": ("Database.__init__", "history_url"),
}


class Secrets:
    """The secrets, by the names to report.

    Args:
        named: The secrets.
    """

    def __init__(self, **named: str) -> None:
        self._forms: dict[str, str] = {}
        for name, secret in named.items():
            in_base64 = b64encode(secret.encode()).decode()
            # The last characters of base64 depend on what follows the secret.
            for form in (secret, quote(secret, safe=""), quote_plus(secret)):
                self._forms[form] = name
            self._forms[in_base64.rstrip("=")[:-1]] = f"{name} in base64"

    def found_in(self, text: str) -> set[str]:
        """Return the names of the secrets in a text."""
        found = {name for form, name in self._forms.items() if form in text}
        return found | ({"a signed URL"} if SIGNED.search(text) else set())

    def found(self, texts: Mapping[str, str]) -> dict[str, set[str]]:
        """Return the leaked secrets, by place."""
        looked = {where: self.found_in(text) for where, text in texts.items()}
        return {where: names for where, names in looked.items() if names}


class Everything(logging.Handler):
    """Collects all records of all loggers, as text with their attributes."""

    def __init__(self) -> None:
        super().__init__(level=0)
        self.texts: dict[str, str] = {}

    def emit(self, record: logging.LogRecord) -> None:
        parts = [record.getMessage(), repr(record.args), repr(record.__dict__)]
        if record.exc_info and record.exc_info[1] is not None:
            parts += told(record.exc_info[1]).values()
        number = len(self.texts)
        self.texts[f"record {number} of {record.name}"] = "\n".join(parts)


@contextmanager
def all_records() -> Iterator[Everything]:
    """Enable all log levels of all loggers, and collect the records."""
    kept = Everything()
    root = logging.getLogger()
    named = [logging.getLogger(name) for name in tuple(root.manager.loggerDict)]
    # An engine checks once, when it is created, whether its log is enabled.
    named += [logging.getLogger(n) for n in ("sqlalchemy.engine", "sqlalchemy.pool")]
    before = [(logger, logger.level) for logger in (root, *named)]
    for logger, _ in before:
        logger.setLevel(logging.DEBUG)
    root.addHandler(kept)
    try:
        yield kept
    finally:
        root.removeHandler(kept)
        for logger, level in before:
            logger.setLevel(level)


def told(error: BaseException) -> dict[str, str]:
    """Return the texts of an exception, its causes and our local variables."""
    texts = {
        f"{type(one).__name__} {number}": f"{one} {one!r} {one.args!r} {vars(one)!r}"
        for number, one in enumerate(_with_origins(error))
    }
    texts["the traceback"] = "".join(traceback.format_exception(error))
    for one in _as_reported(error):
        texts |= _locals_of(one.__traceback__)
    return texts


def _with_origins(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an exception and all exceptions that it refers to, shown or not."""
    if error is not None:
        yield error
        yield from _with_origins(error.__cause__)
        if error.__context__ is not error.__cause__:
            yield from _with_origins(error.__context__)


def _as_reported(error: BaseException | None) -> Iterator[BaseException]:
    """Yield the exceptions that a report of an exception shows."""
    if error is not None:
        yield error
        hidden = error.__suppress_context__
        yield from _as_reported(error.__cause__ if hidden else error.__context__)


def _locals_of(trace: TracebackType | None) -> dict[str, str]:
    """Return the local variables of our frames, as error reporters show them."""
    return {
        f"local {name} in {frame.f_code.co_qualname}, line {line}": _shown(value)
        for frame, line in traceback.walk_tb(trace)
        if frame.f_code.co_filename.startswith(OURS)
        for name, value in frame.f_locals.items()
        if not frame.f_code.co_qualname.startswith(HANDED_IN.get(name, ()))
    }


def _shown(value: object) -> str:
    try:
        return repr(value)
    except AttributeError:  # its __init__ was not over
        return "not made"


def shown_objects(roots: Mapping[str, Any]) -> dict[str, str]:
    """Return the reprs of all mediakit objects reachable from the given ones."""
    texts: dict[str, str] = {}
    seen: set[int] = set()
    todo = [(name, value, 0) for name, value in roots.items()]
    while todo:
        name, value, depth = todo.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        is_ours = type(value).__module__.startswith("mediakit")
        if is_ours:
            texts[name] = f"{value} {value!r} {value:} {pretty(value)}"
        if depth < DEPTH and (is_ours or isinstance(value, dict | list | tuple | set)):
            todo += [(f"{name}.{k}", v, depth + 1) for k, v in _inside(value)]
    return texts


def _inside(value: Any) -> Iterable[tuple[str, Any]]:
    if isinstance(value, dict):
        return [(str(key), item) for key, item in tuple(value.items())]
    if isinstance(value, list | tuple | set):
        return [(str(number), item) for number, item in enumerate(tuple(value))]
    return list(getattr(value, "__dict__", {}).items())


def files_below(*folders: Path, apart_from: Path | None = None) -> dict[str, str]:
    """Return the contents of all files in folders."""
    return {
        str(path): path.read_bytes().decode("latin-1")
        for folder in folders
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not (apart_from and path.is_relative_to(apart_from))
    }
