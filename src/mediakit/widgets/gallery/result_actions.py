"""The actions on one or several results of a wall, with their prices."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from mediakit.client import AsyncJob, recipes
from mediakit.client.budgets import ANYONE, Caller
from mediakit.client.job_acts import (
    ACTS,
    Act,
    Consent,
    Place,
    act_of,
    results_text,
    standing_of,
)
from mediakit.client.media_inputs import output_of
from mediakit.client.sidecar import SUFFIX
from mediakit.client.submissions import asking_from
from mediakit.errors import InputError, MediakitError
from mediakit.estimates import Estimate
from mediakit.history import forms, lineage, ratings
from mediakit.money import format_usd
from mediakit.notebook import in_voila
from mediakit.schema import Purpose
from mediakit.sweep.cells import total_of
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
from mediakit.widgets.job.uses import (
    FINALIZE,
    Use,
    medium_of,
    uses_of,
    uses_of_job,
)

if TYPE_CHECKING:
    from mediakit.async_client import AsyncClient
    from mediakit.sweep.run import Run

USE, SHOW = "use:", "show:"
"""The prefixes of offers to use a result in a function, and to show a job."""
UNKNOWN = "price unknown"
POSTER_PX = 240
MOST_MADE = 100
"""How many jobs submitted from a wall it restores; older ones are in the history.
"""
OpenForm = Callable[[str, str, dict[str, Any]], Any]
"""Opens the form of a function, under a name, with values; returns its widget."""


class ResultActions:
    """The actions on a client's results, on any wall.

    Args:
        client: The client.
        open_form: Opens forms; without it there is no "Use as".
        origin: The name of the wall in the history, which lists the jobs submitted from
            the wall.
        run: The run whose budget pays for jobs submitted from its wall; None without
            one.
        acts: The acts of a job; those of a menu are offered.
    """

    def __init__(
        self,
        client: AsyncClient,
        open_form: OpenForm | None = None,
        origin: str | None = None,
        run: Run | None = None,
        acts: tuple[Act, ...] = ACTS,
    ) -> None:
        self._client = client
        self._acts = acts
        self._run = run
        self._origin = origin
        self._open_form = open_form

    def wall_actions(self, **more: Any) -> WallActions:
        return WallActions(
            copy=self._copy,
            picture=self._picture,
            recipe=self._recipe,
            tile=self,
            acts=self._acts,
            delays=self._client.components.delays,
            **more,
        )

    async def judge(self, job_id: str, /, **changes: Any) -> None:
        history = self._client.components.account_history
        owner: dict[str, Any] = {**history.owner, "job_id": job_id}
        await history.write(ratings.judge, **owner, **changes)

    async def _copy(self, job_id: str) -> bytes:
        return await playable_copy(await self._client.job(job_id))

    async def _recipe(self, job_id: str) -> tuple[int, list[recipes.Edit]]:
        if not recipes.are_on():
            return 0, []
        return await (await self._client.job(job_id)).recipe_edits()

    async def _picture(self, cell: WallCell) -> bytes | None:
        find = self._client.components.posters.find
        return await find(str(cell.job_id), str(cell.url), POSTER_PX)

    async def offers(self, job_id: str) -> list[Offer]:
        job = await job_of(self._client.components, job_id)
        standing = standing_of(job.state)
        offers: list[Offer] = []
        for act in self._acts:
            if Place.MENU in act.places and act.can(standing):
                offers += await self._offers_of(act, job)
        return offers

    async def joint_offers(self, job_ids: Sequence[str]) -> list[Offer]:
        jobs: list[AsyncJob] = []
        for job_id in job_ids:
            with suppress(MediakitError):  # such as a job of another history
                jobs.append(await job_of(self._client.components, job_id))
        offers: list[Offer] = []
        for act in self._acts:
            is_elsewhere = act.is_local and in_voila(os.environ)
            if Place.SELECTION not in act.places or act.many is None or is_elsewhere:
                continue
            parts: list[tuple[str, Offer]] = []
            for job in jobs:
                if act.can(standing_of(job.state)):
                    own = await self._offers_of(act, job)
                    parts += [(job.id, each) for each in own if each.name == act.name]
            if parts:
                label = act.many.yes.format(results_text(len(parts), len(job_ids)))
                offer = await self._joint(act, label, [each for _, each in parts])
                offers.append(offer._replace(parts=tuple(parts)))
        return offers

    async def _joint(self, act: Act, label: str, own: Sequence[Offer]) -> Offer:
        """Return an offer for several results, with the sum of their prices."""
        prices = [each.price for each in own if each.price is not None]
        if not act.is_paid or not prices:
            return _offer(act, text=label)
        held_micro_usd = sum(price.hold_micro_usd or 0 for price in prices)
        total = replace(total_of(prices), known_micro_usd=held_micro_usd)
        if total.low is None:
            label = f"{label} · {UNKNOWN}"
        return await self._paid(act, total, label)

    async def _offers_of(self, act: Act, job: AsyncJob) -> list[Offer]:
        if act.name == "use":
            return [
                Offer(f"{USE}{use.function.path}", use.title, use.tooltip)
                for use in self._uses(job)
            ]
        if act.name == "show":
            return []  # offered in place of "upscale"
        if act.name == "upscale":
            return await self._upscaling(act, job)
        if act.name == "download":
            return [_offer(act, file=job.state.file_name(job.url or ""))]
        if act.price is not None:
            return [await self._paid(act, await act.price(job))]
        return [_offer(act)]

    async def act(self, job_id: str, offer: Offer) -> Done:
        run = self._run
        if run is None:
            return await self._done(job_id, offer)
        with run.budget.raised_to(offer.limit_micro_usd):
            done = await self._done(job_id, offer)
        run.changed()  # the sweep's figures include the new hold
        return done

    async def made(self) -> list[Made]:
        if self._origin is None:
            return []
        history = self._client.components.account_history
        entries = await history.ask(forms.asked_from, self._origin, limit=MOST_MADE)
        job_ids = [str(each.job_id) for each in reversed(entries) if each.job_id]
        sources = await history.ask(lineage.made_of, job_ids)
        rated = await history.ask(ratings.judgements, **history.owner, job_ids=job_ids)
        judged = {each.job_id: judged_as(each) for each in rated}
        return [
            Made(
                await job_of(self._client.components, id_),
                sources[id_],
                judged.get(id_, {}),
            )
            for id_ in job_ids
        ]

    async def _done(self, job_id: str, offer: Offer) -> Done:
        with asking_from(self._origin, self._caller):
            return await self._asked(
                await job_of(self._client.components, job_id), offer
            )

    async def _asked(self, job: AsyncJob, offer: Offer) -> Done:
        name, _, target = offer.name.partition(":")
        act = act_of(self._acts, name)
        if act.do is not None:
            outcome = await act.do(job, Consent(offer.price, offer.ticked))
            if isinstance(outcome, AsyncJob):
                return Done(f"{act.result} appears beside this one.", outcome)
            return Done(outcome or "")
        if name == "show":
            upscaled = await job_of(self._client.components, target)
            return Done("The upscaled result is beside this one.", upscaled)
        if name == "upscale":
            result = await self._upscaled(job, offer.price)
            return Done(f"{act.result} appears beside this one.", result)
        if name in ("download", "save"):
            path = await job.download(recipe=recipes.are_on())
            message = f"Saved to {path}, with {path.name}{SUFFIX} next to it."
            return Done(message, path=str(path))
        return self._used(job, target)

    async def _upscaling(self, act: Act, job: AsyncJob) -> list[Offer]:
        try:
            kind, fields = self._upscale_of(job)
            entry = await self._client.components.owned_entry(kind, **fields)
            if entry is not None and entry.job_id:
                show = act_of(self._acts, "show")
                return [_offer(show, name=f"{SHOW}{entry.job_id}")]
            price = await self._client.estimate(kind, **fields)
        except InputError:
            return []  # the result, or the service, does not support it
        return [await self._paid(act, price)]

    async def _upscaled(self, job: AsyncJob, price: Estimate | None) -> AsyncJob:
        components = self._client.components
        kind, fields = self._upscale_of(job)
        prepare = partial(components.prepared, max_price=price)
        request = await prepare(kind, **fields)
        take = await components.submissions.unused_take(request)
        return await components.submit_prepared(request, take, self._caller, price)

    async def _paid(self, act: Act, price: Estimate, label: str = "") -> Offer:
        """Return an offer with its price and its effect on the budget."""
        text, words, limit = act.text(price, label), act.hint, None
        if self._run is not None:
            [limit] = await self._run.budget.limits_for([price], are_cells=False)
        if limit is not None:
            text += f", raises the budget to {format_usd(limit)}"
            words += ". It is over the budget of the sweep, which is raised"
        offer = _offer(act, price=price, limit_micro_usd=limit)
        return offer._replace(text=text, words=words)

    @property
    def _caller(self) -> Caller:
        return ANYONE if self._run is None else self._run.budget.caller

    def _upscale_of(self, job: AsyncJob) -> tuple[str, dict[str, Any]]:
        medium = medium_of(job.state)
        enlarging = [
            f for f in self._client.catalog if f.declared.purpose is Purpose.ENLARGE
        ]
        uses = [] if medium is None else uses_of(enlarging, medium)
        if not uses:
            raise InputError("job_id", got=job.id, accepted="a clip or a picture")
        return uses[0].function.path, {uses[0].spec.name: job}

    def _uses(self, job: AsyncJob) -> list[Use]:
        if self._open_form is None:
            return []
        return uses_of_job(self._client.catalog, job.state)

    def _used(self, job: AsyncJob, path: str) -> Done:
        use = next(use for use in self._uses(job) if use.function.path == path)
        output = output_of(job, use.medium, "result")
        values = {use.spec.name: use.value(output)}
        assert self._open_form is not None  # else there are no uses
        form = self._open_form(path, f"use {job.id}", values)
        words = "This result is now an input of the form below. Nothing has been sent."
        if use.text is not None:
            words = FINALIZE
        return Done(words, form=form)


def _offer(act: Act, **more: Any) -> Offer:
    parts = {"text": act.label, "words": act.hint, "is_paid": act.is_paid}
    return Offer(**{"name": act.name, **parts, "question": act.question, **more})
