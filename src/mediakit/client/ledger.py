"""One account's part of the history, asked from an event loop."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Concatenate, ParamSpec, TypeVar

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
