"""What people see: clients, jobs and `connect`, with forms, spend and views."""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from decimal import Decimal
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from anyio import to_thread

from mediakit import client as core
from mediakit.catalog import Catalog
from mediakit.client import AnyBudget
from mediakit.client.async_client import opened
from mediakit.client.budgets import check_budget
from mediakit.client.docstrings import explained_by
from mediakit.client.functions import Functions
from mediakit.client.loop import closed, io_thread, networked
from mediakit.client.requests import known_lengths
from mediakit.clock import Clock
from mediakit.connection import Place, Settings, locate, refuse_no_catalog
from mediakit.errors import InputError
from mediakit.history import Entry, History
from mediakit.money import format_usd
from mediakit.rates import Estimate
from mediakit.rules import all_of, any_of
from mediakit.schema import InputFacts

if TYPE_CHECKING:
    import httpx

    from mediakit.client.recovery.sample_history import SeededPast
    from mediakit.widgets.dashboard import AsyncSpend, Spend
    from mediakit.widgets.form.controller import Form
    from mediakit.widgets.studio import Studio
    from mediakit.widgets.sweeps import AsyncPlan, Plan
    from mediakit.widgets.toolkit.cell_outputs import Cell

log = logging.getLogger("mediakit")

BEHIND = frozenset(
    {"core", "io", "job_type", "on_close", "owned", "place"}
    | {"account_history", "admission", "clock", "jobs", "requests", "submissions"}
    | {"left_to_resend", "owned_entry", "prepared", "submit_prepared", "transport"}
)
"""The names of a client that its own parts need, and people hardly do."""
PARTS = frozenset(
    {"billing", "catalog", "delays", "deliveries", "history", "place", "remote_media"}
    | {
        "service",
        "store",
        "account_history",
        "admission",
        "clock",
        "jobs",
        "requests",
        "submissions",
        "transport",
        "_progress",
    }
)
"""What an `AsyncClient` has once it is open."""


class AsyncClient(core.AsyncClient):
    """A client to be awaited, on any event loop of asyncio.

    Networking and callbacks run on the process's I/O thread. `async with`, or the first
    awaited call, opens its history and the embedded sandbox in the background. Reading
    an attribute such as `client.catalog` before that opens them at once, and blocks.

    Args:
        base_url: The hosted service; `MEDIAKIT_BASE_URL` when omitted, and the
            embedded sandbox when that is not set either.
        api_key: Its key; `MEDIAKIT_API_KEY` when omitted.
        home: The folder for history and sandbox; `MEDIAKIT_HOME` when omitted.
        history: The history's database; `MEDIAKIT_HISTORY` when omitted.
        catalog: The functions; by default those that `mediakit.toml` binds, or the
            sandbox's.
        clock: Gives time; the system's by default.
        project: A label for all that is submitted; None for none.
        budget: What may be spent, such as "$5": by the project over all its clients
            and starts, or by this client when there is no project. A `mk.Budget` is
            shared by its name.
        own_rates: Let budgets hold the rates of `mediakit.toml` where those of the
            price list are higher; the higher of the two is held otherwise.
        transport: Sends all requests, such as `httpx.AsyncHTTPTransport(verify=...)`
            or a `MockTransport`; the environment's proxies are not used then. It is
            closed with the client.

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
        self._is_open = self._is_closed = False
        self._opening = threading.Lock()

    def _open(self) -> Self:
        """Find the service and open the history, unless that was done before.

        It blocks. Every method that is awaited does it in the background.

        Raises:
            InputError: A setting is not acceptable.
            ServiceError: The sandbox cannot be started.
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

    async def _ready(self) -> None:
        """Open it in the background."""
        if not self._is_open:
            await to_thread.run_sync(self._open)

    def __dir__(self) -> list[str]:
        return sorted(set(super().__dir__()) - BEHIND)

    def __getattr__(self, name: str) -> Any:
        # Called only for what is missing: the parts of a client that is not open yet.
        if vars(self).get("_is_open", True) or name not in PARTS:
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        io_thread().refuse_itself()
        return getattr(self._open(), name)

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
        return await _seeded(self, self.place, days=days, jobs=jobs, seed=seed)

    @cached_property
    def spend(self) -> AsyncSpend:
        """Return the reports of what was spent (spec 4.19)."""
        return _spend_of(self)


def _spend_of(client: core.AsyncClient) -> AsyncSpend:
    from mediakit.widgets.dashboard import AsyncSpend

    return AsyncSpend(client.billing, client.history, client.catalog, client.clock)


async def _seeded(client: core.AsyncClient, place: Place, **asked: int) -> SeededPast:
    from mediakit.client.recovery.sample_history.seeding import check_past, seed_past

    service = client.service
    is_sandbox = place.is_sandbox and service.on_this_machine
    check_past(is_sandbox=is_sandbox, label=service.label, asked=asked)
    return await seed_past(
        client.transport, client.account_history, client.catalog, client.clock, asked
    )


class Job(core.Job):
    """A job that shows itself in a notebook: progress, result, price and charge."""

    _shown_in: Cell | None = None
    _client: Client | None = None

    def _ipython_display_(self) -> None:
        from mediakit.widgets.toolkit.cell_outputs import current_cell

        # `job.show()` in the same cell has shown the job already.
        if self._shown_in is None or self._shown_in != current_cell():
            self.show()

    def show(self, *, embed: bool = False) -> None:
        """Show the job in this cell: live, and as a card in the saved notebook.

        Args:
            embed: Make the result part of the notebook, 1.33 times its size, which
                the card says; what a browser cannot play is embedded as a small copy.
                The notebook otherwise keeps a small picture, the facts and the link.
        """
        from mediakit.widgets.form.job_cell import display_job
        from mediakit.widgets.job.waiting.board import leave_to_card
        from mediakit.widgets.toolkit.cell_outputs import current_cell

        cell = self._shown_in = current_cell()
        if cell is not None:
            leave_to_card(cell, self.id)
        display_job(self.core, self._client, embed=embed)

    def _another(self, core: core.AsyncJob) -> Self:
        made = super()._another(core)
        made._client = self._client
        return made

    def wait(self, timeout_s: float | None = None) -> Self:
        """Wait until the job completes, with a line about it in a notebook's cell.

        Many jobs that one cell waits for share one progress. Ctrl-C ends the waiting,
        not the job.

        Args:
            timeout_s: Seconds to wait at most; None waits as long as it takes.

        Raises:
            JobFailedError: The job failed.
            WaitTimeoutError: The time is over; the job continues.
            GoneError: The service no longer knows it.
        """
        self._show_wait()
        return super().wait(timeout_s)

    async def _awaited(self) -> Self:
        self._show_wait()
        return await super()._awaited()

    def _show_wait(self) -> None:
        from mediakit.widgets.toolkit.cell_outputs import current_cell

        if in_notebook() and (
            self._shown_in is None or self._shown_in != current_cell()
        ):
            _show_wait(self.core)


def _show_wait(job: core.AsyncJob) -> None:
    """Show in a notebook's cell that it waits for a job."""
    from mediakit.widgets.job.waiting.board import show_wait

    show_wait(job)


def _show_own_wait(job: core.AsyncJob) -> None:
    """Show a wait that people asked for: not those of the I/O thread itself."""
    if in_notebook() and not io_thread().is_here:
        _show_wait(job)


def in_notebook() -> bool:
    """Tell whether this process is a notebook's kernel, without importing IPython."""
    return getattr(_shell(), "kernel", None) is not None


def _shell() -> Any:
    """Return the shell of IPython that runs, if one does."""
    module = sys.modules.get("IPython.core.getipython")
    return module.get_ipython() if module is not None else None


def _offer_names() -> None:
    """Let the Tab key offer functions and fields inside a client's calls."""
    shell = _shell()
    if shell is not None:
        from mediakit.completion import offer_at, offer_in

        offer_in(shell, offer_at)


class Client(core.Client[Job]):
    """A client for notebooks and scripts: every call waits for its answer.

    Threads may share it, and a forked process continues with it; a worker that is
    started again makes one of its own. It works inside a coroutine too, where its calls
    hold up the loop; `AsyncClient` does not.

    Args:
        base_url: The hosted service; `MEDIAKIT_BASE_URL` when omitted, and the
            embedded sandbox when that is not set either.
        api_key: Its key; `MEDIAKIT_API_KEY` when omitted.
        home: The folder for history and sandbox; `MEDIAKIT_HOME` when omitted.
        history: The history's database; `MEDIAKIT_HISTORY` when omitted.
        catalog: The functions; by default those that `mediakit.toml` binds, or the
            sandbox's.
        clock: Gives time; the system's by default.
        project: A label for all that is submitted; None for none.
        budget: What may be spent, such as "$5": by the project over all its clients
            and starts, or by this client when there is no project. A `mk.Budget` is
            shared by its name.
        own_rates: Let budgets hold the rates of `mediakit.toml` where those of the
            price list are higher; the higher of the two is held otherwise.
        transport: Sends all requests, such as `httpx.AsyncHTTPTransport(verify=...)`
            or a `MockTransport`; the environment's proxies are not used then. It is
            closed with the client.

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
        made = AsyncClient(
            base_url,
            api_key,
            home=home,
            history=history,
            catalog=catalog,
            clock=clock,
            project=project,
            budget=budget,
            own_rates=own_rates,
            transport=transport,
        )._open()
        self.place = made.place
        super().__init__(made, Job)

    @cached_property
    def functions(self) -> Functions:
        """Return the functions as attributes, with their fields as arguments."""
        return Functions(self, self.catalog)

    @explained_by(AsyncClient.seed_past)
    def seed_past(
        self, days: int = 365, jobs: int = 2_000, seed: int = 1
    ) -> SeededPast:
        """Let the sandbox make up a past, and bring it into the history."""
        return self.io.call(
            _seeded, self.core, self.place, days=days, jobs=jobs, seed=seed
        )

    @cached_property
    def spend(self) -> Spend:
        """Return the reports of what was spent (spec 4.19)."""
        from mediakit.widgets.dashboard import Spend

        return Spend(_spend_of(self.core))

    @explained_by(AsyncClient.sweep)
    def sweep(
        self,
        function: str,
        /,
        *,
        zip: object = None,
        rows: object = None,
        sample: int | tuple[int, int] | None = None,
        takes: int = 1,
        **axes: object,
    ) -> Plan:
        """Plan a grid of requests, priced before anything is sent."""
        from mediakit.sweep import plan_of
        from mediakit.widgets.sweeps import Plan

        return self.io.call(
            plan_of,
            self.core,
            function,
            axes,
            zipped=zip,
            rows=rows,
            sample=sample,
            takes=takes,
            make=partial(Plan, self),
        )

    def __dir__(self) -> list[str]:
        # What the Tab key offers; the rest is there for who asks for it by name.
        return sorted(set(super().__dir__()) - BEHIND)

    def owned(self, job: core.AsyncJob) -> Job:
        """Return the blocking face of a job, which can open forms of this client."""
        made = super().owned(job)
        made._client = self
        return made

    def _say(self, line: str) -> None:
        if in_notebook():
            print(line)  # noqa: T201 - one quiet line in the cell
        else:
            super()._say(line)

    def form(
        self,
        function: str,
        /,
        *,
        like: Job | str | None = None,
        name: str = "",
        fresh: bool = False,
        **values: object,
    ) -> Form:
        """Return a form for a function, to be shown in the cell.

        A cell that is run again keeps the values and jobs of its own form, also after
        the kernel was restarted; the forms of other cells stay as they are.
        Values that the code gives differently than before win. What was typed and not
        sent is kept in the history, without URLs that are signed or hold a password.

        A notebook is known by its path: a copied, moved or renamed notebook begins with
        empty forms, and its earlier jobs are in `client.history`. Where the notebook
        is not known, as in Voilà, nothing is kept.

        Args:
            function: A kind or a path.
            like: Begin with the values of an earlier request: "last" for the last one
                of this function, or a job, or its id. A form that is on the page
                already, or was there before a restart, keeps what it holds.
            name: Tells forms of one function apart where a cell makes several, or where
                the notebook does not tell its cells apart.
            fresh: Begin empty, without what the form held and without its jobs, which
                stay in `client.history`.
            values: What its fields hold at first; what is not acceptable is said in
                the form.

        Raises:
            InputError: The function is unknown; the nearest names are in the message.
            NotFoundError: The earlier request is not in this history.
        """
        from mediakit.widgets.form.controller import Form, is_open
        from mediakit.widgets.form.form_values import recalled
        from mediakit.widgets.toolkit.cell_outputs import current_cell

        found, cell = self.catalog.function(function), current_cell()
        continues = not fresh and is_open(self, found, cell, name)
        if like is not None and not continues:
            values = recalled(self, found, like) | values
        return Form(self, found, values, cell=cell, name=name, fresh=fresh)

    def studio(self) -> Studio:
        """Return the studio, to be shown in the cell.

        In one place: all functions with a search and their forms, the history with a
        search and filters, and balance and spend. A cell that is run again continues
        where its studio was; the studios of other cells stay as they are.
        """
        from mediakit.widgets.studio import Studio
        from mediakit.widgets.toolkit.cell_outputs import current_cell

        return Studio(self, cell=current_cell())


def connect(
    base_url: str | None = None,
    api_key: str | None = None,
    *,
    home: str | Path | None = None,
    history: str | Path | None = None,
    catalog: Catalog | None = None,
    project: str | None = None,
    budget: AnyBudget | None = None,
    own_rates: bool = False,
    transport: httpx.AsyncBaseTransport | None = None,
) -> Client:
    """Connect to the hosted service when it is configured, else to the sandbox.

    It says which, checks the key by reading the balance, and resumes in the
    background what an earlier start left unanswered or unsettled. What it sends again,
    and for how much, it says first.

    Args:
        base_url: The hosted service; `MEDIAKIT_BASE_URL` when omitted.
        api_key: Its key; `MEDIAKIT_API_KEY` when omitted.
        home: The folder for history and sandbox; `MEDIAKIT_HOME` when omitted.
        history: The history's database; `MEDIAKIT_HISTORY` when omitted.
        catalog: The functions; by default those that `mediakit.toml` binds, or the
            sandbox's. The embedded sandbox serves these.
        project: A label for all that is submitted; None for none.
        budget: What may be spent, such as "$5": by the project over all its clients
            and starts, or by this client when there is no project. A `mk.Budget` is
            shared by its name.
        own_rates: Let budgets hold the rates of `mediakit.toml` where those of the
            price list are higher; the higher of the two is held otherwise.
        transport: Sends all requests, such as `httpx.AsyncHTTPTransport(verify=...)`
            or a `MockTransport`; the environment's proxies are not used then. It is
            closed with the client.

    Raises:
        InputError: A setting is not acceptable.
        AuthError: The key is missing, wrong or inactive.
        ServiceError: The service does not answer, or the sandbox cannot be started.
    """
    client = Client(
        base_url,
        api_key,
        home=home,
        history=history,
        catalog=catalog,
        project=project,
        budget=budget,
        own_rates=own_rates,
        transport=transport,
    )
    try:
        balance = client.balance()
        resent = client.io.call(client.core.left_to_resend)
    except BaseException:
        client.close()
        raise
    greeting = _greeting(client.place, balance.spendable_micro_usd)
    print(greeting + _resent_text(resent))  # noqa: T201
    client.io.post(client.core.resume).add_done_callback(_log_failure)
    _offer_names()
    return client


def _greeting(place: Place, spendable_micro_usd: int) -> str:
    name = "Sandbox" if place.is_sandbox else "Connected"
    aside = " (no real money)" if place.is_sandbox else ""
    return (
        f"{name} at {place.service.base_url}{aside}: {len(place.catalog)} functions, "
        f"balance {format_usd(spendable_micro_usd)}.{_gaps_text(place.catalog)}"
        f"{_rates_text(place.catalog)}"
    )


def _resent_text(entries: Sequence[Entry]) -> str:
    """Say what is sent again, and for how much; nothing when nothing is."""
    if not entries:
        return ""
    known = [
        entry.reserved_micro_usd
        for entry in entries
        if entry.estimate_high_micro_usd is not None
    ]
    prices = [f"up to {format_usd(sum(known))}"] if known else []
    if len(known) < len(entries):
        prices.append(f"{len(entries) - len(known)} at an unknown price")
    one = len(entries) == 1
    return (
        f" {len(entries)} {'request' if one else 'requests'} from an earlier session "
        f"got no answer and {'is' if one else 'are'} sent again now, "
        f"{' and '.join(prices)}: none is paid for twice."
    )


def _gaps_text(catalog: Catalog) -> str:
    """Say how many functions cannot be offered, and why; nothing when all can."""
    count = len(catalog.left_out)
    if not count:
        return ""
    take, are = ("takes", "is") if count == 1 else ("take", "are")
    bodies = any_of(dict.fromkeys(catalog.left_out.values()))
    return f" {count} more {take} {bodies} instead of a JSON object and {are} left out."


def _rates_text(catalog: Catalog) -> str:
    """Name the functions that a file prices; nothing when the price list does."""
    rates = [(f, f.rate) for f in catalog if f.rate and f.rate.source]
    if not rates:
        return ""
    kinds = all_of(dict.fromkeys(function.kind for function, _ in rates))
    text = f" The rates of {kinds} are from {rates[0][1].source}."
    if any(f.is_listed and not rate.sets_holds for f, rate in rates):
        text += (
            " Where the price list has a rate too, budgets hold the higher of the two."
        )
    return text


def _log_failure(future: Future[Any]) -> None:
    error = None if future.cancelled() else future.exception()
    if error is not None:
        log.error("resuming earlier jobs failed: %s", error)


def estimate(
    function: str,
    body: Mapping[str, object],
    *,
    seconds: Mapping[str, float | Decimal] | None = None,
    catalog: Catalog | None = None,
) -> Estimate:
    """Price a body without a client and without a network (spec 8).

    Args:
        function: A kind, or a path.
        body: The body.
        seconds: Known durations of media in the body, seconds by URL.
        catalog: Where the function is looked up; all declared ones by default.

    Raises:
        InputError: The function is unknown, or a field that the price is made from
            is missing or wrong.
    """
    _check_body(body)
    facts = InputFacts(seconds=known_lengths(seconds))
    functions = Catalog.default() if catalog is None else catalog
    return functions.function(function).estimate(body, facts)


def _check_body(body: object) -> None:
    if not isinstance(body, Mapping):
        accepted = 'the fields by name, such as {"prompt": "a kite"}'
        raise InputError("body", got=body, accepted=accepted)


__all__ = ["AsyncClient", "Client", "Job", "connect", "estimate"]
