"""Rebuilds a lost history from the service and from sidecars."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from anyio import to_thread

from mediakit.catalog import Catalog
from mediakit.client.account_history import AccountHistory
from mediakit.client.account import DELIVERIES_PATH, AsyncDeliveries
from mediakit.client.found_jobs import JOB_ID, FoundJob, best_of
from mediakit.client.found_jobs import found_by_sidecar as by_sidecar
from mediakit.client.http import READ_RETRY_FOR_S, ServiceClient
from mediakit.client.jobs.client_jobs import Jobs
from mediakit.client.jobs.polling import Turns, process_turns
from mediakit.client.sidecar import SUFFIX, read_sidecar
from mediakit.clock import Clock
from mediakit.errors import AnswerError, InputError, MediakitError, NotFoundError
from mediakit.history import Entry, History, Upload, rebuilding, tuning
from mediakit.history.entry import REBUILT
from mediakit.records import Delivery, Job

T = TypeVar("T")

log = logging.getLogger("mediakit.client")

PAGE = 100
LARGEST_SIDECAR_BYTES = 4_000_000

ADDED = "added"
COMPLETED = "completed"
KNOWN = "known"
UNKNOWN = "unknown"
UNREADABLE = "unreadable"
OUTCOMES = (ADDED, COMPLETED, KNOWN, UNKNOWN, UNREADABLE)
SOURCES = ("id", "file", "delivery")


@dataclass(frozen=True)
class Rebuilt:
    """The outcome for one found job or file.

    `where` is the file, or the id of the delivery; None for a given id.
    """

    outcome: str
    source: str
    where: str | None = None
    job_id: str | None = None
    function: str | None = None
    charge_micro_usd: int | None = None


class Rebuilder:
    """Finds jobs outside the history, reads them from the service, and adds them."""

    def __init__(
        self,
        transport: ServiceClient,
        deliveries: AsyncDeliveries,
        account_history: AccountHistory,
        jobs: Jobs,
        catalog: Catalog,
        clock: Clock,
        turns: Turns | None = None,
    ) -> None:
        self._service = transport.service
        self._deliveries = deliveries
        self._account_history = account_history
        self._jobs = jobs
        self._kinds = {function.path: function.kind for function in catalog}
        self._clock = clock
        self._turns = turns

    async def rebuild(
        self,
        job_ids: str | Iterable[str],
        folders: str | Path | Iterable[str | Path],
        *,
        deliveries: bool,
    ) -> list[Rebuilt]:
        """Recover all found jobs; see `AsyncHistoryView.rebuild`."""
        named = [FoundJob(job_id, "id") for job_id in _checked(job_ids)]
        files = await to_thread.run_sync(lambda: list(_files(_folders(folders))))
        found = named + [job for _, job in files if job is not None]
        done = [
            Rebuilt(UNREADABLE, "file", str(path)) for path, job in files if not job
        ]
        if deliveries:
            try:
                found += [job async for job in self._delivered()]
            except AnswerError as error:
                log.warning("the delivery log cannot be read: %s", error)
                done.append(Rebuilt(UNREADABLE, "delivery", DELIVERIES_PATH))
        return [await self._take_in(job) for job in best_of(found)] + done

    async def _take_in(self, found: FoundJob) -> Rebuilt:
        before = await self._account_history.ask(History.find, found.job_id)
        if before is not None and not _tells_more(found, before):
            return _rebuilt(KNOWN, found, before)
        record = await self._read(found.job_id)
        if record is None:
            await self._account_history.write(
                History.mark_gone, found.job_id, account=self._service.account
            )
            return Rebuilt(
                UNKNOWN, found.source, found.where, found.job_id, found.function
            )
        if before is None and found.source == "delivery":
            found = await self._with_event(found)
        found = replace(found, function=found.function or record.model_id)
        entry = await self._account_history.write(
            rebuilding.adopt,
            found.submission(self._service, self._kinds),
            record,
            created_at=found.submitted_at or found.finished_at or self._clock.now(),
            submitted_at=found.submitted_at,
            finished_at=found.finished_at,
        )
        await self._remember_inputs(found)
        if entry.charge_micro_usd is None:
            self._jobs.watched(await self._jobs.state_of(entry, record))
        return _rebuilt(_outcome(before, entry), found, entry)

    async def _remember_inputs(self, found: FoundJob) -> None:
        """Record the URLs that the request names for its files."""
        for sent in found.sidecar.inputs if found.sidecar else ():
            await self._account_history.write(
                tuning.remember_upload,
                service=self._service.identity,
                upload=Upload(**sent.model_dump()),
            )

    async def _read(self, job_id: str) -> Job | None:
        await (self._turns or process_turns()).turn()
        try:
            return await self._jobs.reads.read(job_id, for_s=READ_RETRY_FOR_S)
        except NotFoundError:
            return None

    # -- the delivery log ---------------------------------------------------------

    async def _delivered(self) -> AsyncIterator[FoundJob]:
        """Yield each job in the log once; its records have no fixed shape."""
        seen: set[str] = set()
        async for page in self._deliveries.pages(limit=PAGE):
            for row in page:
                job_id = _job_id_in(row)
                if job_id is not None and job_id not in seen:
                    seen.add(job_id)
                    yield FoundJob(job_id, "delivery", Delivery.model_validate(row).id)

    async def _with_event(self, found: FoundJob) -> FoundJob:
        """Add the function and the end of the job from the delivered event."""
        if found.where is None:
            return found
        try:
            delivery = await self._deliveries.get(found.where)
        except MediakitError as error:
            log.debug("a delivery cannot be read: %s", error)
            return found
        event = delivery.event or {}
        data = event.get("data")
        return replace(
            found,
            function=_text_in(data, "model_id"),
            finished_at=_instant(_text_in(event, "timestamp")),
        )


def _tells_more(found: FoundJob, entry: Entry) -> bool:
    """Return whether a found job adds to what the history has."""
    if entry.charge_micro_usd is None and entry.gone_at is None:
        return True
    return entry.key.startswith(REBUILT) and found.worth > 2


def _outcome(before: Entry | None, after: Entry) -> str:
    if before is None:
        return ADDED
    return KNOWN if before.key == after.key else COMPLETED


def _rebuilt(outcome: str, found: FoundJob, entry: Entry) -> Rebuilt:
    return Rebuilt(
        outcome,
        found.source,
        found.where,
        found.job_id,
        entry.function,
        entry.charge_micro_usd,
    )


def _checked(job_ids: str | Iterable[str]) -> Sequence[str]:
    accepted = "job ids: media_<uuid>"
    ids = [job_ids] if isinstance(job_ids, str) else _all("job_ids", job_ids, accepted)
    for job_id in ids:
        if not JOB_ID.fullmatch(str(job_id)):
            raise InputError("job_ids", got=job_id, accepted=accepted)
    return ids


def _all(field: str, given: Iterable[T], accepted: str) -> list[T]:
    try:
        return list(given)
    except TypeError:
        raise InputError(field, got=given, accepted=accepted) from None


def _folders(folders: str | Path | Iterable[str | Path]) -> list[Path]:
    accepted = "folders that results were saved to"
    if isinstance(folders, str | Path):
        folders = [folders]
    given = _all("folders", folders, accepted)
    paths = [Path(folder).expanduser() for folder in given]
    for path in paths:
        if not path.is_dir():
            raise InputError("folders", got=str(path), accepted=accepted)
    return paths


def _files(folders: Iterable[Path]) -> Iterator[tuple[Path, FoundJob | None]]:
    """Yield the sidecars in folders; other JSON files are skipped."""
    for folder in folders:
        for path in sorted(folder.rglob(f"*{SUFFIX}")):
            try:
                if not path.is_file() or path.stat().st_size > LARGEST_SIDECAR_BYTES:
                    continue
                sidecar = read_sidecar(path.read_bytes())
            except (OSError, ValueError):
                yield path, None
                continue
            if sidecar is not None:
                yield path, by_sidecar(sidecar, str(path))


def _job_id_in(row: dict[str, Any]) -> str | None:
    values = [row.get("source_id"), *row.values()]
    ids = (v for v in values if isinstance(v, str) and JOB_ID.fullmatch(v))
    return next(ids, None)


def _text_in(fields: object, name: str) -> str | None:
    value = fields.get(name) if isinstance(fields, dict) else None
    return value if isinstance(value, str) and value else None


def _instant(text: str | None) -> datetime | None:
    try:
        instant = datetime.fromisoformat(text or "")
        return instant.astimezone(UTC) if instant.tzinfo is not None else None
    except (ValueError, OverflowError):
        return None
