"""Jobs on a page: updates interrupt no player, download or question; buttons ask."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from playwright.sync_api import Locator, expect

from mediakit.catalog import Catalog
from mediakit.client import JobState
from mediakit.widgets.job.jobs import MOST_JOBS, JobsWidget
from mediakit.widgets.job.payload import (
    JobHost,
    Payload,
    Shown,
    job_payload,
    line_payload,
    set_payload,
)
from mediakit.widgets.job.preview import Preview
from mediakit.widgets.job.uses import Uses
from mediakit.widgets.job.view import Answer
from tests.browser.hands import click_at
from tests.browser.harness.wait import rest, until
from tests.browser.modules.bare_page import BarePage
from tests.support.job_states import HOSTILE, NOON, failed, settled, state_of
from tests.support.samples.media_samples import make_mp4
from tests.support.servers.file_server import FileServer

pytestmark = pytest.mark.browser

HAS_ARRIVED = "el => [...el.querySelectorAll('img')].every(img => img.complete)"
HOST = JobHost(add=lambda _: None, vary=lambda _: "", uses=Uses(Catalog.default()))


class OneJob:
    """A job that records the page's requests."""

    home = HOST

    def __init__(self, state: JobState, shown: Shown | None = None) -> None:
        self.id = state.record.id
        self.acts: list[tuple[str, dict[str, Any]]] = []
        self.answers: dict[str, dict[str, Any]] = {}
        self._listeners: list[Callable[[], None]] = []
        self.state, self.shown = state, shown or Shown()

    @property
    def payload(self) -> Payload:
        return job_payload(self.state, replace(self.shown, arrives=True), HOST)

    def on_change(self, listener: Callable[[], None]) -> Callable[[], None]:
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def change(self, state: JobState | None = None, **shown: Any) -> None:
        self.state = state or self.state
        self.shown = Shown(**{**vars(self.shown), **shown})
        for listener in self._listeners:
            listener()

    def open(self) -> None:
        pass

    def act(self, name: str, said: Any, answer: Answer) -> None:
        told = {k: v for k, v in said.items() if k not in ("job", "act", "number")}
        self.acts.append((name, told))
        if name in self.answers:
            answer(**self.answers[name])


def picture(size: tuple[int, int], colour: str) -> bytes:
    out = BytesIO()
    Image.new("RGB", size, colour).save(out, "PNG")
    return out.getvalue()


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("clip") / "a.mp4"
    return make_mp4(path, (320, 180), 2).read_bytes()


@pytest.fixture
def files(clip: bytes) -> Iterator[FileServer]:
    made = {"a.mp4": clip, "a.png": picture((640, 360), "teal"), "hevc.mp4": b"no"}
    allowed = {"Access-Control-Allow-Origin": "*"}
    with FileServer(made, headers=allowed) as server:
        yield server


def done(
    files: FileServer, number: int = 0, name: str = "a.mp4", **more: Any
) -> OneJob:
    url = files.url(name)
    state = state_of("completed", id=f"media_{number}", url=url, **settled(340_000))
    more = {"media_type": "video", "prompt": f"kite {number}"} | more
    more |= {"id": f"media_{number}", "url": url}
    state = state_of("completed", **more, **settled(340_000))
    return OneJob(state)


def show(bare: BarePage, *jobs: OneJob, **traits: Any) -> tuple[JobsWidget, Locator]:
    widget = JobsWidget(**traits)
    widget.show_jobs(jobs)
    el = bare.show(widget)
    # A picture that arrives moves the buttons below it, also within a click.
    until(bare.page, lambda: el.evaluate(HAS_ARRIVED))
    return widget, el


def press(where: Locator, name: str) -> None:
    where.get_by_role("button", name=name, exact=True).click()


PLAY = """video => {
    video.muted = video.loop = true;
    window.played = video;
    window.stopped = [];
    for (const name of ["pause", "emptied", "abort"])
        video.addEventListener(name, () => window.stopped.push(name));
    return video.play();
}"""


def test_players_and_open_details_stay_while_ten_results_arrive(
    bare: BarePage, files: FileServer
) -> None:
    jobs = [done(files)]
    widget, el = show(bare, *jobs)
    card = el.get_by_role("article")
    card.locator("video").evaluate(PLAY)
    card.get_by_text("Details").click()
    card.get_by_role("button", name="Erase…").click()
    for number in range(1, 11):
        jobs.insert(0, OneJob(state_of("running", id=f"media_{number}")))
        widget.show_jobs(jobs)
        jobs[0].change(done(files, number).state)
    expect(el.get_by_role("article")).to_have_count(11)

    first = el.get_by_role("article").last
    expect(first.locator("details[open]")).to_have_count(1)
    expect(first.get_by_role("button", name="Erase", exact=True)).to_be_visible()
    assert bare.page.evaluate("window.played.isConnected && !window.played.paused")
    assert bare.page.evaluate("window.stopped") == []


def test_a_download_continues_while_results_arrive_and_gets_its_name(
    bare: BarePage, files: FileServer, clip: bytes
) -> None:
    jobs, held = [done(files)], list[Any]()
    widget, el = show(bare, *jobs)
    bare.page.route("**/a.mp4", lambda route: held.append(route))
    press(el, "Download")
    expect(el.get_by_role("button", name="Cancel")).to_be_visible()
    widget.show_jobs([OneJob(state_of("queued", id="media_1")), *jobs])
    expect(el.get_by_role("article")).to_have_count(2)
    until(bare.page, lambda: bool(held))
    with bare.page.expect_download() as waiting:
        for route in held:
            route.continue_()
    bare.page.unroute("**/a.mp4")
    assert waiting.value.suggested_filename == "kite-0-0.mp4"
    assert Path(waiting.value.path()).read_bytes() == clip
    expect(el.get_by_text("Your browser saved kite-0-0.mp4.")).to_be_visible()


def test_a_download_contains_the_recipe_that_the_kernel_has_for_this_file(
    bare: BarePage, files: FileServer, clip: bytes
) -> None:
    job = done(files)
    places, buffers = [[4, 8], [len(clip), len(clip)]], [b"four", b"at the end"]
    how = {"places": places, "buffers": buffers}
    _, el = show(bare, job)

    def downloaded(size: int) -> bytes:
        job.answers = {"recipe": {"size": size, **how}}
        with bare.page.expect_download() as waiting:
            press(el, "Download")
        return Path(waiting.value.path()).read_bytes()

    assert downloaded(len(clip)) == clip[:4] + b"four" + clip[8:] + b"at the end"
    assert downloaded(len(clip) + 1) == clip


def test_a_file_that_the_page_may_not_read_comes_from_the_kernel(
    bare: BarePage, files: FileServer
) -> None:
    job = done(files, name="gone.mp4")
    job.answers = {"file": {"buffers": [bytes(range(256))]}}
    _, el = show(bare, job)
    with bare.page.expect_download() as waiting:
        press(el, "Download")
    assert Path(waiting.value.path()).read_bytes() == bytes(range(256))

    job.answers = {"file": {"problem": "This result was erased."}}
    press(el, "Download")
    expect(el.get_by_role("alert")).to_have_text("This result was erased.")


def test_an_unplayable_clip_plays_as_a_copy_and_says_so(
    bare: BarePage, files: FileServer, clip: bytes
) -> None:
    job = done(files, name="hevc.mp4")
    job.shown = Shown(Preview(codec="hevc"))
    job.answers = {"copy": {"buffers": [clip]}}
    _, el = show(bare, job)
    expect(el.get_by_text("small H.264 copy")).to_be_visible()
    expect(el.get_by_text("H.265 (HEVC)")).to_be_visible()
    expect(el.locator("video")).to_have_js_property("videoWidth", 320)
    expect(el.get_by_role("link")).to_have_attribute("href", files.url("hevc.mp4"))

    job = done(files, 1, name="hevc.mp4")
    job.answers = {"copy": {"problem": "No copy could be made: the disk is full."}}
    _, el = show(bare, job)
    expect(el.get_by_text("No copy could be made: the disk is full.")).to_be_visible()


def test_a_card_keeps_its_height_and_place_through_all_states_of_its_job(
    bare: BarePage, files: FileServer
) -> None:
    bare.page.set_viewport_size({"width": 1300, "height": 900})
    job = OneJob(state_of("queued", id="media_0", usual_runtime_s=8.0))
    below = OneJob(state_of("queued", id="media_1"))
    _, el = show(bare, job, below)

    def at() -> float:
        box = el.get_by_role("article").last.bounding_box()
        assert box is not None
        return box["y"]

    before, finished = at(), done(files).state
    for state, words in (
        (state_of("running", id="media_0", usual_runtime_s=8.0), "Running for"),
        (finished, "as estimated"),
        (state_of("completed", id="media_0", deleted_at=NOON), "erased"),
    ):
        job.change(state)
        expect(el.get_by_role("article").first).to_contain_text(words)
        assert at() == pytest.approx(before, abs=1)


def test_paid_buttons_take_one_click_and_send_their_label(
    bare: BarePage, files: FileServer
) -> None:
    job = done(files)
    _, el = show(bare, job)
    button = el.get_by_role("button", name="Another take · $0.34")
    button.scroll_into_view_if_needed()
    button.hover()
    rest(bare.page)
    button.dblclick()
    rest(bare.page)
    assert bare.heard
    assert job.acts == [("take", {"text": "Another take · $0.34"})]


def test_a_double_click_on_an_answer_buys_nothing_that_appears_in_its_place(
    bare: BarePage, files: FileServer
) -> None:
    jobs = [done(files, number) for number in range(2)]
    _, el = show(bare, *jobs)
    top = el.get_by_role("article").first
    press(top, "Erase…")
    yes = top.get_by_role("button", name="Erase", exact=True)
    yes.hover()
    rest(bare.page)
    box = yes.bounding_box()
    assert box is not None
    x, y = box["x"] + 10, box["y"] + 10
    first_s = time.time()
    click_at(bare.page, x, y, first_s)
    # Every paid button is moved below the pointer.
    bare.page.add_style_tag(
        content=f".mk-paid{{position:fixed!important;left:{x - 30}px;top:{y - 15}px}}"
    )
    click_at(bare.page, x, y, first_s + 0.3)
    rest(bare.page)
    assert bare.heard
    assert [name for job in jobs for name, _ in job.acts] == ["erase"]
    assert jobs[0].acts == [("erase", {"ticked": False})]


def test_erasing_may_forget_too_and_a_file_is_replaced_only_when_asked(
    bare: BarePage, files: FileServer
) -> None:
    job = done(files)
    job.answers = {"save": {"taken": True}}
    _, el = show(bare, job)
    press(el, "Save to folder")
    expect(el.get_by_text("Replace it?")).to_be_visible()
    expect(el.get_by_role("button", name="Cancel")).to_be_focused()
    press(el, "Replace")
    press(el, "Cancel")
    press(el, "Erase…")
    el.get_by_label("Also forget the prompt").check()
    press(el, "Erase")
    until(bare.page, lambda: len(job.acts) == 3, lambda: job.acts)
    assert job.acts == [
        ("save", {"overwrite": False}),
        ("save", {"overwrite": True}),
        ("erase", {"ticked": True}),
    ]


def test_a_result_is_used_by_keys_and_compared_with_its_input(
    bare: BarePage, files: FileServer
) -> None:
    url = files.url("a.png")
    job = done(
        files,
        name="a.png",
        kind="image-upscale",
        media_type="image",
        body={"image_url": url},
    )
    _, el = show(bare, job)
    press(el, "Use as…")
    expect(el.get_by_role("button", name="Image upscale")).to_be_focused()
    bare.page.keyboard.press("Enter")
    until(bare.page, lambda: bool(job.acts))
    assert job.acts[0][0] == "use"

    press(el, "Before / after")
    slider = el.get_by_role("slider", name="Before and after")
    slider.focus()
    bare.page.keyboard.press("ArrowRight")
    expect(slider).to_have_attribute("aria-valuetext", "51% before")
    press(el, "Show the result")
    expect(slider).to_have_count(0)
    el.locator("a:has(img)").click()
    expect(bare.page.get_by_role("dialog")).to_contain_text(
        "640 \N{MULTIPLICATION SIGN} 360 pixels"
    )
    press(bare.page.get_by_role("dialog"), "Close")


def test_twelve_jobs_are_drawn_and_a_button_shows_older_ones(
    bare: BarePage, files: FileServer
) -> None:
    jobs = [OneJob(state_of("queued", id=f"media_{n}")) for n in range(MOST_JOBS + 3)]
    _, el = show(bare, *jobs)
    expect(el.get_by_role("article")).to_have_count(MOST_JOBS)
    press(el, "Show 3 earlier results")
    expect(el.get_by_role("article")).to_have_count(MOST_JOBS + 3)
    expect(el.get_by_role("button", name="earlier")).to_have_count(0)


def test_the_page_scrolls_to_a_requested_job(bare: BarePage, files: FileServer) -> None:
    bare.page.evaluate(
        "document.body.insertAdjacentHTML('beforeend', '<div style=height:3000px>')"
    )
    widget, el = show(bare)
    widget.show_jobs([OneJob(state_of("running"))])
    expect(el.get_by_role("article")).to_be_in_viewport()


def test_a_running_job_shows_its_time_and_the_usual_time_without_a_percentage(
    bare: BarePage,
) -> None:
    bare.page.clock.install(time=NOON + timedelta(seconds=6))
    job = OneJob(state_of("running", started_at=NOON, usual_runtime_s=8.0))
    _, el = show(bare, job)
    expect(el.get_by_text("Running for 6 s; usually about 8 s.")).to_be_visible()
    bar = el.get_by_role("progressbar")
    expect(bar).to_have_attribute("aria-label", "6 s so far, usually 8 s")
    bare.page.clock.run_for(14_000)
    expect(el.get_by_text("Running for 20 s;")).to_be_visible()
    expect(bar).to_have_attribute("aria-label", "running")
    job.change(failed("provider_error", "<b>upstream</b>", **settled(0)))
    expect(el).to_contain_text("The service says provider_error: <b>upstream</b>")
    expect(bar).to_have_count(0)


def test_text_from_outside_stays_text(bare: BarePage) -> None:
    known = {"prompt": HOSTILE * 9, "trouble": HOSTILE, "body": {"prompt": HOSTILE}}
    jobs = [
        OneJob(state_of("running", id="media_0", **known), Shown(note=HOSTILE)),
        OneJob(failed("internal", HOSTILE, id="media_1")),
        OneJob(state_of("completed", id="media_2", url=HOSTILE)),
        OneJob(state_of("completed", id="media_3"), Shown(note=HOSTILE, is_alert=True)),
    ]
    _, el = show(bare, *jobs)
    expect(el.get_by_role("article")).to_have_count(4)
    assert el.get_by_text("<script>canary()</script>").count() >= 5
    assert el.locator("script, img, [onerror]").count() == 0
    assert el.locator("[href^=javascript]").count() == 0


class Line(OneJob):
    @property
    def payload(self) -> Payload:
        return line_payload(self.state)


def test_waits_are_lines_and_many_waits_share_one_progress_bar(bare: BarePage) -> None:
    away = "The service does not answer. Retrying in 16 s; the job continues."
    running = state_of("running", usual_runtime_s=8.0, id="media_0", trouble=away)
    jobs = [Line(running), *(Line(state_of("queued", id=f"media_{n}")) for n in (1, 2))]
    widget, el = show(bare, *jobs, jobs_as="lines")
    expect(el.get_by_text("so far, usually 8 s · $0.34 estimated")).to_be_visible()
    expect(el.get_by_text(away)).to_be_visible()

    jobs += [Line(state_of("completed", id=f"media_{n}")) for n in (3, 4)]
    widget.show_jobs(jobs)
    widget.jobs_set = set_payload([job.state for job in jobs])
    expect(el.get_by_role("status")).to_contain_text("5 jobs: 1 running")
    bar = el.get_by_role("progressbar", name="jobs that have ended")
    expect(bar).to_have_attribute("value", "2")
    expect(el.get_by_text("usually 8 s")).not_to_be_visible()
    el.get_by_text("Show the 5 jobs").click()
    expect(el.get_by_text("usually 8 s")).to_be_visible()


def test_jobs_look_the_same_beside_any_other_widget(
    bare: BarePage, files: FileServer
) -> None:
    _, el = show(bare, done(files), OneJob(state_of("running", id="media_1")))
    expect(el.get_by_role("article")).to_have_count(2)
    el.get_by_text("Details").first.click()
    assert bare.redrawn(el, "jobs.css") == {}
