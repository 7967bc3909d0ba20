"""Notifies listeners; an exception in one does not stop the others."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import TypeVar

T = TypeVar("T")

log = logging.getLogger("mediakit.client")


def notify(listeners: Iterable[Callable[[T], object]], event: T) -> None:
    """Call every listener; log the exception of each with the listener's name."""
    for listener in tuple(listeners):
        try:
            listener(event)
        except Exception:
            name = getattr(listener, "__qualname__", repr(listener))
            log.exception("a listener raised an error: %s", name)
