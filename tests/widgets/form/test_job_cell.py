"""Jobs in a cell: the next take, a retry, and a form to vary them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from mediakit import Client, Job
from mediakit.client import AsyncJob
from mediakit.errors import JobFailedError
from mediakit.widgets.form.controller import Form
from mediakit.widgets.form.job_cell import JobCell, show_in
from mediakit.widgets.job.payload import varied
from mediakit.widgets.toolkit.cell_identity import MAX_ANONYMOUS_RUNS
from mediakit.widgets.toolkit.cell_outputs import CardHandle, NotebookCell
from tests.support.job_states import (
    BODY,
    state_of,
)
from tests.support.widgets import (
    alert,
    generate_button,
    in_use,
    note,
    press,
    press_generate,
)
from tests.support.widgets import until as eventually


class Publications(dict[str, str]):
    """The outputs of a notebook, by display id."""

    def __call__(self, data: Any, *, transient: Any, **more: Any) -> None:
        self[transient["display_id"]] = data["text/html"]

    @property
    def cards(self) -> list[str]:
        return [html for html in self.values() if "Image upscale" in html]


@pytest.fixture
def sent() -> Publications:
    return Publications()


@pytest.fixture
def column(client: Client, sent: Publications) -> Iterator[JobCell]:
    handle = CardHandle(publish=sent)
    column = JobCell(client, handle)
    handle.display()
    yield column
    column.close()


def shown(column: JobCell) -> list[str]:
    """Return the jobs that are drawn, newest first."""
    return [job["id"] for job in column.widget.jobs]


# -- what it does -------------------------------------------------------------------


def test_the_next_take_is_another_job_above_the_first_and_both_stay(
    client: Client, picture_job: Job, column: JobCell, sent: Publications
) -> None:
    first = column.add(picture_job.core)
    press(first, "take")
    eventually(lambda: len(shown(column)) == 2)
    assert shown(column)[1] == first.id
    eventually(lambda: len(sent.cards) == 2)
    assert len(client.history.frame()) == 2


def test_a_next_take_that_fails_is_reported(client: Client, column: JobCell) -> None:
    view = column.add(AsyncJob(client.components.jobs, state_of("completed")))
    press(view, "take", text="Another take · $0.34")
    eventually(lambda: "is not in this history" in alert(view))
    eventually(lambda: view.payload["busy"] == [])
    assert len(shown(column)) == 1


def test_trying_again_shows_the_new_job_above_the_failed_one(
    client: Client, column: JobCell
) -> None:
    prompt = "a kite sandbox:fail=provider_error"
    with pytest.raises(JobFailedError) as caught:
        client.run("text-to-video", prompt=prompt, duration=3)
    job: Any = caught.value.job
    view = column.add(job.core)
    press(view, "retry")
    eventually(lambda: len(shown(column)) == 2)
    assert len(client.history.frame()) == 2


def test_varying_opens_one_form_of_its_own_whose_job_stays_in_the_notebook_too(
    client: Client, picture_job: Job, column: JobCell, sent: Publications
) -> None:
    elsewhere = client.form("image-upscale")
    view = column.add(picture_job.core)
    press(view, "vary")
    press(view, "vary")
    assert "Nothing has been sent" in note(view)
    form = column._form
    assert form is not None
    assert column.widget.job_forms == [form.widget.model_id]
    assert form.widget.form["focus"] == 2  # each brings it into view
    assert form.request() == picture_job.state.body
    assert not elsewhere._model.is_closed

    # The job that is varied is the same request, which the button says first.
    button = generate_button(form)
    eventually(lambda: "Another take" in button.description and not button.disabled)
    press_generate(form)
    eventually(lambda: len(form.jobs) == 1)
    eventually(lambda: len(sent.cards) == 2)
    elsewhere.close()


def test_a_closed_column_leaves_no_widget(client: Client, picture_job: Job) -> None:
    before = in_use()
    column = JobCell(client, CardHandle())
    press(column.add(picture_job.core), "vary")
    column.close()
    assert in_use() == before


def test_varying_another_job_shows_its_settings_and_none_of_the_first_one(
    client: Client, column: JobCell
) -> None:
    bodies = [BODY, BODY | {"prompt": "a boat"}]
    first, second = (
        column.add(AsyncJob(client.components.jobs, state_of("completed", body=body)))
        for body in bodies
    )
    press(first, "vary")
    form = column._form
    assert form is not None
    form.values.duration = 10
    press(second, "vary")
    assert column._form is form
    assert form.request() == bodies[1]


def test_a_cell_that_is_run_again_closes_the_views_of_other_jobs_too(
    client: Client,
) -> None:
    def run(number: int) -> int:
        for take in "ab":  # one cell may show several
            state = state_of("queued", id=f"media_{take}{number}")
            job = AsyncJob(client.components.jobs, state)
            show_in(NotebookCell("a", f"run {number}"), job, client)
        return in_use()

    once = run(1)
    assert [run(number) for number in (2, 3, 4)] == [once] * 3
    # What another run of it shows in another cell is no replacement.
    show_in(
        NotebookCell("b", "run 5"),
        AsyncJob(client.components.jobs, state_of("queued")),
        client,
    )
    assert in_use() > once


def test_where_cells_are_not_told_apart_the_views_of_the_latest_runs_stay(
    client: Client,
) -> None:
    def run(number: int) -> int:
        job = AsyncJob(client.components.jobs, state_of("queued", id=f"media_{number}"))
        show_in(NotebookCell(f"run {number}", f"run {number}"), job, client)
        return in_use()

    counts = [run(number) for number in range(MAX_ANONYMOUS_RUNS + 5)]
    assert counts[1] > counts[0]
    assert len(set(counts[-5:])) == 1


# -- in a form ----------------------------------------------------------------------


def test_varying_in_a_form_brings_the_settings_back_and_no_other(
    client: Client,
) -> None:
    bodies: list[dict[str, Any]] = [
        {"prompt": "a kite", "steps": 9},
        {"prompt": "a boat"},
    ]
    form = Form(client, client.catalog.function("text-to-image"))
    for number, body in enumerate(bodies):
        form._accept(client.run("text-to-image", **body).core)
        press(form.jobs[0], "vary")
        assert "The form now has these settings" in note(form.jobs[0])
        assert form.request() == body
        assert form.widget.form["focus"] == number + 1
    form.close()


def test_varying_puts_what_was_not_sent_back_to_its_default(client: Client) -> None:
    function = client.catalog.function("text-to-video")
    body = {"prompt": "a kite", "duration": 7, "webhook_url": "https://a.test/hook"}
    values = varied(function, body)
    assert values["duration"] == 7
    assert values["prompt"] == "a kite"
    assert "webhook_url" not in values
    assert values["resolution"] == function.fields["resolution"].default
