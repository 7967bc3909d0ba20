"""The client that people await."""

from __future__ import annotations

import threading
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, Self

from anyio import to_thread

from mediakit import client as core
from mediakit.cached import cached_property
from mediakit.catalog import Catalog
from mediakit.client import AnyBudget, AsyncJob
from mediakit.client.async_client import opened
from mediakit.client.budgets import check_budget
from mediakit.client.functions import Functions
from mediakit.client.loop import (
    closed,
    io_thread,
    networked,
)
from mediakit.clock import Clock
from mediakit.connection import Place, Settings, locate, refuse_no_catalog
from mediakit.history import History
from mediakit.job import show_wait
from mediakit.notebook import in_notebook

if TYPE_CHECKING:
    import httpx

    from mediakit.client.sample_history import SeededPast
    from mediakit.widgets.dashboard import AsyncSpend
    from mediakit.widgets.sweeps import AsyncPlan

BEHIND = frozenset(
    {
        "core",
        "delays",
        "home",
        "io",
        "on_close",
        "owned",
        "place",
        "remote_media",
        "store",
    }
    | {
        "account_history",
        "admission",
        "clock",
        "jobs",
        "requests",
        "submissions",
        "uploads",
    }
    | {"left_to_resend", "owned_entry", "prepared", "submit_prepared", "transport"}
)
"""The names of a client that its own parts need, and people hardly do."""


class AsyncClient(core.AsyncClient):
    """A client to be awaited, on any event loop of asyncio.

    `mk.connect` explains its arguments; `clock` gives the time, the system's by
    default. Networking and callbacks run on the process's I/O thread. `async with`, or
    the first awaited call, opens its history and the embedded sandbox in the
    background; its attributes, such as `client.catalog`, can be read from then on.

    Raises:
        InputError: A setting is not acceptable.
        ServiceError: The sandbox cannot be started.
    """

    def __init__(
        self,
        base_url: str | None = None,
        api_key: str | None = None,
        *,
        home: str | Path | None = None,
        history: str | Path | None = None,
        catalog: Catalog | None = None,
        clock: Clock | None = None,
        project: str | None = None,
        budget: AnyBudget | None = None,
        own_rates: bool = False,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._is_open = self._is_closed = False
        self._opening = threading.Lock()
        self._settings = Settings.read(
            base_url, api_key, home=home, history=history, own_rates=own_rates
        )
        refuse_no_catalog(catalog)
        check_budget(project, budget)
        self._find = partial(locate, self._settings, catalog, transport)
        self._given: dict[str, Any] = {
            "clock": clock,
            "project": project,
            "budget": budget,
            "transport": transport,
            "home": self._settings.home,
        }

    def _open(self) -> Self:
        """Find the service and open the history, unless that is done; it blocks.

        Every method that is awaited does it in the background.
        """
        with self._opening:
            if self._is_closed:
                raise closed()
            if not self._is_open:
                self.place: Place = self._find()
                super().__init__(
                    self.place.service,
                    history=History(self._settings.history, clock=self._given["clock"]),
                    catalog=self.place.catalog,
                    on_wait=_show_own_wait,
                    **self._given,
                )
                self._is_open = True
        return self

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__()} - BEHIND)

    async def _ready(self) -> None:
        if not self._is_open:
            await to_thread.run_sync(self._open)

    if not TYPE_CHECKING:  # the type checker knows what an open client has

        def __getattr__(self, name: str) -> NoReturn:
            text = f"{type(self).__name__} has no attribute {name!r}"
            if not vars(self).get("_is_open", True):
                text += " before it is open: use `async with`, or await a method first"
            raise AttributeError(text)

    @networked
    async def aclose(self) -> None:
        """Stop watching and close the connections, for good; jobs continue.

        Calls that wait end with `WaitTimeoutError`; later ones say that the client is
        closed. Its history can still be read. Closing twice does nothing more.
        """
        if await to_thread.run_sync(self._shut):
            await super().aclose()
            await to_thread.run_sync(self.store.close)
        elif (transport := self._given["transport"]) is not None:
            self._given["transport"] = None
            await transport.aclose()

    def _shut(self) -> bool:
        """Let nothing open it any more; tell whether it is open."""
        with self._opening:
            self._is_closed = True
            return self._is_open

    @cached_property
    def functions(self) -> Functions:
        """Return the functions as attributes, with their fields as arguments."""
        return Functions(self, self.catalog)

    @cached_property
    def spend(self) -> AsyncSpend:
        """Return the reports of what was spent (spec 4.19)."""
        from mediakit.widgets.dashboard import AsyncSpend

        return AsyncSpend(self.billing, self.history, self.catalog, self.clock)

    @opened
    async def sweep(
        self,
        function: str,
        /,
        *,
        zip: object = None,
        rows: object = None,
        sample: int | tuple[int, int] | None = None,
        takes: int = 1,
        **axes: object,
    ) -> AsyncPlan:
        """Plan a grid of requests, priced before anything is sent.

        A list is an axis, everything else is fixed. A text may have slots, such as
        `prompt="a {animal} over {place}"` with `animal=[...]`; doubled braces
        mean braces. A field that takes a list varies over a list of lists. Where a
        function has a seed, all cells of a take share one.

        Args:
            function: A kind or a path.
            zip: Axes that vary together: their names, or the lists by name.
            rows: A frame whose rows are values that go together.
            sample: How many points of the grid to choose at random, or this number
                and a seed, such as (20, 7).
            takes: How many draws of each point.
            axes: Fields and slots. Files and jobs are media, as in `submit`.

        Returns:
            The plan: cells, prices, what is owned already, and what is invalid and
            why. `plan.run(budget="$5")` sends it.

        Raises:
            InputError: An argument is not acceptable, or no cell can be sent.
        """
        from mediakit.sweep import plan_of
        from mediakit.widgets.sweeps import AsyncPlan

        return await plan_of(
            self,
            function,
            axes,
            zipped=zip,
            rows=rows,
            sample=sample,
            takes=takes,
            make=AsyncPlan,
        )

    @opened
    async def seed_past(
        self, days: int = 365, jobs: int = 2_000, seed: int = 1
    ) -> SeededPast:
        """Let the sandbox make up a past, and bring it into the history.

        So there is a year of spend to look at: jobs of all functions with prompts,
        projects, estimates, charges and some ratings, sent by the organization's key
        and by two members'. It ends yesterday by the sandbox's clock. The balance stays
        as it is. The same call again, from any client, adds nothing.

        The media of these jobs never existed: they read as erased. A request that
        equals one of them is still submitted when it is submitted.

        Args:
            days: How many days it covers, from 1 to 3,650.
            jobs: How many jobs there were, from 1 to 10,000.
            seed: Another number, from 0, makes another past.

        Returns:
            How many jobs there are and what they were charged, as a sentence in
            `text`.

        Raises:
            InputError: The service is no sandbox on this machine, or a number is not
                acceptable; nothing was sent.
            ServiceError: The sandbox does not answer.
        """
        from mediakit.client.sample_history import (
            check_past,
            seed_past,
        )

        asked = {"days": days, "jobs": jobs, "seed": seed}
        is_sandbox = self.place.is_sandbox and self.service.on_this_machine
        check_past(is_sandbox=is_sandbox, label=self.service.label, asked=asked)
        return await seed_past(
            self.transport, self.account_history, self.catalog, self.clock, asked
        )


def _show_own_wait(job: AsyncJob) -> None:
    """Show a wait that people asked for: not those of the I/O thread itself."""
    if in_notebook() and not io_thread().is_here:
        show_wait(job)
