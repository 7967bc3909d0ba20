"""What was asked of one function before, read lightly for many requests at once."""

from datetime import datetime
from typing import NamedTuple

from sqlalchemy import bindparam, exists, select

from mediakit.history.storage.database import Database
from mediakit.history.storage.tables import entries


class OwnedDraw(NamedTuple):
    """The newest attempt at one take of one content.

    Args:
        draw_key: The content without `take` and `attempt`.
        take: Which draw of it.
        state: How far its submit is, as `EntryState` writes it.
        status: The furthest status seen, as `JobStatus` writes it; None before any.
        error_code: Why the job failed, or the code of a refusal.
        job_id: The job; None while none is known.
        charge_micro_usd: The settled charge; None until there is one.
        reserved_micro_usd: What was held for it when it was submitted.
        output_url: Where the output is; None before completion and after erasure.
        media_type: "video", "image" or "audio"; None while it is not known.
        submitted_at: When a job was first seen.
        finished_at: When the job was first seen ended.
        gone_at: When the service was first found not to know the job any more.
        deleted_at: When the service erased the media.
    """

    draw_key: str
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
    entries.c[name] == bindparam(f"its_{name}")
    for name in ("service", "account", "function")
)
_later = entries.alias()
_HAS_LATER = exists().where(
    _later.c.draw_key == entries.c.draw_key,
    _later.c.take == entries.c.take,
    _later.c.attempt > entries.c.attempt,
)
_DRAWS = (
    select(*(entries.c[name] for name in OwnedDraw._fields))
    .where(*_OF_FUNCTION, ~_HAS_LATER)
    .order_by(entries.c.number)
)


class Draws:
    """The part of the history that is compared with plans."""

    _database: Database

    def owned_draws(
        self, *, service: str, account: str, function: str
    ) -> list[OwnedDraw]:
        """Return the newest attempt at each take of all that a function was asked.

        Args:
            service: Of this service.
            account: Of this account.
            function: The function's path.

        Returns:
            One a take, whatever became of it, oldest first; read at once, without
            bodies.
        """
        rows = self._database.rows(_DRAWS, _its(service, account, function))
        return [OwnedDraw._make(row) for row in rows]


def _its(service: str, account: str, function: str) -> dict[str, str]:
    return {"its_service": service, "its_account": account, "its_function": function}
