"""The latest attempt at each take of a function, read for many requests at once."""

from datetime import datetime
from typing import NamedTuple

from sqlalchemy import bindparam, exists, select

from mediakit.history.storage.database import Database
from mediakit.history.storage.tables import entries


class OwnedDraw(NamedTuple):
    """The newest attempt at one take of one content.

    Args:
        draw_key: The exact content without `take` and `attempt`.
        asked_key: The content as the user gave it, also without them.
        take: The number of the draw.
        state: The value of its `EntryState`.
        status: The value of the furthest `JobStatus` seen; None before any.
        error_code: The code of the failure or the refusal.
        job_id: The job; None while none is known.
        charge_micro_usd: The settled charge, micro-USD; None until there is one.
        reserved_micro_usd: The hold when it was submitted, micro-USD.
        output_url: Where the output is; None before completion and after erasure.
        media_type: "video", "image" or "audio"; None while it is not known.
        submitted_at: When a job was first seen.
        finished_at: When the job was first seen completed or failed.
        gone_at: When the service first no longer had the job.
        deleted_at: When the service erased the media.
    """

    draw_key: str
    asked_key: str
    take: int
    state: str
    status: str | None
    error_code: str | None
    job_id: str | None
    charge_micro_usd: int | None
    reserved_micro_usd: int
    output_url: str | None
    media_type: str | None
    submitted_at: datetime | None
    finished_at: datetime | None
    gone_at: datetime | None
    deleted_at: datetime | None


_OF_FUNCTION = tuple(
    entries.c[name] == bindparam(f"its_{name}") for name in ("service", "function")
)
_later = entries.alias()
_HAS_LATER = exists().where(
    _later.c.asked_key == entries.c.asked_key,
    _later.c.take == entries.c.take,
    _later.c.attempt > entries.c.attempt,
)
_DRAWS = (
    select(*(entries.c[name] for name in OwnedDraw._fields))
    .where(*_OF_FUNCTION, ~_HAS_LATER)
    .order_by(entries.c.number)
)


class LatestAttempts:
    """The part of the history that is compared with plans."""

    _database: Database

    def owned_draws(self, *, service: str, function: str) -> list[OwnedDraw]:
        """Return the newest attempt at each take of all requests to a function.

        Args:
            service: The service.
            function: The function's path.

        Returns:
            One draw for each take, whatever its outcome; oldest first.
        """
        values = {"its_service": service, "its_function": function}
        rows = self._database.rows(_DRAWS, values)
        return [OwnedDraw._make(row) for row in rows]
