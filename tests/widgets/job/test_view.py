from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import ipywidgets as w
import pytest

from mediakit import Client, Job
from mediakit.client import AsyncJob, JobState
from mediakit.sandbox.server.running import RunningSandbox
from mediakit.widgets.form.job_cell import display_job
from mediakit.widgets.job.view import JobView
from tests.support.job_states import (
    JOB_ID,
    NOON,
    Markup,
    failed,
    settled,
    state_of,
)
from tests.support.kernels import run_cells
from tests.support.samples.media_samples import make_png
from tests.support.virtual_clock import VirtualClock
from tests.support.widgets import in_use
from tests.support.widgets import until as eventually

LARGE_BYTES = 10_000_000


@pytest.fixture
def at(client: Client) -> Callable[[JobState], AsyncJob]:
    """Give a job in any state; the service itself knows no such job."""
    return lambda state: AsyncJob(client.components.jobs, state)


@pytest.fixture
def show(client: Client) -> Iterator[Callable[..., JobView]]:
    """Give views of jobs, which are closed in the end."""
    views: list[JobView] = []

    def make(job: AsyncJob, **more: Any) -> JobView:
        views.append(JobView(job, client, **more))
        assert views[-1].widget  # it is on the page
        return views[-1]

    yield make
    for view in views:
        view.close()


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock(NOON)


def widgets_of(view: JobView) -> Iterator[Any]:
    waiting = [view.widget]
    while waiting:
        widget = waiting.pop(0)
        yield widget
        waiting += getattr(widget, "children", ())


def part(view: JobView, name: str) -> str:
    """Return the HTML of one part of a view, such as "stage"."""
    (widget,) = (x for x in widgets_of(view) if f"mk-job-{name}" in x._dom_classes)
    return str(widget.value)


def words(view: JobView) -> str:
    """Return everything that a view says, without its style sheet."""
    html = [x.value for x in widgets_of(view) if isinstance(x, w.HTML)]
    return " ".join(Markup(value.split("</style>")[-1]).text for value in html)


def buttons(view: JobView) -> dict[str, Any]:
    """Return the buttons that are there to be pressed, by their words."""
    return {x.description: x for x in widgets_of(view) if isinstance(x, w.Button)}


def press(view: JobView, text: str) -> None:
    button = buttons(view)[text]
    assert not button.disabled
    button.click()


async def an_event() -> anyio.Event:
    return anyio.Event()


async def set_event(event: anyio.Event) -> None:
    event.set()


async def let_others_run() -> None:
    for _ in range(20):
        await anyio.lowlevel.checkpoint()


# -- how it stands ----------------------------------------------------------------


def test_a_queued_job_says_that_it_waits_and_its_clock_moves(
    at: Any, show: Any, client: Client, clock: VirtualClock
) -> None:
    view = show(at(state_of("queued")), clock=clock)
    assert "Queued" in part(view, "title")
    assert "In the queue for 0 s, since 12:00:00 UTC." in part(view, "clock")
    client.io.call(clock.advance, 3)
    eventually(lambda: "In the queue for 3 s," in part(view, "clock"))
    assert buttons(view) == {}
    assert "<progress" not in part(view, "clock")


def test_a_job_moves_through_its_states_in_one_view(at: Any, show: Any) -> None:
    job = at(state_of("queued"))
    view = show(job)
    job.update(state_of("running", trouble="The service does not answer."))
    assert "Running" in part(view, "title")
    assert "The service does not answer." in words(view)
    job.update(state_of("completed", billing={"state": "pending"}))
    assert "Completed" in part(view, "title")
    assert "settling…" in part(view, "title")
    assert "does not answer" not in words(view)
    assert "<progress" not in part(view, "clock")
    job.update(state_of("completed", **settled(340_000)))
    assert "$0.34 as estimated" in words(view)


@pytest.mark.spec("7.3")
def test_a_failed_job_says_why_in_plain_words(at: Any, show: Any) -> None:
    view = show(at(failed("provider_error", "<b>upstream</b>", **settled(0))))
    assert "Failed" in part(view, "title")
    assert "The service says provider_error: <b>upstream</b>" in words(view)
    assert "$0.00: nothing was charged" in words(view)
    assert list(buttons(view)) == ["Erase…"]


# -- the result -------------------------------------------------------------------


def test_a_real_result_is_shown_and_its_card_has_a_poster(
    picture_job: Job, show: Any
) -> None:
    view = show(picture_job.core)
    eventually(lambda: "data:image/jpeg" in view.card_html)
    eventually(lambda: "<img" in part(view, "stage"))
    picture = Markup(part(view, "stage")).first("img")
    assert picture is not None
    assert picture["src"] == picture_job.url
    assert (picture["width"], picture["height"]) == ("640", "427")
    assert "$0.126 as estimated" in words(view)
    assert picture_job.id in view.card_text


def test_a_result_that_cannot_be_fetched_is_said_and_still_linked(
    at: Any, show: Any
) -> None:
    view = show(at(state_of("completed")))
    eventually(lambda: "There is no poster of the result" in words(view))
    assert "<video" in part(view, "stage")
    assert "base64" not in view.card_html


def test_a_player_that_is_there_is_not_touched_when_the_charge_settles(
    picture_job: Job, show: Any
) -> None:
    view = show(picture_job.core)
    eventually(lambda: "data:image/jpeg" in view.card_html)
    written: list[object] = []
    (stage,) = (x for x in widgets_of(view) if "mk-job-stage" in x._dom_classes)
    stage.observe(written.append, "value")
    state = picture_job.state
    entry = replace(state.entry, charge_micro_usd=None)
    picture_job.core.update(replace(state, entry=entry))
    assert "settling…" in words(view)
    picture_job.core.update(state)
    assert "as estimated" in words(view)
    assert written == []


def test_a_slow_look_at_the_result_does_not_keep_the_player_away(
    picture_job: Job,
    show: Any,
    client: Client,
    clock: VirtualClock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    job = picture_job.core
    go_on = client.io.call(an_event)
    fetch = job.fetch_output

    async def slowly(max_bytes: int) -> bytes:
        await go_on.wait()
        return await fetch(max_bytes)

    monkeypatch.setattr(job, "fetch_output", slowly)
    view = show(job, clock=clock)
    client.io.call(let_others_run)
    assert "<img" not in part(view, "stage")
    client.io.call(clock.advance, 3)
    eventually(lambda: "<img" in part(view, "stage"))
    early = part(view, "stage")
    client.io.call(set_event, go_on)
    eventually(lambda: "data:image/jpeg" in view.card_html)
    assert part(view, "stage") == early


# -- what can be done -------------------------------------------------------------


def test_save_to_folder_saves_the_result_here_and_says_where(
    picture_job: Job, show: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    view = show(picture_job.core)
    press(view, "Save to folder")
    eventually(lambda: "Saved to " in words(view))
    (saved,) = tmp_path.glob("image-upscale-*g")
    assert str(saved) in words(view)
    assert f"{saved.name}.json, next to it, has the prompt" in words(view)
    assert saved.with_name(f"{saved.name}.json").is_file()
    assert saved.read_bytes() == picture_job.fetch_output(LARGE_BYTES)
    eventually(lambda: not buttons(view)["Save to folder"].disabled)


def test_save_to_folder_never_replaces_a_file_silently(
    picture_job: Job, show: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    saved = picture_job.download()
    saved.write_text("mine")
    view = show(picture_job.core)

    press(view, "Save to folder")
    eventually(lambda: "Yes, replace it" in buttons(view))
    press(view, "Cancel")
    assert list(buttons(view)) == ["Before / after", "Save to folder", "Erase…"]
    assert saved.read_text() == "mine"

    eventually(lambda: not buttons(view)["Save to folder"].disabled)
    press(view, "Save to folder")
    eventually(lambda: "Yes, replace it" in buttons(view))
    press(view, "Yes, replace it")
    eventually(lambda: "Saved to " in words(view))
    assert saved.read_bytes() == picture_job.fetch_output(LARGE_BYTES)


def test_a_save_that_fails_is_a_sentence_in_the_view(
    picture_job: Job, show: Any, sandbox: RunningSandbox, tmp_path: Path
) -> None:
    view = show(picture_job.core)
    # From then on nobody reads the settled job, nor sees what happens next.
    eventually(lambda: "data:image/jpeg" in view.card_html)
    other = Client(sandbox.base_url, sandbox.api_key, home=tmp_path / "other")
    with other:
        other.job(picture_job.id).erase()
    press(view, "Save to folder")
    eventually(lambda: 'role="alert"' in part(view, "note"))
    assert "was erased" in words(view)


@pytest.mark.spec("4.18")
def test_erase_asks_once_really_erases_and_leaves_no_poster_behind(
    picture_job: Job, show: Any
) -> None:
    view = show(picture_job.core)
    eventually(lambda: "data:image/jpeg" in view.card_html)
    press(view, "Erase…")
    assert "The service deletes the result and the request." in words(view)
    assert "the row in your history with its charge" in words(view)
    press(view, "Cancel")
    assert list(buttons(view)) == ["Before / after", "Save to folder", "Erase…"]
    assert picture_job.refresh().state.record.deleted_at is None

    press(view, "Erase…")
    picture_job.core.update(replace(picture_job.state, trouble="No answer."))
    assert list(buttons(view)) == ["Yes, erase it", "Cancel"]  # the question stays
    press(view, "Yes, erase it")
    eventually(
        lambda: "The service erased the result and the request on" in words(view)
    )
    assert picture_job.refresh().state.record.deleted_at is not None
    assert "data:image/jpeg" not in view.card_html
    assert "<img" not in part(view, "stage")
    assert list(buttons(view)) == ["Forget the prompt…"]


def test_an_erase_that_fails_is_a_sentence_and_can_be_tried_again(
    at: Any, show: Any
) -> None:
    view = show(at(failed("internal", **settled(0))))
    press(view, "Erase…")
    press(view, "Yes, erase it")
    eventually(lambda: 'role="alert"' in part(view, "note"))
    assert "The service could not find the job" in words(view)
    eventually(lambda: not buttons(view)["Erase…"].disabled)


# -- its life ---------------------------------------------------------------------


def test_the_card_is_updated_at_every_change_until_nobody_listens(
    at: Any, show: Any
) -> None:
    job = at(state_of("queued"))
    view = show(job)
    cards: list[str] = []
    end = view.on_card(lambda: cards.append(view.card_text))
    job.update(state_of("running"))
    job.update(failed("internal"))
    end()
    job.update(failed("internal", **settled(0)))
    assert [card.splitlines()[0] for card in cards] == [
        "Text to video: running",
        "Text to video: failed",
    ]


def test_a_closed_view_leaves_no_widget_no_listener_and_no_clock(
    at: Any, client: Client, clock: VirtualClock
) -> None:
    before = in_use()
    job = at(state_of("queued"))
    view = JobView(job, client, clock=clock)
    assert view.widget
    client.io.call(let_others_run)
    assert len(clock._sleepers) == 1
    job.update(failed("internal"))  # its clock ends with the job
    client.io.call(clock.advance, 5)
    assert clock._sleepers == []
    press(view, "Erase…")
    view.close()
    view.close()
    assert in_use() == before
    assert job._listeners == []


# -- in a cell --------------------------------------------------------------------


def test_without_a_notebook_a_job_is_printed(
    at: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    display_job(at(state_of("queued")))
    assert JOB_ID in capsys.readouterr().out


def test_a_notebook_keeps_the_card_of_a_job_beside_its_live_view(
    sandbox: RunningSandbox, tmp_path: Path
) -> None:
    make_png(tmp_path / "in.png", (96, 64))
    cells = [
        "import time\n"
        "import anyio\n"
        "import mediakit as mk\n"
        "from mediakit.widgets.toolkit.cell_outputs import current_cell\n"
        "from mediakit.widgets.form.job_cell import show_in\n"
        f"client = mk.Client({sandbox.base_url!r}, {sandbox.api_key!r}, home='.')",
        "job = client.submit('image-upscale', image_url='in.png', take='next')\n"
        "view = show_in(current_cell(), job.core, client)",
        "job.settle(60)\n"
        "while 'data:image/jpeg' not in view.card_html:\n"
        "    time.sleep(0.1)\n"
        "client.io.call(anyio.sleep, 0)",
    ]
    _, shown, _ = run_cells(cells, tmp_path)

    card, widget = shown.outputs
    page = Markup(card["data"]["text/html"])
    picture = page.first("img")
    assert picture is not None
    assert (picture["src"] or "").startswith("data:image/jpeg")
    assert "$0.126 as estimated" in page.text
    assert "$0.126 as estimated" in card["data"]["text/plain"]
    assert "application/vnd.jupyter.widget-view+json" in widget["data"]
    assert widget["data"]["text/plain"] == ""
    assert widget["data"]["text/html"] == ""
