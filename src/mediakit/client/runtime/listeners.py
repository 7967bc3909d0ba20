"""Notifies listeners; an exception in one does not stop the others."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import TypeVar, TypeVarTuple

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
