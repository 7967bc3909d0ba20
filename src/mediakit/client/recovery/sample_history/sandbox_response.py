"""The sandbox's response with the sample history that it generates."""

from typing import Annotated, Any

from pydantic import AwareDatetime, Field

from mediakit.records import JobStatus, Record

Amount = Annotated[int, Field(ge=0, strict=True)]


class PastError(Record):
    """Why a sample job failed."""

    code: str
    message: str


class PastJob(Record):
    """A sample job: its request and its outcome.

    Args:
        account: The account of the API key that sent it, as its client names it.
    """

    job_id: str
    function: str
    body: dict[str, Any]
    api_key_id: str
    account: str
    status: JobStatus
    error: PastError | None = None
    media_type: str | None = None
    content_type: str | None = None
    charge_micro_usd: Amount
    created_at: AwareDatetime
    started_at: AwareDatetime
    ended_at: AwareDatetime
    settled_at: AwareDatetime
    deleted_at: AwareDatetime


class PastAnswer(Record):
    """The whole sample history, with the oldest job first."""

    added: int
    requests: tuple[PastJob, ...]
