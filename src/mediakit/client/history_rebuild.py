"""Rebuilds a lost history from the service and from sidecars."""

from __future__ import annotations

import logging
import re
from collections.abc import AsyncIterator, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from anyio import to_thread

from mediakit.api_models import Delivery, Job
from mediakit.catalog import Catalog
from mediakit.client.account import DELIVERIES_PATH, LARGEST_PAGE, AsyncDeliveries
from mediakit.client.account_history import AccountHistory
from mediakit.client.http import READ_RETRY_FOR_S, ServiceClient
from mediakit.client.jobs import Jobs
from mediakit.client.polling import process_read_limiter
from mediakit.client.sidecar import SUFFIX, Sidecar, parse_sidecar
from mediakit.clock import Clock
from mediakit.errors import AnswerError, InputError, MediakitError, NotFoundError
from mediakit.history import Entry, History, Upload, importing, uploads
from mediakit.history.entry import REBUILT
from mediakit.webhooks import Event

if TYPE_CHECKING:
    import pandas as pd

T = TypeVar("T")

log = logging.getLogger("mediakit.client")

LARGEST_SIDECAR_BYTES = 4_000_000
JOB_ID = re.compile(r"media_[0-9A-Za-z-]{1,64}")
OUTCOMES = ("added", "completed", "known", "unknown", "unreadable")
SOURCES = ("id", "file", "delivery")
_LAST = datetime.max.replace(tzinfo=UTC)
Row = dict[str, Any]


@dataclass(frozen=True)
class _Found:
    """A job that was found, and what is known of it, as its sidecar has it."""

    sidecar: Sidecar
    source: str
    where: str | None = None

    def row(self, outcome: str, entry: Entry | None = None) -> Row:
        """Return the outcome for the job."""
        return {
            "outcome": outcome,
            "source": self.source,
            "where": self.where,
            "job_id": self.sidecar.job_id,
            "function": (entry or self.sidecar).function,
            "charge_micro_usd": entry.charge_micro_usd if entry else None,
        }


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
    ) -> None:
        self._service = transport.service
        self._deliveries = deliveries
        self._account_history = account_history
        self._jobs = jobs
        self._kinds = {function.path: function.kind for function in catalog}
        self._clock = clock

    async def rebuild(
        self,
        job_ids: str | Iterable[str],
        folders: str | Path | Iterable[str | Path],
        *,
        deliveries: bool,
    ) -> pd.DataFrame:
        """Recover all found jobs; see `AsyncHistoryView.rebuild`."""
        ids = _checked(job_ids)
        files = await to_thread.run_sync(lambda: list(_files(_folders(folders))))
        found = [_Found(sidecar, "file", path) for path, sidecar in files if sidecar]
        unreadable = [("file", path) for path, sidecar in files if sidecar is None]
        found.sort(key=lambda job: job.sidecar.content is None)
        if deliveries:
            try:
                found += [job async for job in self._delivered()]
            except AnswerError as error:
                log.warning("the delivery log cannot be read: %s", error)
                unreadable.append(("delivery", DELIVERIES_PATH))
        found += [_Found(Sidecar(job_id=id, service=""), "id") for id in ids]
        best = {job.sidecar.job_id: job for job in reversed(found)}  # those first found
        oldest_first = sorted(best.values(), key=lambda job: _at(job) or _LAST)
        rows = [await self._recovered(job) for job in oldest_first]
        rows += [
            {"outcome": "unreadable", "source": source, "where": where}
            for source, where in unreadable
        ]
        return await to_thread.run_sync(_frame, rows)

    async def _recovered(self, found: _Found) -> Row:
        known = found.sidecar
        job_id = found.sidecar.job_id
        before = await self._account_history.ask(History.find, job_id)
        if before is not None and not _tells_more(found, before):
            return found.row("known", before)
        record = await self._read(job_id)
        if record is None:
            await self._account_history.write(
                History.mark_gone, job_id, account=self._service.account
            )
            return found.row("unknown")
        if before is None and found.source == "delivery" and found.where:
            known = known.model_copy(update=await self._of_event(found.where))
        if known.function is None:
            known = known.model_copy(update={"function": record.model_id})
        entry = await self._account_history.write(
            importing.adopt,
            known.submission(self._service, self._kinds),
            record,
            created_at=_at(found) or self._clock.now(),
            submitted_at=known.submitted_at,
            finished_at=known.finished_at,
        )
        for sent in known.inputs:
            await self._account_history.write(
                uploads.remember_upload,
                service=self._service.identity,
                upload=Upload(**sent.model_dump()),
            )
        if entry.charge_micro_usd is None:
            await self._jobs.begun(entry, record)
        if before is None:
            return found.row("added", entry)
        return found.row("known" if before.key == entry.key else "completed", entry)

    async def _read(self, job_id: str) -> Job | None:
        await process_read_limiter().turn()
        try:
            return await self._jobs.reads.read(job_id, for_s=READ_RETRY_FOR_S)
        except NotFoundError:
            return None

    async def _delivered(self) -> AsyncIterator[_Found]:
        """Yield each job in the log of deliveries; its records have no fixed shape."""
        async for page in self._deliveries.pages(limit=LARGEST_PAGE):
            for row in page:
                for value in (row.get("source_id"), *row.values()):
                    if isinstance(value, str) and JOB_ID.fullmatch(value):
                        sidecar = Sidecar(job_id=value, service="")
                        where = Delivery.model_validate(row).id
                        yield _Found(sidecar, "delivery", where)
                        break

    async def _of_event(self, delivery_id: str) -> dict[str, object]:
        """Read the function and the end of a job from its delivered event."""
        try:
            delivery = await self._deliveries.get(delivery_id)
            event = Event.model_validate({"id": delivery_id, **(delivery.event or {})})
        except (MediakitError, ValueError) as error:
            log.debug("a delivery cannot be read: %s", type(error).__name__)
            return {}
        function = event.job.model_id if event.job else None
        return {"function": function, "finished_at": event.timestamp}


def _at(found: _Found) -> datetime | None:
    """Return when a job was submitted, or when it ended; None if unknown."""
    return found.sidecar.submitted_at or found.sidecar.finished_at


def _frame(rows: list[Row]) -> pd.DataFrame:
    import pandas as pd

    from mediakit.history.frames import TEXT

    types: dict[str, Any] = {
        "outcome": pd.CategoricalDtype([*OUTCOMES]),
        "source": pd.CategoricalDtype([*SOURCES]),
        "where": TEXT,
        "job_id": TEXT,
        "function": TEXT,
        "charge_micro_usd": "Int64",
    }
    return pd.DataFrame(rows, columns=[*types], dtype="object").astype(types)


def _tells_more(found: _Found, entry: Entry) -> bool:
    """Return whether a found job adds to what the history has."""
    if entry.charge_micro_usd is None and entry.gone_at is None:
        return True
    return entry.key.startswith(REBUILT) and found.sidecar.content is not None


def _checked(job_ids: str | Iterable[str]) -> list[str]:
    accepted = "job ids: media_<uuid>"
    ids = [job_ids] if isinstance(job_ids, str) else _all("job_ids", job_ids, accepted)
    for job_id in ids:
        if not JOB_ID.fullmatch(str(job_id)):
            raise InputError("job_ids", got=job_id, accepted=accepted)
    return ids


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


def _all(field: str, given: Iterable[T], accepted: str) -> list[T]:
    try:
        return list(given)
    except TypeError:
        raise InputError(field, got=given, accepted=accepted) from None


def _files(folders: Iterable[Path]) -> Iterator[tuple[str, Sidecar | None]]:
    """Yield the sidecars in folders, None for a damaged one; skip other JSON files."""
    for folder in folders:
        for path in sorted(folder.rglob(f"*{SUFFIX}")):
            try:
                if not path.is_file() or path.stat().st_size > LARGEST_SIDECAR_BYTES:
                    continue
                sidecar = parse_sidecar(path.read_bytes())
            except (OSError, ValueError):
                yield str(path), None
            else:
                if sidecar is not None:
                    is_job = JOB_ID.fullmatch(sidecar.job_id)
                    yield str(path), sidecar if is_job else None
