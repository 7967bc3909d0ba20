"""The cell of a displayed job: the job, its later takes, and a form to vary it."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from mediakit.client import AsyncJob, JobState
from mediakit.widgets.form.controller import Form, side_form
from mediakit.widgets.job.card import card_text
from mediakit.widgets.job.jobs import JobsWidget
from mediakit.widgets.job.payload import JobHost, varied
from mediakit.widgets.job.uses import Uses
from mediakit.widgets.job.view import JobView
from mediakit.widgets.toolkit.cell_identity import ShownByCell
from mediakit.widgets.toolkit.cell_outputs import CardHandle, NotebookCell, current_cell

if TYPE_CHECKING:
    from mediakit.blocking_client import Client

LOOK_PATIENCE_S = 3.0
LAST_PATIENCE_S = 15.0  # before the kernel may end
EMBED_PATIENCE_S = 60.0


class JobCell:
    """The jobs of a cell: the first one, and those submitted from it."""

    def __init__(
        self, client: Client | None, handle: CardHandle, *, embed: bool = False
    ) -> None:
        self._client = client
        self._handle = handle
        self._embed = embed
        self._lock = threading.RLock()
        self._views: tuple[JobView, ...] = ()
        self._form: Form | None = None
        self.widget = JobsWidget(hides=handle.live_rules)
        self.widget.carry_cards(handle)
        self._home = JobHost(add=self.add)
        if client is not None:
            uses = Uses(
                client.catalog,
                lambda use: side_form(client, use.function, handle.follow),
            )
            self._home = JobHost(add=self.add, vary=self.vary, uses=uses)

    def add(self, job: AsyncJob) -> JobView:
        view = JobView(job, self._client, home=self._home, embed=self._embed)
        with self._lock:
            self._views = (view, *self._views)
            self.widget.show_jobs(self._views)
        self._handle.follow(view)
        return view

    def vary(self, state: JobState) -> str:
        """Open a form with a job's settings below the jobs."""
        if self._client is None:
            return ""
        function = self._client.catalog.function(state.function)
        names = self._client.components.media_names
        values = varied(function, names.with_files(state.body))
        if self._form is not None:
            self._form.values.update(values)
        else:
            form = side_form(self._client, function, self._handle.follow, values)
            self._form = form
            self.widget.job_forms = [form.widget.model_id]
        self._form.bring_into_view()
        return "The form below has these settings. Nothing has been sent."

    def complete(self, job_id: str) -> None:
        """Wait for a job's picture, in a notebook that runs without a browser."""
        for view in self._views:
            if view.id == job_id and not self.widget.has_page:
                view.wait_until_seen(
                    EMBED_PATIENCE_S if self._embed else LAST_PATIENCE_S
                )

    def close(self) -> None:
        """Close everything; the jobs continue, and their cards stay."""
        self._handle.close()
        with self._lock:
            self.widget.close()
            for view in self._views:
                view.close()
            if self._form is not None:
                self._form.close()


_shown: ShownByCell[JobCell] = ShownByCell()


def display_job(
    job: AsyncJob, client: Client | None = None, *, embed: bool = False
) -> None:
    """Show a job in the running cell, replacing earlier runs of the cell."""
    cell = current_cell()
    if cell is None:
        print(card_text(job.state))  # noqa: T201 - there is no cell to show it in
    else:
        show_in(cell, job, client, embed=embed)


def job_widget(job: AsyncJob, client: Client | None = None) -> JobsWidget:
    """Return a live widget of a job, for the user's own layout."""
    column = JobCell(client, CardHandle())
    cell = current_cell()
    if cell is not None:
        _shown.add(cell, column)
    column.add(job)
    column.widget.shows = f"job {job.id}"
    return column.widget


def show_in(
    cell: NotebookCell,
    job: AsyncJob,
    client: Client | None = None,
    *,
    embed: bool = False,
) -> JobView:
    """Show a live job in a cell, with a permanent card; return its view."""
    handle = CardHandle()
    column = JobCell(client, handle, embed=embed)
    _shown.add(cell, column)
    view = column.add(job)
    handle.display_beside(column.widget)
    # Headless notebook runs keep only what is shown while the cell runs.
    view.wait_until_seen(EMBED_PATIENCE_S if embed else LOOK_PATIENCE_S)
    return view


def complete_cards(job_id: str) -> None:
    """Complete the cards of a job in earlier cells, before the kernel may stop."""
    for column in _shown.all():
        column.complete(job_id)
