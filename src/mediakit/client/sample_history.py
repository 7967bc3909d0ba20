"""A sample history that a sandbox generates, imported as ordinary entries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date, timedelta
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Annotated, Any

from anyio import to_thread
from pydantic import AwareDatetime, Field

from mediakit.api_models import BillingState, JobError, JobStatus, Record
from mediakit.catalog import Catalog, Function
from mediakit.client.budgets import budget_name
from mediakit.client.idempotency_keys import draw_key_of, priced_at
from mediakit.client.responses import error_of, parse
from mediakit.client.retries import READ_RETRY_FOR_S
from mediakit.client.service import Backend, Service
from mediakit.errors import InputError
from mediakit.estimates import Estimate, EstimateKind
from mediakit.history import (
    Entry,
    EntryState,
    Judgement,
    Submission,
    importing,
)
from mediakit.history.entry import PAST, fresh_entry
from mediakit.money import format_usd
from mediakit.rules import ValueDescription
from mediakit.schema import canonical_json

if TYPE_CHECKING:
    from mediakit.client.components import Components

SEED_PATH = "/sandbox/seed"
LIMITS = {"days": (1, 3_650), "jobs": (1, 10_000), "seed": (0, 2**32)}
"""The minimum and maximum that a sandbox accepts."""
PROJECTS = {"autumn campaign": 5, "product films": 3, "social clips": 2}
"""Project labels and their relative weights."""
RATED_SHARE = 0.6
MEAN_RATING, SPREAD = 3.3, 0.9
TASTE = 0.5
"""How much better some prompts and functions are rated than others, in stars."""
RESOLUTIONS = {"480p": -0.8, "1080p": 0.3, "2k": 0.4, "4k": 0.4}
"""How many stars a resolution adds."""
KEPT_FROM = 4
KEPT_SHARE = 0.75
UNKNOWN_KIND = "unknown"
_NOT_KNOWN = Estimate(None, None, EstimateKind.UNKNOWN)

Amount = Annotated[int, Field(ge=0, strict=True)]


class PastJob(Record):
    """A sample job: its request, the account that sent it, and its outcome."""

    job_id: str
    function: str
    body: dict[str, Any]
    account: str
    status: JobStatus
    error: JobError | None = None
    media_type: str | None = None
    content_type: str | None = None
    charge_micro_usd: Amount
    created_at: AwareDatetime
    started_at: AwareDatetime
    ended_at: AwareDatetime
    settled_at: AwareDatetime
    deleted_at: AwareDatetime


class PastAnswer(Record):
    """The whole sample history, oldest job first."""

    added: int
    requests: tuple[PastJob, ...]


@dataclass(frozen=True)
class SeededPast:
    """The sample history that was imported from a sandbox.

    Args:
        completed: How many of the jobs completed; the others failed and cost nothing.
        first_day: The UTC day of the first submission.
        last_day: The UTC day of the last settlement.
        added_to_sandbox: How many of the jobs are new in the sandbox.
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


async def seed_past(components: Components, numbers: Mapping[str, int]) -> SeededPast:
    """Generate sample jobs in a sandbox and add them to the history."""
    _check(components.backend, numbers)
    content = canonical_json({**numbers, "requests": True})
    transport, catalog = components.transport, components.backend.catalog

    # A retry is safe: the same jobs are generated only once.
    once = partial(transport.exchange, "POST", SEED_PATH, content=content)
    answer = await transport.until_answered(once, for_s=READ_RETRY_FOR_S)
    if answer.status not in (200, 201):
        raise error_of(answer, "the sample history", components.clock)

    body = await to_thread.run_sync(parse, PastAnswer, answer)
    past = body.requests

    def write() -> int:
        entries = entries_of(past, transport.service, catalog)
        judgements = dict(judgements_of(past))
        return importing.import_entries(components.store, entries, judgements)

    added = await to_thread.run_sync(write)
    return SeededPast(
        jobs=len(past),
        completed=sum(job.status is JobStatus.COMPLETED for job in past),
        charge_micro_usd=sum(job.charge_micro_usd for job in past),
        first_day=past[0].created_at.date(),
        last_day=max(job.settled_at for job in past).date(),
        added_to_sandbox=body.added,
        added_to_history=added,
    )


def _check(backend: Backend, numbers: Mapping[str, int]) -> None:
    """Reject a service that is not a sandbox, and numbers out of range."""
    if not backend.is_sandbox:
        accepted = "connected to a sandbox on this machine"
        text = ValueDescription(f"one connected to {backend.service.label}")
        raise InputError("client", got=text, accepted=accepted)
    for name, (least, most) in LIMITS.items():
        value = numbers[name]
        if type(value) is not int or not least <= value <= most:
            accepted = f"a whole number from {least} to {most:,}"
            raise InputError(name, got=value, accepted=accepted)


def entries_of(
    past: Iterable[PastJob], service: Service, catalog: Catalog
) -> Iterator[Entry]:
    """Yield the entry of each job, as if it had been submitted from here."""
    functions = {function.path: function for function in catalog}
    takes: Counter[str] = Counter()
    for job in past:
        function = functions.get(job.function)
        content = canonical_json(job.body)
        draw_key = draw_key_of(service.identity, job.function, content)
        takes[draw_key] += 1
        random = Random(job.job_id)
        (project,) = random.choices([*PROJECTS], [*PROJECTS.values()])
        submission = Submission(
            key=f"{PAST}{job.job_id}",
            draw_key=f"{PAST}{draw_key}",
            asked_key=f"{PAST}{job.job_id}",
            service=service.identity,
            account=job.account,
            function=job.function,
            kind=UNKNOWN_KIND if function is None else function.kind,
            body=content,
            prompt=_prompt(job),
            webhook_url=None,
            take=takes[draw_key],
            attempt=1,
            estimate_kind=EstimateKind.UNKNOWN.value,
            estimate_low_micro_usd=None,
            estimate_high_micro_usd=None,
            reserved_micro_usd=0,
            project=project,
            budget=budget_name(project, None),
        )
        submission = priced_at(submission, _estimate(function, job))
        # The history numbers the entry when it is written.
        entry = fresh_entry(submission, number=0, created_at=job.created_at)
        yield replace(
            entry,
            state=EntryState.SETTLED,
            job_id=job.job_id,
            status=job.status,
            error_code=job.error.code if job.error else None,
            error_message=job.error.message if job.error else None,
            billing_state=BillingState.SETTLED,
            charge_micro_usd=job.charge_micro_usd,
            media_type=job.media_type,
            content_type=job.content_type,
            submitted_at=job.created_at,
            finished_at=job.ended_at,
            settled_at=job.settled_at,
            deleted_at=job.deleted_at,
        )


def _estimate(function: Function | None, job: PastJob) -> Estimate:
    if function is None:
        return _NOT_KNOWN
    try:
        return function.estimate(job.body)
    except InputError:  # a custom catalog may take other fields
        return _NOT_KNOWN


def judgements_of(past: Iterable[PastJob]) -> Iterator[tuple[str, Judgement]]:
    """Yield ratings for some of the completed jobs, by entry key."""
    for job in past:
        random = Random(f"rating of {job.job_id}")
        if job.status is not JobStatus.COMPLETED or random.random() >= RATED_SHARE:
            continue
        rating = min(max(round(random.gauss(_pleases(job), SPREAD)), 1), 5)
        minutes = random.randrange(1, 90)
        yield (
            f"{PAST}{job.job_id}",
            Judgement(
                job_id=job.job_id,
                rating=rating,
                keep=rating >= KEPT_FROM and random.random() < KEPT_SHARE,
                tags=(),
                note="",
                rater="",
                rated_at=job.ended_at + timedelta(minutes=minutes),
            ),
        )


def _pleases(job: PastJob) -> float:
    """Return the mean rating of jobs like this one, to give the data a pattern."""
    tastes = (
        Random(f"taste for {subject}") for subject in (_prompt(job), job.function)
    )
    liked = sum(taste.uniform(-TASTE, TASTE) for taste in tastes)
    resolution = str(job.body.get("resolution")).lower()
    return MEAN_RATING + liked + RESOLUTIONS.get(resolution, 0.0)


def _prompt(job: PastJob) -> str | None:
    prompt = job.body.get("prompt")
    return prompt if isinstance(prompt, str) else None
