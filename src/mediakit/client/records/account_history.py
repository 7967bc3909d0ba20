"""One account's part of the history, used from an event loop."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Concatenate, ParamSpec, TypeVar

from anyio import to_thread

from mediakit.client.records.file_writer import FileWriter
from mediakit.client.service import Service
from mediakit.history import History

P = ParamSpec("P")
T = TypeVar("T")


class AccountHistory:
    """Reads and writes the history without blocking the event loop.

    Reads of a local file run on the event loop: they are faster than starting a thread,
    and never wait for a writer. Everything else runs on a thread.

    Args:
        history: The history.
        service: The service, and the account there.
    """

    def __init__(self, history: History, service: Service) -> None:
        self.history = history
        self.service = service.identity
        self.owner = {"service": service.identity, "account": service.account}
        self._file: FileWriter | None = None

    async def ask(
        self,
        question: Callable[Concatenate[History, P], T],
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """Call a method of the history that reads: `ask(History.find, job_id)`."""
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

        If this is cancelled, a write that has not begun is dropped; one that has begun
        finishes.
        """
        call = partial(change, self.history, *args, **kwargs)
        if self.history.is_local:
            return await self._writer().write(call)
        return await to_thread.run_sync(call)

    async def write_or_defer(
        self,
        job_id: str,
        change: Callable[Concatenate[History, P], object],
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> None:
        """Write what the service reports of a job, without waiting long for the file.

        While another program holds the file, this returns after about a second and the
        write is made later. If the same change to the same job is still waiting then,
        only the newer one is written.
        """
        call = partial(change, self.history, *args, **kwargs)
        if self.history.is_local:
            await self._writer().write_or_defer((job_id, change), call)
        else:
            await to_thread.run_sync(call)

    async def flush(self) -> None:
        """Write the deferred changes, if the file is free within a few seconds."""
        if self._file is not None and self._file.is_usable:
            await self._file.flush()

    def blocked_text(self) -> str:
        """Return a message while writes are blocked, else an empty text."""
        file = self._file
        is_blocked = file is not None and file.is_blocked
        return _blocked_text(self.history) if is_blocked else ""

    def _writer(self) -> FileWriter:
        file = self._file
        if file is None or not file.is_usable:
            file = self._file = FileWriter(partial(_blocked_text, self.history))
        return file


def _blocked_text(history: History) -> str:
    return (
        f"The history file {history.place} is locked by another program. The request "
        "continues when it is released."
    )
