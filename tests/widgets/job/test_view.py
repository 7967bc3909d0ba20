"""One displayed job: its payload for the page, and users' actions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta, timezone
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from mediakit import Client, Job
from mediakit.api_models import ErrorCode
from mediakit.client import AsyncJob, JobState
from mediakit.client.job_acts import ACTS, FORGOTTEN, act_of
from mediakit.errors import ConflictError
from mediakit.sandbox.server.running import RunningSandbox
from mediakit.widgets.form.job_cell import display_job
from mediakit.widgets.job.payload import (
    JobHost,
    Shown,
    job_payload,
    offered,
)
from mediakit.widgets.job.view import SECOND_CLICK_S, JobView
from tests.support.job_states import (
    HOSTILE,
    JOB_ID,
    NOON,
    RANGE,
    UNKNOWN,
    Markup,
    failed,
    settled,
    state_of,
)
from tests.support.kernels import run_cells
from tests.support.recipes import delivered
from tests.support.samples.media_samples import make_png
from tests.support.virtual_clock import VirtualClock
from tests.support.waiting import PATIENCE_S
from tests.support.widgets import alert, note, press
from tests.support.widgets import until as eventually

LARGE_BYTES = 10_000_000
DONE = ("download", "save", "erase")
EXPECTED = ("retry", "take", "vary", "compare", "forget", *DONE)
FULL = JobHost(add=lambda job: None, vary=lambda state: "")
COMPLETED = state_of("completed", **settled(340_000))
FROM_ELSEWHERE = state_of("completed", body={}, estimate=None)


def names(state: JobState, host: JobHost = FULL, *environment: Any) -> tuple[str, ...]:
    """Return which of these acts a card offers; the table may have more."""
    found = (act.name for act in offered(state, host, *environment))
    return tuple(name for name in found if name in EXPECTED)


@pytest.fixture
def at(client: Client) -> Callable[[JobState], AsyncJob]:
    """Return a job in any state, which the service does not have."""
    return lambda state: AsyncJob(client.components.jobs, state)


@pytest.fixture
def show(client: Client) -> Iterator[Callable[..., JobView]]:
    """Return views of jobs on a page, and close them after the test."""
    views: list[JobView] = []

    def make(job: AsyncJob, **more: Any) -> JobView:
        views.append(JobView(job, client, **more))
        views[-1].open()
        return views[-1]

    yield make
    for view in views:
        view.close()


# -- how it stands ----------------------------------------------------------------


def test_a_job_moves_through_its_states_and_tells_each_to_the_page(
    at: Any, show: Any
) -> None:
    job = at(state_of("queued", usual_runtime_s=8.0))
    view, told = show(job), list[str]()
    view.on_change(lambda: told.append(view.payload["word"]))
    clock = view.payload["clock"]
    assert (clock["before"], clock["since_ms"]) == (
        "In the queue for ",
        NOON.timestamp() * 1000,
    )
    assert clock["after"] == (
        ", since 12:00:00 UTC. It starts when a slot is free, then usually about 8 s."
    )
    job.update(state_of("running", trouble="The service does not answer."))
    assert view.payload["clock"]["before"] == "Running for "
    assert view.payload["trouble"] == "The service does not answer."
    job.update(state_of("completed", billing={"state": "pending"}))
    assert "settling" in view.payload["line"]
    assert (view.payload["clock"], view.payload["trouble"]) == (None, "")
    job.update(COMPLETED)
    assert "$0.34 as estimated" in view.payload["line"]
    assert told == ["Running", "Completed", "Completed"]


def test_an_instant_of_another_zone_is_written_in_utc(at: Any, show: Any) -> None:
    at_ten = NOON.replace(hour=10, tzinfo=timezone(timedelta(hours=2)))
    view = show(at(state_of("completed", deleted_at=at_ten)))
    assert view.payload["erased"].endswith("on 2026-03-01 08:00 UTC.")


@pytest.mark.parametrize(
    ("state", "place"),
    [
        (state_of("running", body={"aspect_ratio": "9:16"}), [9, 16]),
        (state_of("queued", body={"aspect_ratio": HOSTILE}), [16, 9]),
        (state_of("failed"), None),
        (state_of("running", media_type="audio"), None),
    ],
)
def test_a_result_that_is_to_come_has_its_place_in_its_shape(
    state: JobState, place: object, at: Any, show: Any
) -> None:
    assert show(at(state)).payload["place"] == place


# -- the result -------------------------------------------------------------------


def test_a_real_result_is_shown_and_its_card_has_a_poster(
    picture_job: Job, show: Any
) -> None:
    view = show(picture_job.core)
    assert view.payload["result"]["url"] == picture_job.url
    eventually(lambda: "data:image/jpeg" in view.card_html)
    result = view.payload["result"]
    assert (result["medium"], result["size"]) == ("image", [192, 128])
    # It stands where the browser cannot reach the picture itself.
    assert result["poster"].startswith("data:image/jpeg")
    assert "$0.126 as estimated" in view.payload["line"]
    assert picture_job.id in view.card_text


def test_a_result_that_cannot_be_fetched_is_still_played_and_linked(
    at: Any, show: Any
) -> None:
    view = show(at(state_of("completed")))
    assert view.wait_until_seen(PATIENCE_S)
    assert view.payload["result"]["url"].startswith("https://media.test/")
    assert "base64" not in view.card_html


@pytest.mark.parametrize("url", ["javascript:canary()", HOSTILE, "//media.test/x"])
def test_an_address_that_is_none_is_neither_opened_nor_played(
    url: str, at: Any, show: Any
) -> None:
    view = show(at(state_of("completed", url=url)))
    assert view.payload["result"] == {"address": url[:200]}


IN, OUT = "http://127.0.0.1:1111/files/in.png", "http://127.0.0.1:2222/files/out.png"


@pytest.mark.parametrize(
    ("kind", "body", "before"),
    [
        ("image-upscale", {"image_url": "https://a.test/x"}, "https://a.test/x"),
        ("video-upscale", {"video_url": "https://a.test/x"}, "https://a.test/x"),
        ("region-replace", {"video": "https://a.test/x"}, "https://a.test/x"),
        # The input of a sandbox is where its output is now.
        ("image-upscale", {"image_url": IN}, IN.replace("1111", "2222")),
        ("text-to-video", {"video_url": "https://a.test/x"}, None),
        ("video-upscale", {"video_url": "javascript:canary()"}, None),
        ("video-upscale", {"video_url": 7}, None),
    ],
)
def test_an_upscale_and_a_replaced_region_have_something_before(
    kind: str, body: dict[str, object], before: str | None
) -> None:
    state = state_of("completed", kind=kind, url=OUT, body=body)
    assert state.before_url == before
    assert ("compare" in names(state)) is (before is not None)


def test_the_kernel_passes_a_result_and_a_sentence_where_there_is_none(
    picture_job: Job, show: Any
) -> None:
    view = show(picture_job.core)
    (whole,) = press(view, "file", number=1)[0]["buffers"]
    assert whole == picture_job.fetch_output(LARGE_BYTES)
    picture_job.erase()
    for name in ("file", "copy"):
        (said,) = press(view, name, number=2)
        assert "erased" in said["problem"]


# -- what can be done -------------------------------------------------------------


@pytest.mark.parametrize(
    ("state", "host", "acts"),
    [
        (state_of("queued"), FULL, ("vary",)),
        (state_of("running"), FULL, ("vary",)),
        (COMPLETED, FULL, ("take", "vary", *DONE)),
        (COMPLETED, JobHost(), DONE),
        (COMPLETED, JobHost(add=print), ("take", *DONE)),
        (FROM_ELSEWHERE, FULL, DONE),
    ],
)
def test_the_offered_acts_depend_on_the_state_of_the_job(
    state: JobState, host: JobHost, acts: tuple[str, ...]
) -> None:
    assert names(state, host) == acts
    # Visitors of Voilà save nothing on the machine that serves it.
    voila = {"VOILA_REQUEST_URL": "http://127.0.0.1/"}
    assert names(state, host, voila) == tuple(a for a in acts if a != "save")


@pytest.mark.parametrize("code", list(ErrorCode))
def test_trying_again_is_offered_where_it_may_help(code: ErrorCode) -> None:
    hopeless = code in (ErrorCode.INVALID_INPUT, ErrorCode.CONTENT_MODERATION)
    assert ("retry" in names(failed(code.value))) is not hopeless
    assert "vary" in names(failed(code.value))


def test_another_take_and_another_try_say_their_price_where_there_is_one() -> None:
    done, again = state_of("completed"), failed("internal")
    for state, name, label in (
        (done, "take", "Another take"),
        (again, "retry", "Try again"),
    ):
        texts = job_payload(state, Shown(), FULL)["prices"]
        assert texts == {name: f"{label} · $0.34"}
    take = act_of(ACTS, "take")
    assert take.text(RANGE).startswith("Another take · $")
    for estimate in (UNKNOWN, None):
        assert take.text(estimate) == "Another take"


def test_a_paid_button_buys_once_at_its_price_and_only_if_offered(
    picture_job: Job, show: Any, client: Client
) -> None:
    added: list[AsyncJob] = []
    clock = VirtualClock(NOON)
    view = show(picture_job.core, home=JobHost(add=added.append), clock=clock)
    press(view, "take", text="Another take · $0.10")
    assert "“Another take · $0.126”" in alert(view)
    press(view, "retry")
    press(view, "buy")
    client.io.call(clock.advance, SECOND_CLICK_S)
    for _ in range(3):  # another page, or one whose own guard failed
        press(view, "take", text=view.payload["prices"]["take"])
    eventually(lambda: added and not view.payload["busy"])
    assert len(client.history.frame()) == 2
    assert len(added) == 1


def test_save_to_folder_says_where_and_never_replaces_a_file_silently(
    picture_job: Job, show: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    view = show(picture_job.core)
    assert press(view, "save") == [{"taken": False}]
    (saved,) = tmp_path.glob("*-*g")
    eventually(lambda: str(saved) in note(view))
    assert f"{saved.name}.json, next to it, has the prompt" in note(view)
    assert saved.with_name(f"{saved.name}.json").is_file()
    saved.write_text("mine")
    eventually(lambda: not view.payload["busy"])

    assert press(view, "save") == [{"taken": True}]
    assert saved.read_text() == "mine"
    eventually(lambda: not view.payload["busy"])
    press(view, "save", overwrite=True)
    content = saved.read_bytes()
    assert delivered(content) == picture_job.fetch_output(LARGE_BYTES)
    # The setting leaves the bytes as the service delivered them.
    monkeypatch.setenv("MEDIAKIT_RECIPES", "off")
    eventually(lambda: not view.payload["busy"])
    press(view, "save", overwrite=True)
    assert saved.read_bytes() == delivered(content)


def test_a_failed_act_is_reported_and_can_be_repeated(
    at: Any, show: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    view = show(at(failed("internal", **settled(0))))
    press(view, "erase")
    eventually(lambda: "The service could not find the job" in alert(view))
    eventually(lambda: "erase" in view.payload["acts"] and not view.payload["busy"])


def prompted(client: Client) -> Job:
    # The sandbox is shared: the same request would be the job of another test.
    prompt = f"a secret kite {uuid4().hex}"
    return client.run("text-to-image", prompt=prompt).settle()


@pytest.mark.spec("4.18")
def test_erase_really_erases_leaves_no_poster_and_may_forget_the_prompt(
    client: Client, show: Any
) -> None:
    job = prompted(client)
    view = show(job.core)
    eventually(lambda: "data:image/jpeg" in view.card_html)
    press(view, "erase", ticked=True)
    eventually(lambda: note(view) == FORGOTTEN)
    eventually(lambda: "The service erased the result" in view.payload["erased"])
    assert job.refresh().state.record.deleted_at is not None
    entry = client.components.store.find(job.id)
    assert entry is not None
    assert (entry.prompt, entry.body) == (None, b"{}")
    assert entry.charge_micro_usd == job.charge_micro_usd
    eventually(lambda: not {"erase", "forget"} & {*view.payload["acts"]})
    shown = f"{view.card_html} {view.card_text} {view.payload}"
    assert "secret" not in shown
    assert "data:image/jpeg" not in shown


def test_a_prompt_that_was_kept_can_be_forgotten_later(
    client: Client, show: Any
) -> None:
    job = prompted(client)
    with pytest.raises(ConflictError, match="was not erased"):
        job.forget()
    view = show(job.core)
    press(view, "erase")
    eventually(lambda: "forget" in view.payload["acts"])
    assert "a secret kite" in view.card_html
    press(view, "forget")
    eventually(lambda: "secret" not in view.card_html)
    assert "secret" not in client.history.frame().to_csv()


def test_an_erased_request_is_submitted_again_after_it_was_forgotten(
    client: Client,
) -> None:
    job = prompted(client)
    prompt = job.state.prompt
    job.erase(forget=True)
    assert job.state.prompt is None
    again = client.run("text-to-image", prompt=prompt, take="next")
    assert again.id != job.id
    entry = client.components.store.find(job.id)
    assert entry is not None
    assert entry.prompt is None


@pytest.mark.parametrize(
    ("known", "name"),
    [
        (
            {"prompt": "A Red Balloon, über a lake!"},
            "a-red-balloon-uber-a-lake-0f3c9a1e.mp4",
        ),
        (
            {"prompt": None, "kind": "image-upscale", "function": "a/b/image-upscale"},
            "image-upscale-0f3c9a1e.mp4",
        ),
        (  # cut between two words
            {"prompt": "balloon " * 40},
            f"{'-'.join(['balloon'] * 6)}-0f3c9a1e.mp4",
        ),
    ],
)
def test_a_download_is_named_by_its_prompt_and_its_job(
    known: dict[str, Any], name: str, at: Any, show: Any
) -> None:
    view = show(at(state_of("completed", **known)))
    assert view.payload["result"]["name"] == name


@pytest.mark.parametrize("text", [HOSTILE, "../../etc/passwd", "a\nb\0c", "漢字"])
def test_the_name_of_a_download_is_plain_whatever_the_prompt(text: str) -> None:
    name = state_of("completed", prompt=text, id=text).file_name("https://a.test/x.mp4")
    assert name.endswith(".mp4")
    assert not set(name) - set("abcdefghijklmnopqrstuvwxyz0123456789-.")
    assert ".." not in name


# -- its life, and a cell ---------------------------------------------------------


def test_the_card_is_updated_at_every_change_while_it_is_open(
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
    view.close()
    view.close()
    assert not job._listeners


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
        "job.settle()\n"
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
    assert "This page cannot show" in widget["data"]["text/html"]
