"""What a sandbox says of the past that it made up."""

from typing import Annotated, Any

from pydantic import AwareDatetime, Field

from mediakit.records import JobStatus, Record

Amount = Annotated[int, Field(ge=0, strict=True)]


class PastError(Record):
    """Why a job of the past failed."""

    code: str
    message: str


class PastJob(Record):
    """A job of the past: what it was asked for, and what became of it.

    Args:
        account: The account of the key that sent it, as a client of that key calls it.
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
    """The past as a whole; its jobs come oldest first."""

    added: int
    requests: tuple[PastJob, ...]
