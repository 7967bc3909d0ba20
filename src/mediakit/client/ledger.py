"""One account's part of the history, asked from an event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any, Concatenate, ParamSpec, TypeVar

from anyio import to_thread

from mediakit.client.service import Service
from mediakit.history import History

P = ParamSpec("P")
T = TypeVar("T")


class Ledger:
    """Asks the history without holding up the event loop.

    A file on this machine answers sooner than a thread would start, so it is asked
    on the spot; a database elsewhere is asked on a thread.

    Args:
        history: The history.
        service: The service, and the account there.
    """

    def __init__(self, history: History, service: Service) -> None:
        self.history = history
        self.owner = {"service": service.identity, "account": service.account}
        self._turn: _Turn | None = None

    async def ask(
        self,
        question: Callable[Concatenate[History, P], T],
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """Call a method of the history, as in `ask(History.find, job_id)`."""
        call = partial(question, self.history, *args, **kwargs)
        if self.history.is_local:
            return call()
        return await to_thread.run_sync(call)

    async def write(
        self,
        change: Callable[Concatenate[History, P], T],
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """Call a method of the history that writes; committed when this returns.

        What many tasks write in one turn of the loop is committed at once.
        """
        call = partial(change, self.history, *args, **kwargs)
        if not self.history.is_local:
            return await to_thread.run_sync(call)
        loop = asyncio.get_running_loop()
        turn = self._turn
        if turn is None or not turn.is_that_of(loop):
            shared = turn is not None and turn.is_shared
            turn = self._turn = _Turn(self.history, loop, expects_others=shared)
        return await turn.make(call)


class _Turn:
    """What is written in one turn of a loop.

    A task that writes alone does not wait for others: its calls are made on the spot,
    unless several tasks wrote in the turn before.

    Args:
        history: Where.
        loop: Its loop.
        expects_others: Whether several tasks wrote in the turn before.
    """

    def __init__(
        self, history: History, loop: asyncio.AbstractEventLoop, *, expects_others: bool
    ) -> None:
        self.is_shared = False
        self._history = history
        self._loop = loop
        self._expects_others = expects_others
        self._first_task_id: int | None = None
        self._calls: list[tuple[Callable[[], Any], asyncio.Future[Any]]] = []
        self._is_open = True
        loop.call_soon(self._run)

    def is_that_of(self, loop: asyncio.AbstractEventLoop) -> bool:
        """Tell whether a task of this loop can still add to it."""
        return self._is_open and self._loop is loop

    async def make(self, call: Callable[[], T]) -> T:
        """Make a call; returns once it is committed."""
        task_id = id(asyncio.current_task())
        if self._first_task_id is None:
            self._first_task_id = task_id
        self.is_shared = self.is_shared or task_id != self._first_task_id
        if not (self.is_shared or self._expects_others):
            return call()
        future: asyncio.Future[T] = self._loop.create_future()
        self._calls.append((call, future))
        return await future

    def _run(self) -> None:
        self._is_open = False
        wanted = [(call, future) for call, future in self._calls if not future.done()]
        try:
            tell = self._committed(wanted)
        except Exception as error:  # noqa: BLE001 - each of them raises it
            tell = [partial(future.set_exception, error) for _, future in wanted]
        for (_, future), told in zip(wanted, tell, strict=True):
            if not future.done():
                told()

    def _committed(
        self, wanted: list[tuple[Callable[[], Any], asyncio.Future[Any]]]
    ) -> list[Callable[[], None]]:
        """Make all calls in one transaction; return what tells of each."""
        if len(wanted) <= 1:
            return [_told(*each) for each in wanted]
        with self._history.together():
            return [_told(call, future) for call, future in wanted]


def _told(call: Callable[[], Any], future: asyncio.Future[Any]) -> Callable[[], None]:
    """Make a call; return what tells its future how it went."""
    try:
        result = call()
    except Exception as error:  # noqa: BLE001 - its caller raises it
        return partial(future.set_exception, error)
    return partial(future.set_result, result)
