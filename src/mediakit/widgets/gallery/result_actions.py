"""What can be done with a single result on a wall, with its price."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from mediakit.api_models import JobStatus
from mediakit.client import AsyncJob
from mediakit.client.media_inputs import output_of
from mediakit.client.sidecar import SUFFIX
from mediakit.client.submissions import asking_from
from mediakit.errors import InputError
from mediakit.history import forms, lineage, ratings
from mediakit.sweep.outputs import job_of
from mediakit.widgets.gallery.cells import (
    Done,
    Made,
    Offer,
    WallActions,
    WallCell,
    judged_as,
)
from mediakit.widgets.job.preview import playable_copy
from mediakit.widgets.job.text import has_output
from mediakit.widgets.job.uses import Use, medium_of, uses_of

if TYPE_CHECKING:
    from mediakit.async_client import AsyncClient

UPSCALE, ANOTHER_TAKE, USE, DOWNLOAD = "upscale", "take", "use:", "download"
POSTER_PX = 240
MOST_MADE = 100
"""How many jobs that were asked for on a wall come back; older ones are in the history.
"""
UPSCALERS = {"video": "video-upscale", "image": "image-upscale"}

OpenForm = Callable[[str, str, dict[str, Any]], Any]
"""Opens the form of a function, under a name, with values; returns its widget."""


class ResultActions:
    """What a wall does with a client's results, whatever wall it is.

    Args:
        client: The client.
        open_form: Opens forms; without it there is no "Use as".
        origin: The name of the wall in the history, which remembers the jobs that were
            asked for on it.
    """

    def __init__(
        self,
        client: AsyncClient,
        open_form: OpenForm | None = None,
        origin: str | None = None,
    ) -> None:
        self._client = client
        self._origin = origin
        self._open_form = open_form

    def wall_actions(self, **more: Any) -> WallActions:
        return WallActions(copy=self._copy, picture=self._picture, tile=self, **more)

    async def judge(self, job_id: str, /, **changes: Any) -> None:
        history = self._client.components.account_history
        owner: dict[str, Any] = {**history.owner, "job_id": job_id}
        await history.write(ratings.judge, **owner, **changes)

    async def _copy(self, job_id: str) -> bytes:
        return await playable_copy(await self._client.job(job_id))

    async def _picture(self, cell: WallCell) -> bytes | None:
        find = self._client.components.posters.find
        return await find(str(cell.job_id), str(cell.url), POSTER_PX)

    async def offers(self, job_id: str) -> list[Offer]:
        job = await job_of(self._client, job_id)
        state = job.state
        if not has_output(state):
            return []
        offers = [await self._upscaling(job), _taking(job)]
        offers += [
            Offer(f"{USE}{use.function.path}", use.function.title, use.tooltip)
            for use in self._uses(job)
        ]
        file = state.file_name(job.url or "")
        offers.append(Offer(DOWNLOAD, "Download", f"Save {file}", file=file))
        return [offer for offer in offers if offer is not None]

    async def act(self, job_id: str, offer: Offer) -> Done:
        with asking_from(self._origin):
            return await self._done(job_id, offer)

    async def made(self) -> list[Made]:
        if self._origin is None:
            return []
        history = self._client.components.account_history
        entries = await history.ask(forms.asked_from, self._origin, limit=MOST_MADE)
        job_ids = [str(each.job_id) for each in reversed(entries) if each.job_id]
        sources = await history.ask(lineage.made_of, job_ids)
        said = await history.ask(ratings.judgements, **history.owner, job_ids=job_ids)
        judged = {each.job_id: judged_as(each) for each in said}
        return [
            Made(await job_of(self._client, id_), sources[id_], judged.get(id_, {}))
            for id_ in job_ids
        ]

    async def _done(self, job_id: str, offer: Offer) -> Done:
        job = await job_of(self._client, job_id)
        if offer.name == UPSCALE:
            components = self._client.components
            kind, fields = self._upscale_of(job)
            request = await components.prepared(kind, **fields)
            made = await components.submit_prepared(request, 1)
            return Done("The upscaled result appears beside this one.", made)
        if offer.name == ANOTHER_TAKE:
            made = await job.next_take()
            return Done("Another take appears beside this one.", made)
        if offer.name == DOWNLOAD:
            path = await job.download()
            return Done(f"Saved to {path}, with {path.name}{SUFFIX} next to it.")
        return self._used(job, offer.name.removeprefix(USE))

    async def _upscaling(self, job: AsyncJob) -> Offer | None:
        try:
            kind, fields = self._upscale_of(job)
            entry = await self._client.components.owned_entry(kind, **fields)
            if entry is not None and entry.job_id:
                words = "Show the upscaled result, which you already have"
                return Offer(UPSCALE, "Show upscaled \N{MIDDLE DOT} $0.00", words)
            estimate = await self._client.estimate(kind, **fields)
        except InputError:
            return None  # it cannot be upscaled, or not by this service
        words = "Make this result larger; you pay when it completes"
        text = f"Upscale \N{MIDDLE DOT} {estimate.text}"
        return Offer(UPSCALE, text, words, is_paid=True)

    def _upscale_of(self, job: AsyncJob) -> tuple[str, dict[str, Any]]:
        function = self._client.catalog.function(UPSCALERS[job.state.media_type])
        medium = medium_of(job.state)
        if medium is None:
            raise InputError("job_id", got=job.id, accepted="a clip or a picture")
        [use] = uses_of([function], medium)
        return function.path, {use.spec.name: job}

    def _uses(self, job: AsyncJob) -> list[Use]:
        medium = medium_of(job.state)
        if medium is None or self._open_form is None:
            return []
        return uses_of(self._client.catalog, medium)

    def _used(self, job: AsyncJob, path: str) -> Done:
        use = next(use for use in self._uses(job) if use.function.path == path)
        made = output_of(job, use.medium, "result")
        values = {use.spec.name: use.value(made)}
        assert self._open_form is not None  # else there are no uses
        form = self._open_form(path, f"use {job.id}", values)
        words = "This result is now an input of the form below. Nothing has been sent."
        return Done(words, form=form)


def _taking(job: AsyncJob) -> Offer | None:
    state = job.state
    if state.record.status is not JobStatus.COMPLETED or not state.body:
        return None
    estimate = state.estimate
    is_priced = estimate is not None and estimate.low is not None
    price = f" \N{MIDDLE DOT} {estimate.text}" if estimate and is_priced else ""
    words = "Send the same request for another take; you pay when it completes"
    return Offer(ANOTHER_TAKE, f"Another take{price}", words, is_paid=True)
