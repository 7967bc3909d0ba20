"""The menu of what a job's result can be used for, and the forms that it opens."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from uuid import uuid4

from mediakit.client import AsyncJob, Client, Job
from mediakit.client.requests.job_inputs import output_of
from mediakit.errors import InputError
from mediakit.widgets.card_handle import HasCard
from mediakit.widgets.chaining.use_menu import Elsewhere, Opened, UseMenu, medium_of
from mediakit.widgets.chaining.uses import Use
from mediakit.widgets.guard import Guard
from mediakit.widgets.job_words import has_output

Follow = Callable[[HasCard], None]


@dataclass(frozen=True)
class Uses:
    """Opens forms that begin with a result.

    Args:
        client: The client of the forms.
        follow: Keeps the card of a job that was made from there.
        origin: The form that the new jobs belong to, as the history names it.
        elsewhere: Opens a form in a place of its own, in place of below the card.
    """

    client: Client[Job]
    follow: Follow
    origin: str | None = None
    elsewhere: Elsewhere | None = None

    def menu(self, job: AsyncJob, guard: Guard) -> UseMenu:
        """Return the menu for a job's result.

        Args:
            job: The job; it has a result.
            guard: Wraps the handlers.

        Raises:
            InputError: The result can be no input.
        """
        medium = medium_of(job.state)
        if medium is None or not has_output(job.state):
            got = f"the job {job.id}"
            raise InputError("result", got=got, accepted="a clip, a picture or a sound")
        return UseMenu(
            self.client.catalog,
            output_of(job, medium, "result"),
            medium,
            guard,
            open=self._open,
            elsewhere=self.elsewhere,
        )

    def _open(self, use: Use) -> Opened:
        from mediakit.widgets.form import Form

        # Under a name of its own, it replaces no other form.
        name = f"use {uuid4().hex}"
        form = Form(
            self.client,
            use.function,
            name=name,
            lasting=False,
            asked_from=self.origin,
        )
        form.on_job(lambda: self.follow(form.jobs[0]))
        return form
