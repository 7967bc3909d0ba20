"""The menu of what a job's result can be used for."""

from __future__ import annotations

from dataclasses import dataclass

from mediakit.catalog import Catalog
from mediakit.client import AsyncJob
from mediakit.client.requests.job_inputs import output_of
from mediakit.errors import InputError
from mediakit.widgets.job.text import has_output
from mediakit.widgets.job.uses.menu import Elsewhere, Open, UseMenu, medium_of
from mediakit.widgets.toolkit.callbacks import Guard


@dataclass(frozen=True)
class Uses:
    """Opens forms that begin with a result.

    Args:
        catalog: The functions.
        open: Makes a form below the card.
        elsewhere: Opens a form in a place of its own, in place of below the card.
    """

    catalog: Catalog
    open: Open | None = None
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
            self.catalog,
            output_of(job, medium, "result"),
            medium,
            guard,
            open=self.open,
            elsewhere=self.elsewhere,
        )
