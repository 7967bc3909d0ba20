"""The available funds, read once for all forms of a client."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from mediakit.api_models import JobStatus
from mediakit.clock import SystemClock
from mediakit.errors import MediakitError
from mediakit.widgets.form.funds import Funds
from mediakit.widgets.toolkit.background_tasks import TaskRunner

if TYPE_CHECKING:
    from mediakit.blocking_client import Client

AGAIN_S = 10.0
"""How long after a failure the balance is read again."""

Listener = Callable[[Funds], object]

_stores: dict[Client, FundsStore] = {}
_lock = threading.Lock()


class FundsStore:
    """Reads balance, holds and budget of one client for all subscribers."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._listeners: list[Listener] = []
        self._is_stale = False
        self._waits = False  # before the next read after a failure
        self._tasks = TaskRunner(
            client.io, lambda text: self._take(Funds(trouble=text))
        )
        self._end = client.on_settled(lambda _: self.refresh())

    @classmethod
    def follow(
        cls, client: Client, listener: Listener
    ) -> tuple[FundsStore, Callable[[], None]]:
        """Subscribe to the funds; return the store and an unsubscriber."""
        with _lock:
            if client not in _stores:
                _stores[client] = cls(client)
            store = _stores[client]
            store._listeners.append(listener)
        return store, lambda: store._leave(listener)

    def _leave(self, listener: Listener) -> None:
        with _lock:
            self._listeners.remove(listener)
            if not self._listeners:
                self._end()
                del _stores[self._client]

    def refresh(self) -> None:
        """Read the funds again; if a read is in flight, once more afterwards."""
        self._is_stale = True
        self._tasks.run(self._read, "read")

    async def _read(self) -> None:
        while self._is_stale and self._listeners:
            self._is_stale = False
            funds = await read_funds(self._client)
            self._take(funds)
            if funds.trouble is not None and not self._waits:
                self._waits = True
                self._tasks.run(self._read_later)

    async def _read_later(self) -> None:
        """Read the funds again later, when the service may be back."""
        await self._client.components.clock.sleep(AGAIN_S)
        self._waits = False
        self.refresh()

    def _take(self, funds: Funds) -> None:
        for listener in tuple(self._listeners):
            listener(funds)


async def read_funds(client: Client) -> Funds:
    """Return balance, holds and budget, or why the balance is unknown."""
    try:
        balance = await client.core.balance()
        funds = Funds(balance, read_at=SystemClock().now())
    except MediakitError as error:
        funds = Funds(trouble=f"The balance is not known. {error}")
    service = client.service
    unsettled = client.components.store.unsettled(service=service.identity)
    held_jobs = sum(
        entry.status is not JobStatus.FAILED
        for entry in unsettled
        if entry.account == service.account  # holds are per account, too
    )
    return replace(
        funds,
        held_micro_usd=await client.core.reserved_micro_usd(),
        held_jobs=held_jobs or None,
        budget=await client.core.budget(),
    )
