"""Reads and erases single jobs at the service (spec 4.18)."""

from __future__ import annotations

import logging
from urllib.parse import quote

from mediakit.client.answers import Answer, NoAnswerError, error_of, parse
from mediakit.client.http import ServiceClient
from mediakit.clock import Clock
from mediakit.errors import AnswerError, ConflictError, ServiceError
from mediakit.records import LONGEST_URL, Job
from mediakit.safe_text import shown

log = logging.getLogger("mediakit.client")

CONTINUES = "The job continues."
READ_FOR_S = 2.0
ERASE_FOR_S = 5.0


def _path(job_id: str) -> str:
    return f"/v1/media/jobs/{quote(job_id, safe='')}"  # an id is one segment


def _is_404(answer: Answer) -> bool:
    return answer.status == 404


def _is_foreign(answer: Answer) -> bool:
    """Return whether a 404 lacks the service's error shape (spec 7.1)."""
    return answer.status == 404 and not answer.message


class JobReads:
    """The requests about one job; each returns what the service says, or raises."""

    def __init__(self, transport: ServiceClient, clock: Clock) -> None:
        self._transport = transport
        self._clock = clock

    async def read(
        self, job_id: str, *, is_accepted: bool = False, for_s: float = READ_FOR_S
    ) -> Job:
        """Read a job, again for some seconds while there is no answer."""
        answer = await self._transport.read(
            _path(job_id),
            retry_for_s=for_s,
            is_foreign=_is_404 if is_accepted else _is_foreign,
        )
        return await self._job_in(answer, job_id)

    async def read_once(self, job_id: str) -> Job:
        """Read a job, once."""
        try:
            answer = await self._transport.exchange("GET", _path(job_id))
        except NoAnswerError as error:
            raise self._transport.silence(error) from error
        try:
            return await self._job_in(answer, job_id)
        except ServiceError:
            if answer.status != 200 or answer.fields:
                raise
        # A truncated response, or another server's page: not about the job.
        reason = "it answered 200 with something that is not JSON"
        raise self._transport.silence(NoAnswerError(reason, sent=True))

    async def output_url(self, job_id: str) -> str | None:
        """Read where a job's output is; None if the service has none."""
        path = f"{_path(job_id)}/content"
        answer = await self._transport.read(path, retry_for_s=READ_FOR_S)
        if answer.status in (404, 409):
            return None
        if answer.status != 200:
            raise error_of(answer, f"the output of {job_id}", self._clock)
        url = answer.fields.get("url")
        return url if isinstance(url, str) and len(url) <= LONGEST_URL else None

    async def erase(self, job_id: str) -> None:
        """Erase a job's media and request."""
        path = _path(job_id)
        answer = await self._transport.until_answered(
            lambda: self._transport.exchange("DELETE", path), for_s=ERASE_FOR_S
        )
        if answer.status == 409:
            raise ConflictError(
                f"The job {job_id} has not ended yet; it can be erased once it has. "
                "This service cannot cancel jobs.",
                status=409,
                job_id=job_id,
            )
        self._refuse_foreign(answer, job_id)
        if not 200 <= answer.status < 300:
            raise error_of(answer, f"the job {job_id}", self._clock)

    async def _job_in(self, answer: Answer, job_id: str) -> Job:
        self._refuse_foreign(answer, job_id)
        if answer.status != 200:
            then = CONTINUES if answer.status == 429 else ""
            raise error_of(answer, f"the job {job_id}", self._clock, then=then)
        job = parse(Job, answer)
        if job.id != job_id:
            raise ServiceError(
                f"The service answered a request for the job {job_id} with the job "
                f"{shown(job.id)}. Try again.",
                status=answer.status,
                job_id=job_id,
            )
        if not job.has_unread_output:
            return job
        try:
            url = await self.output_url(job_id)
        except AnswerError as error:
            log.debug("the content of a job cannot be read: %s", error)
            return job
        return job if url is None else job.with_file(url)

    def _refuse_foreign(self, answer: Answer, job_id: str) -> None:
        if not _is_foreign(answer):
            return
        raise ServiceError(
            f"{self._transport.service.base_url} answered 404 for the job {job_id}, "
            "but not as the service does: a gateway may be unable to reach it. The job "
            "may exist. Check the base URL and the network, then try again.",
            status=404,
            job_id=job_id,
        )
