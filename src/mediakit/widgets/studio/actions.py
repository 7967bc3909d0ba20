"""Actions on the selected jobs of the studio, on the I/O thread."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from anyio import to_thread

from mediakit.client import AsyncJob, recipes
from mediakit.client.job_acts import Act, Consent, results_text
from mediakit.errors import InputError, MediakitError
from mediakit.history import Entry, ratings
from mediakit.widgets.gallery import Gallery, ResultActions, WallCell, judged_as
from mediakit.widgets.studio.history import row_of

if TYPE_CHECKING:
    from mediakit.blocking_client import Client


async def save_all(
    client: Client, act: Act, entries: Sequence[Entry], folder: str
) -> str:
    def made() -> Path:
        place = Path(folder).expanduser().absolute()
        try:
            place.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            reason = error.strerror or type(error).__name__
            accepted = f"a folder that can be created ({reason})"
            raise InputError("folder", got=folder, accepted=accepted) from None
        return place

    place = await to_thread.run_sync(made)
    done, problem = await _each(
        client, entries, lambda job: job.download(place, recipe=recipes.are_on())
    )
    assert act.many is not None
    return act.many.done.format(results_text(done, len(entries)), place) + problem


async def do_all(client: Client, act: Act, entries: Sequence[Entry]) -> str:
    """Do an act with each job; return a message."""
    assert act.many is not None
    do = act.do
    assert do is not None  # the studio handles acts without `do` itself
    done, problem = await _each(client, entries, lambda job: do(job, Consent()))
    return act.many.done.format(results_text(done, len(entries))) + problem


async def _each(
    client: Client,
    entries: Sequence[Entry],
    act: Callable[[AsyncJob], Awaitable[object]],
) -> tuple[int, str]:
    done = 0
    errors: list[MediakitError] = []
    for entry in entries:
        try:
            await act(await client.core.job(str(entry.job_id)))
            done += 1
        except MediakitError as error:
            errors.append(error)
    if errors and not done:
        raise errors[0]
    return done, f" First error: {errors[0]}" if errors else ""


def wall_of(
    client: Client,
    entries: Sequence[Entry],
    judged: Sequence[ratings.Judgement],
) -> Gallery:
    names = client.components.media_names.known
    by_job = {judgement.job_id: judgement for judgement in judged}

    def cell(number: int, entry: Entry) -> WallCell:
        row = row_of(entry, client.catalog, names)
        return WallCell(
            number,
            job_id=entry.job_id,
            prompt=row["title"],
            take=entry.take,
            status="completed",
            media_type=entry.media_type,
            url=entry.output_url,
            charge_micro_usd=entry.charge_micro_usd,
            **judged_as(by_job.get(entry.job_id or "")),
            made=row["function"],
        )

    cells = [cell(number, entry) for number, entry in enumerate(entries)]
    own = ResultActions(client.core)
    return Gallery(
        cells,
        title="Compare results",
        judge=own.judge,
        actions=own.wall_actions(),
        compares=True,
    )
