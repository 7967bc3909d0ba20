"""Finds earlier results that can be inputs, and replaces them with jobs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from anyio import to_thread

from mediakit.api_models import JobStatus
from mediakit.catalog import Function, title_at
from mediakit.client.media_inputs import JobOutput, output_of
from mediakit.errors import InputError
from mediakit.history import Entry
from mediakit.history.titles import title_of
from mediakit.media import THUMBNAIL_MAX_PX, is_url
from mediakit.media_limits import MediaInfo, MediaName
from mediakit.web_urls import is_http
from mediakit.widgets.controls.json_values import with_texts
from mediakit.widgets.controls.media_inspection import Inspection, MediaKey
from mediakit.widgets.job.text import date_text, seconds_text, shortened

if TYPE_CHECKING:
    from mediakit.blocking_client import Client

PAGE = 6
READ_AT_ONCE = 50
MOST_READ = 1_000
TITLE_LENGTH = 120
NAMED = "mediakit-result:"
"""The prefix of a job's ID where a saved form refers to the job's result."""


@dataclass(frozen=True)
class Result:
    """A result that can be an input."""

    made: JobOutput
    title: str
    facts: str  # function, length and date in words

    @property
    def words(self) -> str:
        return f"{self.title} · {self.facts}"


@dataclass(frozen=True)
class ResultPage:
    """A page of results, newest first."""

    results: tuple[Result, ...]
    last: Entry | None  # the last entry that was read; None at the end


class ResultSearch:
    """Finds results of the client's service in the local history, without network."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._outputs: dict[str, JobOutput] = {}

    async def page(
        self, medium: MediaName, text: str = "", before: Entry | None = None
    ) -> ResultPage:
        """Return completed results that contain every word of a text."""
        results: list[Result] = []
        read = 0
        while read < MOST_READ:
            entries = await self._client.core.history.page(
                limit=READ_AT_ONCE, before=before, text=text, status="completed"
            )
            await self._client.components.media_names.learn(*entries)
            for entry in entries:
                before = entry
                result = self._result(entry, medium)
                results += [] if result is None else [result]
                if len(results) == PAGE:
                    return ResultPage(tuple(results), before)
            read += len(entries)
            if len(entries) < READ_AT_ONCE:
                return ResultPage(tuple(results), None)
        return ResultPage(tuple(results), before)

    async def poster(self, result: Result) -> bytes | None:
        """Return a small picture of a result, fetched once."""
        output = result.made
        if output.media_type == "audio":
            return None
        find = self._client.components.posters.find
        return await find(output.id, output.url, THUMBNAIL_MAX_PX)

    async def recognised(self, keys: Iterable[MediaKey]) -> dict[MediaKey, Inspection]:
        """Return the known facts about URLs of results in the history."""
        return {
            (medium, url): Inspection(
                await self._info(result.made, medium),
                thumbnail=await self.poster(result),
                title=result.title,
                words=result.words,
            )
            for (medium, url), result in (await self._results(keys)).items()
        }

    async def as_jobs(
        self, function: Function, body: Mapping[str, object]
    ) -> dict[str, object]:
        """Return a body with jobs in place of their URLs, for the history."""
        media = [(m.kind, m.value) for m in function.media(body) if is_url(m.value)]
        await self._results(key for key in media if key[1] not in self._outputs)
        return function.with_media(body, self._outputs)

    def named(self, values: Mapping[str, object]) -> dict[str, object]:
        """Return values with job names in place of result URLs, which may be signed."""

        def name(text: str) -> str:
            output = self._outputs.get(text)
            return text if output is None else f"{NAMED}{output.id}"

        return {key: with_texts(value, name) for key, value in values.items()}

    def located(self, values: Mapping[str, object]) -> dict[str, object]:
        """Return values with current URLs in place of job names."""

        def locate(text: str) -> str:
            if not text.startswith(NAMED):
                return text
            entry = self._client.components.store.find(text.removeprefix(NAMED))
            url = entry.output_url if entry is not None else None
            return url if url is not None and is_http(url) else ""

        return {key: with_texts(value, locate) for key, value in values.items()}

    async def _results(self, keys: Iterable[MediaKey]) -> dict[MediaKey, Result]:
        """Return the media that are results of known jobs, and remember the jobs."""
        wanted = tuple(keys)
        if not wanted:
            return {}
        store, service = self._client.components.store, self._client.service
        find = partial(store.outputs_at, service=service.identity)
        entries = await to_thread.run_sync(find, [url for _, url in wanted])
        await self._client.components.media_names.learn(*entries.values())
        results: dict[MediaKey, Result] = {}
        for medium, url in wanted:
            entry = entries.get(url)
            result = None if entry is None else self._result(entry, medium)
            if result is not None:
                self._outputs[url] = result.made
                results[medium, url] = result
        return results

    async def _info(self, made: JobOutput, medium: MediaName) -> MediaInfo | None:
        """Return a result's properties, measuring an unknown length."""
        if made.length_s is not None or medium == "image":
            return made.info(medium)
        probe = self._client.components.remote_media.probe
        return (await probe([(medium, made.url)]))[medium, made.url]

    def _result(self, entry: Entry, medium: MediaName) -> Result | None:
        """Return an entry's result, or None if it cannot be an input of that kind."""
        if entry.status is not JobStatus.COMPLETED or entry.output_url is None:
            return None
        if entry.deleted_at or entry.gone_at or entry.media_type not in (medium, None):
            return None
        job = self._client.components.jobs.recalled(entry)
        try:
            output = output_of(job, medium, "")
        except InputError:  # the job has changed since the entry was written
            return None
        title = title_of(entry, self._client.components.media_names.known)
        function = title_at(entry.kind, entry.function)
        length = "" if output.length_s is None else seconds_text(output.length_s)
        what = function if title != function else ""
        facts = filter(None, (what, length, date_text(entry.created_at)))
        return Result(output, shortened(title, TITLE_LENGTH), " · ".join(facts))
