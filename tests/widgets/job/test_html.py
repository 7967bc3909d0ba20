from datetime import timedelta
from io import BytesIO

import pytest

from mediakit.widgets.job.html import bar_html, clock_html, stage_html
from mediakit.widgets.job.preview import Preview
from tests.support.job_states import NOON, URL, Markup, state_of
from tests.support.samples.media_samples import make_picture


@pytest.fixture(scope="module")
def poster() -> bytes:
    out = BytesIO()
    make_picture((180, 320)).save(out, "JPEG")
    return out.getvalue()


@pytest.mark.parametrize("status", ["queued", "running", "failed"])
def test_a_job_without_a_result_has_an_empty_stage(status: str) -> None:
    assert stage_html(state_of(status), Preview()) == ""


def test_a_video_that_plays_shows_its_own_first_frame_in_its_shape(
    poster: bytes,
) -> None:
    html = stage_html(state_of("completed"), Preview(poster, "h264"))
    video = Markup(html).first("video")
    assert video is not None
    assert "poster" not in video
    assert (video["width"], video["height"]) == ("360", "640")


def test_a_video_that_may_stay_black_shows_its_poster_and_says_so(
    poster: bytes,
) -> None:
    page = Markup(stage_html(state_of("completed"), Preview(poster, "hevc")))
    picture = page.first("img")
    assert picture is not None
    assert (picture["src"] or "").startswith("data:image/jpeg")
    assert page.first("video") is None
    assert "H.265 (HEVC)" in page.text
    assert URL in page.addresses()


def test_beside_a_copy_that_plays_stands_why_and_the_way_to_the_original(
    poster: bytes,
) -> None:
    preview = Preview(poster, "hevc", clip=b"a clip", clip_note="It is a copy.")
    page = Markup(stage_html(state_of("completed"), preview))
    assert "H.265 (HEVC)" in page.text
    assert "It is a copy." in page.text
    assert page.addresses() == [URL]
    assert page.first("video") is None


@pytest.mark.parametrize(
    ("after_s", "usual_s", "value"),
    [(6, 8.0, "6"), (20, 8.0, None), (6, None, None)],  # it only says that it runs
)
def test_a_running_job_shows_its_time_against_the_usual_one(
    after_s: int, usual_s: float | None, value: str | None
) -> None:
    state = state_of("running", started_at=NOON, usual_runtime_s=usual_s)
    html = bar_html(state, NOON + timedelta(seconds=after_s))
    bar = Markup(html).first("progress")
    assert bar is not None
    assert bar.get("value") == value
    if value:
        assert (bar["max"], bar["aria-label"]) == ("8", "6 s so far, usually 8 s")
    assert "%" not in html


@pytest.mark.parametrize("status", ["completed", "failed"])
def test_an_ended_job_has_no_clock_and_no_bar(status: str) -> None:
    state = state_of(status)
    assert clock_html(state, NOON) == ""
    assert bar_html(state, NOON) == ""
