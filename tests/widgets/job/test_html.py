from datetime import datetime, timedelta, timezone
from io import BytesIO

import pytest

from mediakit.widgets.job.html import bar_html, clock_html, stage_html
from mediakit.widgets.job.preview import Preview
from tests.support.job_states import HOSTILE, NOON, URL, Markup, state_of
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
    preview = Preview(poster, "hevc", clip=b"a clip", clip_note=HOSTILE)
    page = Markup(stage_html(state_of("completed"), preview))
    assert "H.265 (HEVC)" in page.text
    assert HOSTILE in page.text
    assert page.addresses() == [URL]
    assert page.first("video") is None


def test_an_address_that_is_none_stays_none_beside_a_copy_too(poster: bytes) -> None:
    preview = Preview(poster, "hevc", clip=b"a clip")
    state = state_of("completed", url="javascript:canary()")
    assert Markup(stage_html(state, preview)).addresses() == []


def test_the_trouble_of_a_preview_stands_under_the_player() -> None:
    page = Markup(stage_html(state_of("completed"), Preview(trouble=HOSTILE)))
    assert HOSTILE in page.text
    assert page.first("script") is None


@pytest.mark.parametrize("status", ["completed", "failed"])
def test_an_ended_job_has_no_clock_and_no_bar(status: str) -> None:
    state = state_of(status)
    assert clock_html(state, NOON) == ""
    assert bar_html(state, NOON) == ""


def test_trouble_is_said_after_the_end_too_while_the_charge_is_read() -> None:
    state = state_of("completed", trouble=HOSTILE)
    page = Markup(clock_html(state, NOON))
    assert page.text == HOSTILE
    assert page.first("script") is None


def test_an_erasure_that_is_given_with_an_offset_is_shown_in_utc() -> None:
    at = datetime(2026, 10, 1, 10, tzinfo=timezone(timedelta(hours=2)))
    html = stage_html(state_of("completed", deleted_at=at), Preview())
    assert "2026-10-01 08:00 UTC" in html
