"""Generates sample jobs in a sandbox and imports them into the history."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from functools import partial

from anyio import to_thread

from mediakit.catalog import Catalog
from mediakit.client.account_history import AccountHistory
from mediakit.client.answers import Answer, NoAnswerError, error_of, parse
from mediakit.client.http import READ_RETRY_FOR_S, ServiceClient
from mediakit.client.recovery.sample_history.sample_entries import (
    entries_of,
    judgements_of,
)
from mediakit.client.recovery.sample_history.sandbox_response import PastAnswer
from mediakit.clock import Clock
from mediakit.errors import InputError
from mediakit.history import Entry, Judgement, rebuilding
from mediakit.money import format_usd
from mediakit.records import JobStatus
from mediakit.schema import canonical_json

SEED_PATH = "/sandbox/seed"
LIMITS = {"days": (1, 3_650), "jobs": (1, 10_000), "seed": (0, 2**32)}
"""The least and the most that a sandbox accepts."""


@dataclass(frozen=True)
class SeededPast:
    """The sample history that was imported from a sandbox.

    Args:
        jobs: How many jobs it has.
        completed: How many of them completed; the others failed and cost nothing.
        charge_micro_usd: The sum of their charges.
        first_day: The UTC day of the first submission.
        last_day: The UTC day of the last settlement.
        added_to_sandbox: How many of them are new in the sandbox.
        added_to_history: How many of them are new in the history.
    """

    jobs: int
    completed: int
    charge_micro_usd: int
    first_day: date
    last_day: date
    added_to_sandbox: int
    added_to_history: int

    @property
    def text(self) -> str:
        """Return a summary in one sentence."""
        new = f"{self.added_to_history:,}" if self.added_to_history else "none"
        return (
            f"{self.jobs:,} jobs from {self.first_day} to {self.last_day}, "
            f"{format_usd(self.charge_micro_usd)} charged; {new} of them new in the "
            "history."
        )

    def __str__(self) -> str:
        return self.text


def check_past(*, is_sandbox: bool, label: str, asked: Mapping[str, object]) -> None:
    """Reject a service that is not a sandbox, and numbers that a sandbox rejects.

    Args:
        is_sandbox: Whether the service is a sandbox on this machine.
        label: What people call the service.
        asked: The arguments by name: days, jobs and seed.

    Raises:
        InputError: One of them is invalid; nothing was sent.
    """
    if not is_sandbox:
        accepted = "a client of a sandbox on this machine"
        raise InputError("seed_past", got=f"a client of {label}", accepted=accepted)
    for name, (least, most) in LIMITS.items():
        value = asked[name]
        is_whole = isinstance(value, int) and not isinstance(value, bool)
        if not is_whole or not least <= int(str(value)) <= most:
            accepted = f"a whole number from {least} to {most:,}"
            raise InputError(name, got=value, accepted=accepted)


async def seed_past(
    transport: ServiceClient,
    account_history: AccountHistory,
    catalog: Catalog,
    clock: Clock,
    asked: Mapping[str, int],
) -> SeededPast:
    """Generate sample jobs in a sandbox and write them to the history.

    Args:
        transport: Sends the request to the sandbox.
        account_history: Writes to the history.
        catalog: Names the functions, and prices them.
        clock: For errors that name an instant.
        asked: The arguments by name: days, jobs and seed.

    Raises:
        ServiceError: The sandbox does not respond, or rejects the request.
    """
    answer = await _asked(transport, asked)
    if answer.status not in (200, 201):
        raise error_of(answer, "the past", clock)
    service = transport.service.identity
    said, entries, judged = await to_thread.run_sync(
        partial(_read, answer, service, catalog)
    )
    added = await account_history.write(rebuilding.take_in, entries, judged)
    return SeededPast(
        jobs=len(entries),
        completed=sum(entry.status is JobStatus.COMPLETED for entry in entries),
        charge_micro_usd=sum(job.charge_micro_usd for job in said.requests),
        first_day=said.requests[0].created_at.date(),
        last_day=max(job.settled_at for job in said.requests).date(),
        added_to_sandbox=said.added,
        added_to_history=added,
    )


async def _asked(transport: ServiceClient, asked: Mapping[str, int]) -> Answer:
    content = canonical_json({**asked, "requests": True})

    async def once() -> Answer:
        # A retry is safe: the same jobs are generated only once.
        return await transport.exchange("POST", SEED_PATH, content=content)

    try:
        return await transport.retry_until_answered(once, for_s=READ_RETRY_FOR_S)
    except NoAnswerError as error:
        raise transport.silence(error) from error


def _read(
    answer: Answer, service: str, catalog: Catalog
) -> tuple[PastAnswer, list[Entry], dict[str, Judgement]]:
    said = parse(PastAnswer, answer)
    entries = list(entries_of(said.requests, service, catalog))
    return said, entries, dict(judgements_of(said.requests))
