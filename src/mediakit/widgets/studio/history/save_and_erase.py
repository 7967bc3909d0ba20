"""Saves or erases the selected jobs, on the I/O thread."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from anyio import to_thread

from mediakit.client import AsyncJob
from mediakit.errors import MediakitError
from mediakit.history import Entry

if TYPE_CHECKING:
    from mediakit.blocking_client import Client


async def save_all(client: Client, entries: Sequence[Entry], folder: str) -> str:
    """Save results into a folder, and return a sentence that says how it went.

    Args:
        client: The client.
        entries: Submits with results.
        folder: The folder; it is made if it is not there.

    Raises:
        OSError: The folder cannot be made.
        MediakitError: None was saved.
    """
    place = await to_thread.run_sync(_made, folder)

    async def save(job: AsyncJob) -> object:
        return await job.download(place)

    done, first_error = await _each(client, entries, save)
    beside = "Each has a JSON file beside it that says how it was made."
    return _report(f"Saved {_of(done, entries)} to {place}. {beside}", first_error)


def _made(folder: str) -> Path:
    place = Path(folder).expanduser().absolute()
    place.mkdir(parents=True, exist_ok=True)
    return place


async def erase_all(client: Client, entries: Sequence[Entry]) -> str:
    """Erase what the service stores of jobs, and return a sentence about it.

    Args:
        client: The client.
        entries: Submits whose jobs have ended.

    Raises:
        MediakitError: None was erased.
    """

    async def erase(job: AsyncJob) -> object:
        return await job.erase()

    done, first_error = await _each(client, entries, erase)
    return _report(f"Erased {_of(done, entries)}.", first_error)


async def _each(
    client: Client,
    entries: Sequence[Entry],
    act: Callable[[AsyncJob], Awaitable[object]],
) -> tuple[int, str]:
    done, errors = 0, list[MediakitError]()
    for entry in entries:
        try:
            await act(await client.core.job(str(entry.job_id)))
            done += 1
        except MediakitError as error:
            errors.append(error)
    if errors and not done:
        raise errors[0]
    return done, str(errors[0]) if errors else ""


def _of(done: int, entries: Sequence[Entry]) -> str:
    count = f"{done:,}" if done == len(entries) else f"{done:,} of {len(entries):,}"
    return f"{count} result{'' if len(entries) == 1 else 's'}"


def _report(sentence: str, first_error: str) -> str:
    return f"{sentence} First error: {first_error}" if first_error else sentence
