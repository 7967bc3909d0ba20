"""Converts sample jobs to history entries and ratings; pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import timedelta
from random import Random

from mediakit.catalog import Catalog, Function
from mediakit.client.budgets import budget_name
from mediakit.client.idempotency import draw_key_of, priced_at
from mediakit.client.recovery.sample_history.sandbox_response import PastJob
from mediakit.errors import InputError
from mediakit.history import Entry, EntryState, Judgement, Submission
from mediakit.history.entry import PAST, fresh_entry
from mediakit.rates import Estimate, EstimateKind
from mediakit.records import BillingState, JobStatus
from mediakit.schema import canonical_json

PROJECTS = {"autumn campaign": 5, "product films": 3, "social clips": 2}
"""Project labels and their relative weights."""
RATED_SHARE = 0.6
RATINGS = {1: 1, 2: 2, 3: 4, 4: 4, 5: 2}
"""Ratings and their relative weights."""
KEPT_FROM = 4
KEPT_SHARE = 0.75
UNKNOWN_KIND = "unknown"
_NOT_KNOWN = Estimate(None, None, EstimateKind.UNKNOWN)


def entries_of(
    past: Iterable[PastJob], service: str, catalog: Catalog
) -> Iterator[Entry]:
    """Yield the entry of each job, as if it had been submitted from here.

    Their keys differ from request keys, so that submitting the same request makes a
    new job.

    Args:
        past: The jobs, oldest first.
        service: The stable name of the service that generated them.
        catalog: Names the functions, and prices them.
    """
    functions = {function.path: function for function in catalog}
    takes: Counter[str] = Counter()
    for job in past:
        function = functions.get(job.function)
        content = canonical_json(job.body)
        draw_key = draw_key_of(service, job.function, content)
        takes[draw_key] += 1
        prompt, project = job.body.get("prompt"), _project(job)
        submission = Submission(
            key=f"{PAST}{job.job_id}",
            draw_key=f"{PAST}{draw_key}",
            asked_key=f"{PAST}{job.job_id}",
            service=service,
            account=job.account,
            function=job.function,
            kind=UNKNOWN_KIND if function is None else function.kind,
            body=content,
            prompt=prompt if isinstance(prompt, str) else None,
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
        yield _ended(priced_at(submission, _estimate(function, job)), job)


def _ended(submission: Submission, job: PastJob) -> Entry:
    # The history numbers it when it is written.
    entry = fresh_entry(submission, number=0, created_at=job.created_at)
    return replace(
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
    except InputError:  # a custom catalogue may take other fields
        return _NOT_KNOWN


def _project(job: PastJob) -> str:
    (project,) = Random(job.job_id).choices([*PROJECTS], [*PROJECTS.values()])
    return project


def judgements_of(past: Iterable[PastJob]) -> Iterator[tuple[str, Judgement]]:
    """Yield ratings for some of the completed jobs, by entry key."""
    for job in past:
        random = Random(f"rating of {job.job_id}")
        if job.status is not JobStatus.COMPLETED or random.random() >= RATED_SHARE:
            continue
        (rating,) = random.choices([*RATINGS], [*RATINGS.values()])
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
