"""The actions offered for one or several cells of a wall, and carrying them out."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

from mediakit.client.job_acts import BUTTON_CHANGED, act_of, results_text
from mediakit.client.stopping import PendingSubmissions, Stoppable
from mediakit.clock import Clock
from mediakit.errors import MediakitError
from mediakit.widgets.gallery.cells import Done, Offer, WallActions, WallCell
from mediakit.widgets.toolkit.callbacks import sentence_of

GONE = "“{}” is no longer offered. Nothing was sent."
NOT_DONE = "{} not done: {}"
STOPPED = "You stopped it."
RESEND = "resend"
RESEND_WORDS = "Send these cells again; you pay when they complete"

T = TypeVar("T")


class ActionRunner:
    """Carries out actions, on the I/O thread; paid ones at the price on the button.

    Args:
        actions: The actions of the wall.
        clock: The clock of the wall.
        take_outcome: Is awaited with each job and the outcome of its action.
        show_delay: Is called with what a submission waits for, and whether it can be
            stopped.
    """

    def __init__(
        self,
        actions: WallActions,
        clock: Clock,
        take_outcome: Callable[[str, Done], Awaitable[None]],
        show_delay: Callable[[str, bool], None],
    ) -> None:
        self._actions = actions
        self._clock = clock
        self._take_outcome = take_outcome
        self._show_delay = show_delay
        self._pending = PendingSubmissions("requests", self._tell_delay)
        self._stops = 0  # how often the user has stopped what was being sent

    async def offers(self, cells: Sequence[WallCell]) -> list[Offer]:
        """Return the offers for one result, or for several cells together."""
        job_ids = job_ids_of(cells)
        if len(cells) == 1 and job_ids:
            return await needed(self._actions.tile).offers(job_ids[0])
        offers: list[Offer] = []
        if job_ids and self._actions.tile is not None:
            offers += await self._actions.tile.joint_offers(job_ids)
        if self._actions.resend_text is not None:
            text = await self._actions.resend_text([cell.index for cell in cells])
            offers += [Offer(RESEND, text, RESEND_WORDS, is_paid=True)] if text else []
        return offers

    async def act(
        self, cells: Sequence[WallCell], name: str, text: str, *, ticked: bool
    ) -> tuple[str, str]:
        """Carry out the offer of a name, whose button had a text.

        Returns:
            A sentence on what was done, and one on what was not; both may be empty.

        Raises:
            MediakitError: Nothing was done: the button has changed since.
        """
        offers = await self.offers(cells)
        now = next((offer for offer in offers if offer.name == name), None)
        if now is None:
            raise MediakitError(GONE.format(text))
        if now.text != text:
            raise MediakitError(BUTTON_CHANGED.format(now.text, text))
        if name == RESEND:
            resend = needed(self._actions.resend)
            return await resend([cell.index for cell in cells], text), ""
        now = now._replace(ticked=ticked)
        if now.parts:
            return await self._act_on_each(now)
        return (await self._act_on(job_ids_of(cells)[0], now)).said, ""

    async def _act_on_each(self, offer: Offer) -> tuple[str, str]:
        """Carry out an offer for several results, one after the other."""
        stops, done, errors = self._stops, list[Done](), list[str]()
        limit = offer.limit_micro_usd
        for job_id, own in offer.parts:
            part = own._replace(ticked=offer.ticked, limit_micro_usd=limit)
            try:
                done.append(await self._act_on(job_id, part))
            except MediakitError as error:
                errors.append(sentence_of(error))
            if self._stops > stops:
                errors.append(STOPPED)
                break
        total = len(offer.parts)
        message = problem = ""
        if done:
            many = needed(act_of(self._actions.acts, offer.name).many)
            folder = Path(done[-1].path).parent
            message = many.done.format(results_text(len(done), total), folder)
        if len(done) < total:
            left = results_text(total - len(done), total)
            problem = NOT_DONE.format(left, " ".join(dict.fromkeys(errors)))
        return message, problem

    async def _act_on(self, job_id: str, offer: Offer) -> Done:
        act = partial(needed(self._actions.tile).act, job_id, offer)
        done = await (self._submitted(act) if offer.is_paid else act())
        await self._take_outcome(job_id, done)
        return done

    async def _submitted(self, act: Callable[[], Awaitable[Done]]) -> Done:
        """Run an action that may submit, and show why it is pending."""
        delays = self._actions.delays
        if delays is None:
            return await Stoppable().run(act)
        return await self._pending.run(act, delays, self._clock)

    def _tell_delay(self) -> None:
        self._show_delay(self._pending.text, self._pending.can_stop)

    async def stop(self) -> None:
        """Stop sending; requests already sent go on."""
        self._stops += 1
        await self._pending.stop()


def job_ids_of(cells: Iterable[WallCell]) -> list[str]:
    """Return the jobs of cells, each once: several cells may share a job."""
    return [*dict.fromkeys(cell.job_id for cell in cells if cell.job_id)]


def needed(act: T | None) -> T:
    """Return an action of the wall; an error if the wall does not have it."""
    if act is None:
        raise MediakitError("This wall has no such action.")
    return act
