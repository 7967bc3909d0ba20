"""Prevents deadlocks in forked children, on locks of the parent's threads."""

from __future__ import annotations

import functools
import os
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from threading import Condition, get_ident
from typing import Any, TypeVar

T = TypeVar("T")

PATIENCE_S = 5.0
"""How long a fork waits for such work, which takes milliseconds.

It may take longer while another program locks the history: forking then is better than
stopping everything.
"""

_changed = Condition()
_at_work: Counter[int] = Counter()
_forking: int | None = None
_when_idle: list[Callable[[], object]] = []


class cached_property(functools.cached_property[T]):  # noqa: N801 - the usual name
    """A property that is computed once, without a lock, as in Python 3.12.

    In Python 3.11, all instances share a lock. A process that is forked while another
    thread computes the property would wait for that lock forever.
    """

    def __init__(self, func: Callable[[Any], T]) -> None:
        super().__init__(func)
        self.lock = nullcontext()


@contextmanager
def no_fork() -> Iterator[None]:
    """Delay forks by any thread until this block ends.

    Locks of SQLite, SQLAlchemy and pydantic that are held during a fork stay held in
    the child, where no thread is left to release them.
    """
    thread = get_ident()
    with _changed:
        # Wait for the blocks that have begun.
        while _forking not in (None, thread) and thread not in _at_work:
            _changed.wait()
        _at_work[thread] += 1
    try:
        yield
    finally:
        with _changed:
            _at_work[thread] -= 1
            if not _at_work[thread]:
                del _at_work[thread]
            if _forking is not None:
                _changed.notify_all()


def before_fork(call: Callable[[], object]) -> None:
    """Call a function before each fork, outside all `no_fork` blocks."""
    _when_idle.append(call)


def _wait() -> None:
    global _forking
    _changed.acquire()  # until the process has forked
    _forking = get_ident()
    own = {_forking}
    _changed.wait_for(lambda: _at_work.keys() <= own, PATIENCE_S)
    for call in _when_idle:
        call()


def _go_on() -> None:
    global _forking
    _forking = None
    _changed.notify_all()
    _changed.release()


def _begin() -> None:
    global _changed, _forking
    _changed, _forking = Condition(), None
    for thread in _at_work.keys() - {get_ident()}:
        del _at_work[thread]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_wait, after_in_parent=_go_on, after_in_child=_begin)
