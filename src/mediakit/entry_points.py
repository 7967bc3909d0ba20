"""The entry points: `connect` and `estimate`."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mediakit.blocking_client import Client
from mediakit.catalog import Catalog
from mediakit.client import AnyBudget
from mediakit.client.request_preparation import known_lengths
from mediakit.client.service import Backend
from mediakit.errors import InputError
from mediakit.estimates import Estimate
from mediakit.history import Entry
from mediakit.money import format_cents, format_usd
from mediakit.notebook import current_shell
from mediakit.rules import all_of, any_of
from mediakit.schema import InputFacts

if TYPE_CHECKING:
    import httpx

log = logging.getLogger("mediakit")


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
    """Connect to the hosted service if one is configured, else to the sandbox.

    Prints which one, checks the key by reading the balance, and resumes in the
    background the jobs that an earlier session left unanswered or unsettled. Before
    anything is sent again, it prints what is sent and what that may cost.

    Args:
        base_url: The hosted service; `MEDIAKIT_BASE_URL` when omitted.
        api_key: Its key; `MEDIAKIT_API_KEY` when omitted.
        home: The folder of the history and the sandbox; `MEDIAKIT_HOME` when omitted.
        history: The history's database; `MEDIAKIT_HISTORY` when omitted.
        catalog: The functions; by default those that `mediakit.toml` binds, or the
            sandbox's. The embedded sandbox serves these.
        project: A label for all submissions; None for no label.
        budget: The spending limit, such as "$5": of the project, across all its clients
            and runs, or of this client if there is no project. A `mk.Budget` is shared
            by its name.
        own_rates: Let budgets hold amounts at the rates of `mediakit.toml` even if the
            price list's are higher; otherwise, the higher of the two is held.
        transport: An httpx transport for all requests, such as
            `httpx.AsyncHTTPTransport(verify=...)` or a `MockTransport`. It replaces the
            environment's proxies, and is closed with the client.

    Raises:
        InputError: A setting is invalid.
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
        resent = client.io.call(client.components.submissions.left_to_resend)
    except BaseException:
        client.close()
        raise
    greeting = _greeting(client.backend, balance.spendable_micro_usd)
    print(greeting + _resent_text(resent))  # noqa: T201
    client.io.post(client.core.resume).add_done_callback(_log_failure)
    shell = current_shell()
    if shell is not None:
        # The Tab key offers functions and fields inside a client's calls.
        from mediakit.completion import offer_at, offer_in

        offer_in(shell, offer_at)
    return client


def _greeting(backend: Backend, spendable_micro_usd: int) -> str:
    name = "Sandbox" if backend.is_sandbox else "Connected"
    aside = " (no real money)" if backend.is_sandbox else ""
    catalog = backend.catalog
    return (
        f"{name} at {backend.service.base_url}{aside}: {len(catalog)} functions, "
        f"balance {format_cents(spendable_micro_usd)}.{_gaps_text(catalog)}"
        f"{_rates_text(catalog)}"
    )


def _resent_text(entries: Sequence[Entry]) -> str:
    """Name the submissions that are resent and their price; "" if there are none."""
    if not entries:
        return ""
    reserved = [
        entry.reserved_micro_usd
        for entry in entries
        if entry.estimate_high_micro_usd is not None
    ]
    prices = [f"up to {format_usd(sum(reserved))}"] if reserved else []
    if len(reserved) < len(entries):
        prices.append(f"{len(entries) - len(reserved)} at an unknown price")
    one = len(entries) == 1
    return (
        f" {len(entries)} {'request' if one else 'requests'} from an earlier session "
        f"got no answer and {'is' if one else 'are'} sent again now, "
        f"{' and '.join(prices)}: none is paid for twice."
    )


def _gaps_text(catalog: Catalog) -> str:
    """Return how many functions are unavailable, and why; "" if none."""
    count = len(catalog.left_out)
    if not count:
        return ""
    take, are = ("takes", "is") if count == 1 else ("take", "are")
    bodies = any_of(dict.fromkeys(catalog.left_out.values()))
    return f" {count} more {take} {bodies} instead of a JSON object and {are} left out."


def _rates_text(catalog: Catalog) -> str:
    """List the functions with prices from a file; "" if there are none."""
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
    body: Mapping[str, object] | None = None,
    *,
    seconds: Mapping[str, float | Decimal] | None = None,
    catalog: Catalog | None = None,
    **fields: object,
) -> Estimate:
    """Price a request without a client or a network (spec 8).

    Args:
        function: A kind, or a path.
        body: The fields by name, as a mapping.
        fields: The fields, as in `client.estimate()`; they override those of the body.
        seconds: Known durations of media in the body, seconds by URL.
        catalog: The functions to search; all declared ones by default.

    Raises:
        InputError: The function is unknown, or a field that determines the price is
            missing or invalid.
    """
    values: object = {} if body is None else body
    if not isinstance(values, Mapping):
        accepted = 'the fields by name, such as {"prompt": "a kite"}'
        raise InputError("body", got=values, accepted=accepted)
    facts = InputFacts(seconds=known_lengths(seconds))
    functions = Catalog.default() if catalog is None else catalog
    return functions.function(function).estimate({**values, **fields}, facts)
