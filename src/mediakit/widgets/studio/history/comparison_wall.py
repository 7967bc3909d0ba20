"""The wall that compares the selected results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from mediakit.history import Entry, tuning
from mediakit.widgets.gallery import Gallery, ResultActions, WallActions, WallCell
from mediakit.widgets.job.preview import playable_copy
from mediakit.widgets.studio.history.rows import Row

if TYPE_CHECKING:
    from mediakit.blocking_client import Client

TITLE = "Compare results"
POSTER_PX = 240


def wall_of(client: Client, entries: Sequence[Entry], rows: Sequence[Row]) -> Gallery:
    """Return a wall of results, on which they are played together and rated.

    Args:
        client: The client; its history keeps the ratings.
        entries: Submits with results.
        rows: The same in words.
    """
    account_history = client.components.account_history

    async def judge(job_id: str, /, **changes: Any) -> None:
        owner: dict[str, Any] = {**account_history.owner, "job_id": job_id}
        await account_history.write(tuning.judge, **owner, **changes)

    store = client.components.store
    ids = [str(entry.job_id) for entry in entries]
    judged = tuning.judgements(store, **account_history.owner, job_ids=ids)
    known = {each.job_id: each for each in judged}
    cells = [
        _cell(number, entry, row, known.get(entry.job_id or ""))
        for number, (entry, row) in enumerate(zip(entries, rows, strict=True))
    ]

    async def copy(job_id: str) -> bytes:
        return await playable_copy(await client.core.job(job_id))

    async def picture(cell: WallCell) -> bytes | None:
        find = client.components.posters.find
        return await find(str(cell.job_id), str(cell.url), POSTER_PX)

    actions = WallActions(copy=copy, picture=picture, tile=ResultActions(client.core))
    return Gallery(cells, title=TITLE, judge=judge, actions=actions)


def _cell(number: int, entry: Entry, row: Row, said: Any) -> WallCell:
    return WallCell(
        number,
        job_id=entry.job_id,
        labels={"function": row.function},
        prompt=row.prompt,
        take=entry.take,
        status="completed",
        media_type=entry.media_type,
        url=entry.output_url,
        charge_micro_usd=entry.charge_micro_usd,
        rating=said.rating if said else None,
        keep=bool(said and said.keep),
        tags=said.tags if said else (),
        note=said.note if said else "",
    )
