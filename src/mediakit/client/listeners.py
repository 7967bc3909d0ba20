"""Listeners: functions that are called when something happens."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable
from typing import Generic, TypeVar, TypeVarTuple

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

log = logging.getLogger("mediakit.client")


def notify(listeners: Iterable[Callable[[*Ts], object]], *event: *Ts) -> None:
    """Call every listener; log the exception of each with the listener's name."""
    for listener in tuple(listeners):
        try:
            listener(*event)
        except Exception:
            name = getattr(listener, "__qualname__", repr(listener))
            log.exception("a listener raised an error: %s", name)


def discard(listeners: list[T], listener: T) -> None:
    """Remove a listener; one that is no longer there is no error."""
    if listener in listeners:
        listeners.remove(listener)


class InOrder(Generic[T]):
    """Calls a listener with numbered values, never with an older one after a newer."""

    def __init__(self, listener: Callable[[T], object]) -> None:
        self._listener = listener
        self._lock = threading.RLock()
        self._number = -1
        self.__qualname__ = getattr(listener, "__qualname__", repr(listener))

    def first(self, number: int, value: T) -> None:
        """Call the listener, unless it is being called with a newer value."""
        if self._lock.acquire(blocking=False):
            try:
                self(number, value)
            finally:
                self._lock.release()

    def __call__(self, number: int, value: T) -> None:
        """Call the listener, unless it has had a newer value."""
        with self._lock:
            if number > self._number:
                self._number = number
                self._listener(value)
