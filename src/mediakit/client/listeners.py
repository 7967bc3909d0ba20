"""Listeners: functions that are called on an event."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Generic, TypeVarTuple

Ts = TypeVarTuple("Ts")

log = logging.getLogger("mediakit.client")


class Listeners(Generic[*Ts]):
    """Functions that are called with each event; any thread may subscribe."""

    def __init__(self) -> None:
        self._by_key: dict[object, Callable[[*Ts], object]] = {}

    def __bool__(self) -> bool:
        return bool(self._by_key)

    def subscribe(self, listener: Callable[[*Ts], object]) -> Callable[[], None]:
        """Add a listener; return a function that removes it."""
        key = object()
        self._by_key[key] = listener

        def unsubscribe() -> None:
            self._by_key.pop(key, None)

        return unsubscribe

    def notify(self, *event: *Ts) -> None:
        """Call every listener; log one that raises, with its name."""
        for listener in tuple(self._by_key.values()):
            try:
                listener(*event)
            except Exception:
                name = getattr(listener, "__qualname__", repr(listener))
                log.exception("a listener raised an error: %s", name)
