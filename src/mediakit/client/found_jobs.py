"""Jobs that are found outside the history, such as by their sidecar; pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from mediakit.client.idempotency import (
    NOTHING_KNOWN,
    key_of,
)
from mediakit.client.service import Service
from mediakit.client.sidecar import Sidecar
from mediakit.history import Submission
from mediakit.history.entry import rebuilt_key
from mediakit.rates import EstimateKind, metered_hold

JOB_ID = re.compile(r"media_[0-9A-Za-z-]{1,64}")
_EPOCH = datetime.fromtimestamp(0, UTC)
UNKNOWN = "unknown"


@dataclass(frozen=True)
class FoundJob:
    """A job that was found, and what is known about its request.

    Args:
        job_id: The job.
        source: "id", "file" or "delivery".
        where: The file, or the delivery's id; None for a given id.
        function: The function's path; None if unknown.
        sidecar: The content of the file.
        submitted_at: When it was submitted; None if unknown.
        finished_at: When it ended; None if unknown.
    """

    job_id: str
    source: str
    where: str | None = None
    function: str | None = None
    sidecar: Sidecar | None = None
    submitted_at: datetime | None = None
    finished_at: datetime | None = None

    @property
    def worth(self) -> int:
        """Return how much is known about the request, compared with other sources."""
        if self.sidecar is not None:
            return 3 if self.sidecar.content is not None else 2
        return 1 if self.source == "delivery" else 0

    def submission(self, service: Service, kinds: Mapping[str, str]) -> Submission:
        """Return the submission of the job, as far as it is known.

        Args:
            service: The service that knows the job, and the account there.
            kinds: The kinds of the known functions, by path.
        """
        path = self.function or UNKNOWN
        content = self.sidecar.content if self.sidecar else None
        sidecar = self.sidecar or Sidecar(job_id=self.job_id, service="")
        low, high = sidecar.estimate_low_micro_usd, sidecar.estimate_high_micro_usd
        kind = sidecar.estimate_kind or EstimateKind.UNKNOWN
        hold = high
        if kind is EstimateKind.NOMINAL and high is not None:
            hold = metered_hold(high)
        plain = Submission(
            key=rebuilt_key(self.job_id),
            draw_key=rebuilt_key(self.job_id),
            asked_key=rebuilt_key(self.job_id),
            service=service.identity,
            account=service.account,
            function=path,
            kind=kinds.get(path) or sidecar.kind or UNKNOWN,
            body=NOTHING_KNOWN,
            prompt=None,
            webhook_url=None,
            take=1,
            attempt=1,
            estimate_kind=kind.value,
            estimate_low_micro_usd=low,
            estimate_high_micro_usd=high,
            reserved_micro_usd=hold or low or 0,
            project=sidecar.project,
            budget=sidecar.budget,
            sweep=sidecar.sweep,
        )
        # Only the digest is in the file, and the service is a part of it.
        if sidecar.asked_key and sidecar.service == service.identity:
            plain = replace(plain, asked_key=sidecar.asked_key)
        prompt = (sidecar.body or {}).get("prompt")
        asked = replace(
            plain,
            prompt=prompt if isinstance(prompt, str) else None,
            take=sidecar.take or 1,
            attempt=sidecar.attempt or 1,
        )
        return asked if content is None else _with_content(asked, sidecar, content)


def _with_content(asked: Submission, sidecar: Sidecar, content: bytes) -> Submission:
    draw_key = sidecar.draw_key(asked.service, content)
    has_digest = asked.asked_key == sidecar.asked_key
    return replace(
        asked,
        key=key_of(draw_key, asked.take, asked.attempt),
        draw_key=draw_key,
        asked_key=asked.asked_key if has_digest else draw_key,
        body=content,
    )


def found_by_sidecar(sidecar: Sidecar, where: str) -> FoundJob | None:
    """Return the job of a sidecar; None if it names no job."""
    if not JOB_ID.fullmatch(sidecar.job_id):
        return None
    return FoundJob(
        sidecar.job_id,
        "file",
        where,
        function=sidecar.function,
        sidecar=sidecar,
        submitted_at=sidecar.submitted_at,
        finished_at=sidecar.finished_at,
    )


def best_of(found: Iterable[FoundJob]) -> list[FoundJob]:
    """Return each job once, from its most complete source; oldest first."""
    best: dict[str, FoundJob] = {}
    for job in found:
        known = best.get(job.job_id)
        if known is None or job.worth > known.worth:
            best[job.job_id] = job
    return sorted(best.values(), key=_age)


def _age(job: FoundJob) -> tuple[bool, datetime]:
    at = job.submitted_at or job.finished_at
    return at is None, at or _EPOCH
