"""Wraps callbacks so that the widget shows their exceptions.

Otherwise, an exception in a widget's callback is not shown anywhere.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import AbstractContextManager, nullcontext
from functools import wraps
from typing import Any, ParamSpec

from mediakit.errors import MediakitError

log = logging.getLogger("mediakit.widgets")

Guarded = Coroutine[Any, Any, None]
P = ParamSpec("P")
ErrorSink = Callable[[str], None]
Guard = Callable[[Callable[..., object]], Callable[..., None]]


def sentence_of(error: BaseException) -> str:
    """Return an exception as a sentence."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    if isinstance(error, MediakitError):
        return str(error)
    if isinstance(error, OSError) and error.strerror:  # such as a full disk
        return ": ".join(filter(None, [error.strerror, error.filename])) + "."
    return (
        f"{type(error).__name__}: {error}. This is a bug in mediakit. Please report it."
    )


def guarded(
    error_sink: ErrorSink, lock: AbstractContextManager[object] | None = None
) -> Guard:
    """Return a decorator that shows a handler's errors and runs it under a lock."""

    def wrap(handler: Callable[..., object]) -> Callable[..., None]:
        @wraps(handler)
        def run(*args: object, **kwargs: object) -> None:
            try:
                with lock or nullcontext():
                    handler(*args, **kwargs)
            except Exception as error:  # noqa: BLE001 - nobody else would see it
                report(error, error_sink)

        return run

    return wrap


def guarded_async(
    error_sink: ErrorSink,
) -> Callable[[Callable[P, Awaitable[object]]], Callable[P, Guarded]]:
    """Return the same decorator for coroutine functions that are not awaited."""

    def wrap(task: Callable[P, Awaitable[object]]) -> Callable[P, Guarded]:
        @wraps(task)
        async def run(*args: P.args, **kwargs: P.kwargs) -> None:
            try:
                await task(*args, **kwargs)
            except Exception as error:  # noqa: BLE001 - nobody else would see it
                report(error, error_sink)

        return run

    return wrap


def report(error: BaseException, error_sink: ErrorSink) -> None:
    log.debug("in a handler on %s", threading.current_thread().name, exc_info=error)
    error_sink(sentence_of(error))
