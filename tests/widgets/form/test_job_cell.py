"""Jobs in a cell: the next take, the same once more, and a form to vary them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mediakit import Client, Job
from mediakit.client import AsyncJob
from mediakit.errors import JobFailedError
from mediakit.records import ErrorCode
from mediakit.widgets.form.controller import Form
from mediakit.widgets.form.job_cell import JobCell, show_in
from mediakit.widgets.job.actions import NEXT, RETRY, VARY, next_text, offered
from mediakit.widgets.job.host import JobHost, varied
from mediakit.widgets.toolkit.cell_outputs import CardHandle, Cell
from tests.support.job_states import BODY, RANGE, UNKNOWN, failed, settled, state_of
from tests.support.samples.media_samples import make_png
from tests.widgets.form.test_form import press_generate
from tests.widgets.job.test_view import buttons, eventually, in_use, press, words

DONE = ("Download", "Save to folder", "Erase…")
FULL = JobHost(add=lambda job: None, vary=lambda state: "")


class Publications(dict[str, str]):
    """What a notebook holds, by display id."""

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


@pytest.fixture
def picture_job(client: Client, tmp_path: Path) -> Job:
    picture = make_png(tmp_path / "in.png", (96, 64))
    return client.run("image-upscale", image_url=str(picture), timeout_s=60)


def shown(column: JobCell) -> list[Any]:
    """Return the jobs, newest first, and the form, without what only gives names."""
    jobs, *others = column.widget.children
    parts = [*reversed(jobs.children), *others]
    return [each for each in parts if "mk-names" not in each._dom_classes]


# -- what is offered when -----------------------------------------------------------


def test_what_is_offered_follows_from_how_the_job_stands() -> None:
    assert offered(state_of("queued"), FULL) == (VARY,)
    assert offered(state_of("running"), FULL) == (VARY,)
    completed = state_of("completed", **settled(340_000))
    assert offered(completed, FULL) == (NEXT, VARY, *DONE)
    assert offered(completed, None) == DONE
    assert offered(completed, JobHost(add=print)) == (NEXT, *DONE)


@pytest.mark.parametrize("code", list(ErrorCode))
def test_trying_again_is_offered_where_it_may_help(code: ErrorCode) -> None:
    hopeless = code in (ErrorCode.INVALID_INPUT, ErrorCode.CONTENT_MODERATION)
    assert (RETRY in offered(failed(code.value), FULL)) is not hopeless
    assert VARY in offered(failed(code.value), FULL)


def test_a_job_from_elsewhere_cannot_be_asked_for_again_from_here() -> None:
    elsewhere = state_of("completed", body={}, estimate=None)
    assert offered(elsewhere, FULL) == DONE


def test_the_next_take_says_its_price_where_there_is_one() -> None:
    assert next_text(state_of("completed")) == "Another take · $0.34"
    assert next_text(state_of("completed", estimate=RANGE)).startswith(
        "Another take · $"
    )
    assert next_text(state_of("completed", estimate=UNKNOWN)) == "Another take"
    assert next_text(state_of("completed", estimate=None)) == "Another take"


# -- what it does -------------------------------------------------------------------


def test_the_next_take_is_another_job_above_the_first_and_both_stay(
    client: Client, picture_job: Job, column: JobCell, sent: Publications
) -> None:
    first = column.add(picture_job.core)
    press(first, next_text(picture_job.state))
    eventually(lambda: len(shown(column)) == 2)
    newest, oldest = shown(column)
    assert oldest is first.widget
    assert newest is not first.widget
    eventually(lambda: len(sent.cards) == 2)
    assert len(client.history.frame()) == 2


def test_next_take_in_code_submits_the_same_bytes_once_more(
    client: Client, picture_job: Job
) -> None:
    other = picture_job.next_take().wait(60)
    assert isinstance(other, Job)
    assert other.id != picture_job.id
    frame = client.history.frame()
    assert sorted(frame["take"]) == [1, 2]
    assert other.state.body == picture_job.state.body
    assert other.state.estimate is not None
    assert other.state.estimate.text == "$0.126"


def test_a_next_take_that_cannot_be_asked_for_is_a_sentence(
    client: Client, column: JobCell
) -> None:
    view = column.add(AsyncJob(client.components.jobs, state_of("completed")))
    press(view, "Another take · $0.34")
    eventually(lambda: "is not in this history" in words(view))
    assert not buttons(view)["Another take · $0.34"].disabled
    assert len(shown(column)) == 1


def test_trying_again_shows_the_new_job_above_the_failed_one(
    client: Client, column: JobCell
) -> None:
    prompt = "a kite sandbox:fail=provider_error"
    with pytest.raises(JobFailedError) as caught:
        client.run("text-to-video", prompt=prompt, duration=3)
    job: Any = caught.value.job
    view = column.add(job.core)
    press(view, "Try again")
    eventually(lambda: len(shown(column)) == 2)
    assert len(client.history.frame()) == 2


def test_varying_opens_a_form_of_its_own_with_the_same_settings(
    client: Client, picture_job: Job, column: JobCell
) -> None:
    elsewhere = client.form("image-upscale")
    view = column.add(picture_job.core)
    press(view, VARY)
    assert "nothing is sent yet" in words(view)
    assert len(shown(column)) == 2
    assert column._form is not None
    assert column._form.request() == picture_job.state.body
    assert not elsewhere._closed
    elsewhere.close()


def test_varying_twice_keeps_one_form(picture_job: Job, column: JobCell) -> None:
    view = column.add(picture_job.core)
    press(view, VARY)
    press(view, VARY)
    assert len(shown(column)) == 2


def test_varying_another_job_shows_its_settings_and_none_of_the_first_one(
    client: Client, column: JobCell
) -> None:
    first, second = (
        column.add(AsyncJob(client.components.jobs, state_of("completed", body=body)))
        for body in (BODY, BODY | {"prompt": "a boat"})
    )
    press(first, VARY)
    form = column._form
    assert form is not None
    form.values.duration = 10
    press(second, VARY)
    assert column._form is form
    assert form.request() == BODY | {"prompt": "a boat"}


def test_varying_in_a_form_leaves_no_further_field_of_another_job(
    client: Client,
) -> None:
    function = client.catalog.function("text-to-image")
    bodies: list[dict[str, object]] = [
        {"prompt": "a kite", "steps": 9},
        {"prompt": "a boat"},
    ]
    form = Form(client, function)
    for body in bodies:
        form._vary(state_of("completed", function=function.path, body=body))
        assert form.request() == body
    form.close()


def test_a_job_that_the_varied_form_makes_stays_in_the_notebook_too(
    picture_job: Job, column: JobCell, sent: Publications
) -> None:
    view = column.add(picture_job.core)
    press(view, VARY)
    form = column._form
    assert form is not None
    eventually(lambda: form.state.submit_reason is None)
    # The job that is varied is the same request, which the button says first.
    eventually(lambda: form.state.is_another_take)
    press_generate(form)
    eventually(lambda: len(form.jobs) == 1)
    eventually(lambda: len(sent.cards) == 2)


def test_a_closed_column_leaves_no_widget(client: Client, picture_job: Job) -> None:
    before = in_use()
    column = JobCell(client, CardHandle())
    press(column.add(picture_job.core), VARY)
    column.close()
    assert in_use() == before


def test_a_cell_that_is_run_again_closes_the_views_of_other_jobs_too(
    client: Client,
) -> None:
    def run(number: int) -> int:
        for take in "ab":  # one cell may show several
            state = state_of("queued", id=f"media_{take}{number}")
            job = AsyncJob(client.components.jobs, state)
            show_in(Cell("a", f"run {number}"), job, client)
        return in_use()

    once = run(1)
    assert [run(number) for number in (2, 3, 4)] == [once] * 3
    # What another run of it shows in another cell is no replacement.
    show_in(
        Cell("b", "run 5"), AsyncJob(client.components.jobs, state_of("queued")), client
    )
    assert in_use() > once


# -- in a form ----------------------------------------------------------------------


def test_varying_in_a_form_brings_the_settings_back(
    client: Client, picture_job: Job
) -> None:
    form = Form(client, client.catalog.function("image-upscale"))
    form._accept(picture_job.core)
    (view,) = form.jobs
    assert form.request() != picture_job.state.body
    press(view, VARY)
    assert "The form has these settings now" in words(view)
    assert form.request() == picture_job.state.body
    press(view, next_text(picture_job.state))
    eventually(lambda: len(form.jobs) == 2)
    assert form.jobs[1] is view
    form.close()


def test_varying_puts_what_was_not_sent_back_to_its_default(client: Client) -> None:
    function = client.catalog.function("text-to-video")
    body = {"prompt": "a kite", "duration": 7, "webhook_url": "https://a.test/hook"}
    values = varied(function, body)
    assert values["duration"] == 7
    assert values["prompt"] == "a kite"
    assert "webhook_url" not in values
    assert values["resolution"] == function.fields["resolution"].default
