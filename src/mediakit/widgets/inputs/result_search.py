"""Finds earlier results that can be inputs, and submits them as jobs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from anyio import to_thread

from mediakit.catalog import Function, title_at
from mediakit.client.job_words import title_of
from mediakit.client.media_inputs import JobOutput, output_of
from mediakit.errors import InputError
from mediakit.history import Entry
from mediakit.media import THUMBNAIL_MAX_PX, is_url
from mediakit.media_limits import MediaInfo, MediaName
from mediakit.records import JobStatus
from mediakit.widgets.controls.media_inspection import Inspection, MediaKey
from mediakit.widgets.job.text import date_text, seconds_text, shortened

if TYPE_CHECKING:
    from mediakit.blocking_client import Client

PAGE = 6
READ_AT_ONCE = 50
MOST_READ = 1_000
PROMPT_SHOWN = 120
NAMED = "mediakit-result:"
"""What stands before a job's id where a form keeps that it holds the job's result."""


@dataclass(frozen=True)
class Result:
    """A result that can be an input.

    Args:
        made: What the job made.
        title: Its title.
        facts: The function, the length and when it was made, in words.
        poster: A small JPEG of it; None while there is none.
    """

    made: JobOutput
    title: str
    facts: str
    poster: bytes | None = field(default=None, repr=False)

    @property
    def words(self) -> str:
        """Return what it was made from, and its facts."""
        return f"{self.title} · {self.facts}"


@dataclass(frozen=True)
class Found:
    """Some results, newest first.

    Args:
        results: The results.
        last: The last entry that was read; None when there are no more.
    """

    results: tuple[Result, ...]
    last: Entry | None


class Results:
    """Finds results of a client in its history, without the network.

    Args:
        client: The client. All results of its service in the history are found.
    """

    def __init__(self, client: Client) -> None:
        self._client = client
        self._outputs: dict[str, JobOutput] = {}

    async def page(
        self, medium: MediaName, text: str = "", before: Entry | None = None
    ) -> Found:
        """Return completed results of a medium, newest first.

        Args:
            medium: "video", "image" or "audio".
            text: Only those in which every word of it occurs.
            before: Where the page before ended; None for the first page.
        """
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
                    return Found(tuple(results), before)
            read += len(entries)
            if len(entries) < READ_AT_ONCE:
                return Found(tuple(results), None)
        return Found(tuple(results), before)

    async def poster(self, result: Result) -> bytes | None:
        """Return a small picture of a result; None when there is none.

        One that was made before on this machine is not fetched again.
        """
        made = result.made
        if made.media_type == "audio":
            return None
        find = self._client.components.posters.find
        return await find(made.id, made.url, THUMBNAIL_MAX_PX)

    async def recognised(self, keys: Iterable[MediaKey]) -> dict[MediaKey, Inspection]:
        """Return what is known of the media that are results of the history.

        Args:
            keys: Media behind URLs; of those that are no results nothing is said.
        """
        wanted = tuple(keys)
        entries = await self._entries(url for _, url in wanted)
        await self._client.components.media_names.learn(*entries.values())
        found: dict[MediaKey, Inspection] = {}
        for medium, url in wanted:
            entry = entries.get(url)
            result = None if entry is None else self._result(entry, medium)
            if result is None:
                continue
            self._outputs[url] = result.made
            info = await self._info(result.made, medium)
            poster = await self.poster(result)
            found[medium, url] = Inspection(
                info, thumbnail=poster, title=result.title, words=result.words
            )
        return found

    async def as_jobs(
        self, function: Function, body: Mapping[str, object]
    ) -> dict[str, object]:
        """Return a body with results in place of their URLs.

        The history so knows from which jobs the new one is made.
        """
        media = [(m.kind, m.value) for m in function.media(body) if is_url(m.value)]
        known = [(kind, url) for kind, url in media if url not in self._outputs]
        entries = await self._entries(url for _, url in known)
        for kind, url in known:
            entry = entries.get(url)
            result = None if entry is None else self._result(entry, kind)
            if result is not None:
                self._outputs[url] = result.made
        return function.with_media(body, self._outputs)

    def named(self, values: Mapping[str, object]) -> dict[str, object]:
        """Return values with results named by their jobs.

        Where a result is may be a signed URL, which is kept nowhere and expires.
        """

        def name(text: str) -> str:
            made = self._outputs.get(text)
            return text if made is None else f"{NAMED}{made.id}"

        return {key: _renamed(value, name) for key, value in values.items()}

    def located(self, values: Mapping[str, object]) -> dict[str, object]:
        """Return what `named` was given, with the URLs that the history has now."""

        def locate(text: str) -> str:
            if not text.startswith(NAMED):
                return text
            entry = self._client.components.store.find(text.removeprefix(NAMED))
            return (entry.output_url or "") if entry is not None else ""

        return {key: _renamed(value, locate) for key, value in values.items()}

    async def _entries(self, urls: Iterable[str]) -> dict[str, Entry]:
        store, service = self._client.components.store, self._client.service
        find = partial(store.outputs_at, service=service.identity)
        wanted = tuple(urls)
        return await to_thread.run_sync(find, wanted) if wanted else {}

    async def _info(self, made: JobOutput, medium: MediaName) -> MediaInfo | None:
        """Return what a result is; its length is measured where nobody said it."""
        if made.length_s is not None or medium == "image":
            return made.info(medium)
        probe = self._client.components.remote_media.probe
        return (await probe([(medium, made.url)]))[medium, made.url]

    def _result(self, entry: Entry, medium: MediaName) -> Result | None:
        """Return an entry's result; None for what cannot be an input of this kind."""
        if entry.status is not JobStatus.COMPLETED or entry.output_url is None:
            return None
        if entry.deleted_at or entry.gone_at or entry.media_type not in (medium, None):
            return None
        job = self._client.components.jobs.recalled(entry)
        try:
            made = output_of(job, medium, "")
        except InputError:  # the job is newer than what the entry says
            return None
        return result_of(entry, made, self._client.components.media_names.known)


def _renamed(value: object, rename: Callable[[str], str]) -> object:
    """Return a value with a function applied to each text in it."""
    if isinstance(value, Mapping):
        return {name: _renamed(each, rename) for name, each in value.items()}
    if isinstance(value, list):
        return [_renamed(each, rename) for each in value]
    # A text of another class has a meaning of its own.
    return rename(value) if type(value) is str else value


def result_of(entry: Entry, made: JobOutput, names: Mapping[str, str]) -> Result:
    """Return a result in words.

    Args:
        entry: The history's entry.
        made: What the job made.
        names: Names of media, by URL.
    """
    title = title_of(entry, names)
    function = title_at(entry.kind, entry.function)
    length = "" if made.length_s is None else seconds_text(made.length_s)
    facts = (function if title != function else "", length, date_text(entry.created_at))
    shown = shortened(title, PROMPT_SHOWN)
    return Result(made, shown, " · ".join(filter(None, facts)))
