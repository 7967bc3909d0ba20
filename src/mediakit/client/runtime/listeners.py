"""Notifies listeners; an exception in one does not stop the others."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import TypeVar

T = TypeVar("T")

log = logging.getLogger("mediakit.client")


def notify(listeners: Iterable[Callable[[T], object]], news: T) -> None:
    """Call every listener; what one of them raises is logged with its name."""
    for listener in tuple(listeners):
        try:
            listener(news)
        except Exception:
            name = getattr(listener, "__qualname__", repr(listener))
            log.exception("a listener raised an error: %s", name)
