"""Rebuilds a lost history from the service and sidecars."""

from __future__ import annotations

import logging
import re
from collections.abc import AsyncIterator, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import anyio
from anyio import to_thread

from mediakit.api_models import Delivery, JobRecord
from mediakit.catalog import Catalog
from mediakit.client.account_history import AccountHistory
from mediakit.client.deliveries import DELIVERIES_PATH, LARGEST_PAGE, AsyncDeliveries
from mediakit.client.downloads import Piece
from mediakit.client.http import ServiceClient
from mediakit.client.idempotency_keys import name_of_file, name_of_job
from mediakit.client.job_texts import plain_id
from mediakit.client.jobs import Jobs
from mediakit.client.polling import process_read_limiter
from mediakit.client.retries import READ_RETRY_FOR_S
from mediakit.client.sidecar import SUFFIX, Input, Sidecar, parse_sidecar
from mediakit.clock import Clock
from mediakit.errors import (
    AnswerError,
    InputError,
    MediakitError,
    NotFoundError,
    ServiceError,
)
from mediakit.history import Entry, History, Upload, importing, uploads
from mediakit.history.entry import REBUILT
from mediakit.media.bodies import urls_in
from mediakit.webhooks import Event

if TYPE_CHECKING:
    import pandas as pd

T = TypeVar("T")

log = logging.getLogger("mediakit.client")

LARGEST_SIDECAR_BYTES = 4_000_000
INPUT_WITHIN_S = 60.0
JOB_ID = re.compile(r"media_[0-9A-Za-z-]{1,64}")
OUTCOMES = ("added", "completed", "known", "unknown", "unreadable")
SOURCES = ("id", "file", "delivery")
_LAST = datetime.max.replace(tzinfo=UTC)
Row = dict[str, Any]


@dataclass(frozen=True)
class _Found:
    """A recovered job, and its sidecar."""

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
    """Finds jobs that the history lacks, reads them from the service, adds them."""

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
        jobs = [_Found(sidecar, "file", path) for path, sidecar in files if sidecar]
        unreadable = [("file", path) for path, sidecar in files if sidecar is None]
        jobs.sort(key=lambda job: job.sidecar.content is None)
        if deliveries:
            try:
                jobs += [job async for job in self._delivered()]
            except AnswerError as error:
                log.warning("the delivery log cannot be read: %s", error)
                unreadable.append(("delivery", DELIVERIES_PATH))
        jobs += [_Found(Sidecar(job_id=id, service=""), "id") for id in ids]
        best = {job.sidecar.job_id: job for job in reversed(jobs)}  # the first wins
        oldest_first = sorted(best.values(), key=lambda job: _at(job) or _LAST)
        rows = [await self._row(job) for job in oldest_first]
        rows += [
            {"outcome": "unreadable", "source": source, "where": where}
            for source, where in unreadable
        ]
        return await to_thread.run_sync(_frame, rows)

    async def _row(self, job: _Found) -> Row:
        try:
            return await self._recovered(job)
        except ServiceError as error:
            # Other jobs may still be readable, unless the service is down.
            if error.status != 200:
                raise
            log.warning("a job cannot be recovered: %s", error)
            return job.row("unreadable")

    async def _recovered(self, job: _Found) -> Row:
        sidecar = job.sidecar
        job_id = job.sidecar.job_id
        earlier = await self._account_history.ask(History.find, job_id)
        if earlier is not None and not _tells_more(job, earlier):
            return job.row("known", earlier)
        record = await self._read(job_id)
        if record is None:
            await self._account_history.write(
                History.mark_gone, job_id, account=self._service.account
            )
            return job.row("unknown")
        if earlier is None and job.source == "delivery" and job.where:
            sidecar = sidecar.model_copy(update=await self._of_event(job.where))
        if sidecar.function is None:
            sidecar = sidecar.model_copy(update={"function": record.model_id})
        sidecar = await self._checked_against(record, sidecar)
        names = {each.url: name_of_file(each.sha256) for each in sidecar.inputs}
        names |= await self._job_names(sidecar)
        entry = await self._account_history.write(
            importing.adopt,
            sidecar.submission(self._service, self._kinds, names),
            record,
            created_at=_at(job) or self._clock.now(),
            submitted_at=sidecar.submitted_at,
            finished_at=sidecar.finished_at,
        )
        for sent in sidecar.inputs:
            await self._account_history.write(
                uploads.remember_upload,
                service=self._service.identity,
                upload=Upload(**sent.model_dump()),
            )
        if entry.charge_micro_usd is None:
            await self._jobs.begun(entry, record)
        if earlier is None:
            return job.row("added", entry)
        return job.row("known" if earlier.key == entry.key else "completed", entry)

    async def _checked_against(self, record: JobRecord, sidecar: Sidecar) -> Sidecar:
        """Return the verified part of a sidecar, which anybody may have written.

        The request must belong to the job's function, and a file counts as an input
        only if its bytes are at its URL.
        """
        if record.model_id and sidecar.function != record.model_id:
            unknown = {"body": None, "prompt": None, "asked_key": None, "inputs": ()}
            return sidecar.model_copy(update={"function": record.model_id, **unknown})
        used = set(urls_in(sidecar.body))
        inputs = [
            each
            for each in sidecar.inputs
            if each.url in used and await self._has_bytes(each)
        ]
        return sidecar.model_copy(update={"inputs": tuple(inputs)})

    async def _has_bytes(self, sent: Input) -> bool:
        digest = sha256()

        def add(piece: Piece) -> None:
            nonlocal digest
            if not piece.at_bytes:
                digest = sha256()
            digest.update(piece.content)
            if piece.at_bytes + len(piece.content) > sent.size_bytes:
                raise ServiceError("The file is larger than its sidecar says.")

        try:
            with anyio.fail_after(INPUT_WITHIN_S):
                await self._jobs.outputs.pass_on(sent.url, "an input", add)
        except (MediakitError, TimeoutError) as error:
            log.debug("an input cannot be checked: %s", type(error).__name__)
            return False
        return digest.hexdigest() == sent.sha256

    async def _job_names(self, sidecar: Sidecar) -> dict[str, str]:
        """Return the names of the jobs whose outputs a request uses, by URL."""
        entries = await self._account_history.ask(
            History.outputs_at,
            [*urls_in(sidecar.body)],
            service=self._service.identity,
        )
        return {url: name_of_job(f"{entry.job_id}") for url, entry in entries.items()}

    async def _read(self, job_id: str) -> JobRecord | None:
        await process_read_limiter().acquire()
        try:
            return await self._jobs.reads.read(job_id, for_s=READ_RETRY_FOR_S)
        except NotFoundError:
            return None

    async def _delivered(self) -> AsyncIterator[_Found]:
        """Yield each job in the delivery log, whose records have no fixed shape."""
        async for page in self._deliveries.pages(limit=LARGEST_PAGE):
            for row in page:
                for value in (row.get("source_id"), *row.values()):
                    if isinstance(value, str) and JOB_ID.fullmatch(value):
                        sidecar = Sidecar(job_id=value, service="")
                        where = Delivery.model_validate(row).id
                        yield _Found(sidecar, "delivery", where)
                        break

    async def _of_event(self, delivery_id: str) -> dict[str, object]:
        """Read a job's function and outcome from its delivered event."""
        try:
            delivery = await self._deliveries.get(delivery_id)
            event = Event.model_validate({"id": delivery_id, **(delivery.event or {})})
        except (MediakitError, ValueError) as error:
            log.debug("a delivery cannot be read: %s", type(error).__name__)
            return {}
        function = event.job.model_id if event.job else None
        return {"function": function, "finished_at": event.timestamp}


def _at(job: _Found) -> datetime | None:
    """Return when a job was submitted, or else when it ended; None if unknown."""
    return job.sidecar.submitted_at or job.sidecar.finished_at


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


def _tells_more(job: _Found, entry: Entry) -> bool:
    """Return whether a recovered job adds to its history entry."""
    if entry.charge_micro_usd is None and entry.gone_at is None:
        return True
    return entry.key.startswith(REBUILT) and job.sidecar.content is not None


def _checked(job_ids: str | Iterable[str]) -> list[str]:
    accepted = "job ids: media_<uuid>"
    ids = [job_ids] if isinstance(job_ids, str) else _all("job_ids", job_ids, accepted)
    for job_id in ids:
        if not JOB_ID.fullmatch(plain_id(job_id, "job_ids")):
            raise InputError("job_ids", got=job_id, accepted=accepted)
    return [*map(plain_id, ids)]


def _folders(folders: str | Path | Iterable[str | Path]) -> list[Path]:
    accepted = "folders that results were saved to"
    if isinstance(folders, str | Path):
        folders = [folders]
    values = _all("folders", folders, accepted)
    paths = [Path(folder).expanduser() for folder in values]
    for path in paths:
        if not path.is_dir():
            raise InputError("folders", got=str(path), accepted=accepted)
    return paths


def _all(field: str, values: Iterable[T], accepted: str) -> list[T]:
    try:
        return list(values)
    except TypeError:
        raise InputError(field, got=values, accepted=accepted) from None


def _files(folders: Iterable[Path]) -> Iterator[tuple[str, Sidecar | None]]:
    """Yield the sidecars in folders, None for a damaged one; skip other JSON."""
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
