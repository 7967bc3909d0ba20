import json
from datetime import UTC, datetime
from io import BytesIO

import pytest
from PIL import Image

from mediakit.api_models import ErrorCode
from mediakit.client import JobState
from mediakit.media_limits import MediaInfo
from mediakit.widgets.job.card import (
    card_html,
    card_text,
    waited_html,
    waited_text,
)
from mediakit.widgets.job.preview import POSTER_MAX_BYTES, Preview, preview_of
from tests.support.job_states import (
    HOSTILE,
    JOB_ID,
    RANGE,
    UNKNOWN,
    URL,
    Markup,
    failed,
    settled,
    state_of,
)
from tests.support.samples.media_samples import make_picture

ERASED_AT = datetime(2026, 3, 2, tzinfo=UTC)
TAGS = {"a", "audio", "b", "code", "details", "div", "img", "span", "summary", "video"}
STATES = {
    "queued": state_of("queued"),
    "running": state_of("running", usual_runtime_s=8.0),
    "trouble": state_of("running", trouble="The service does not answer."),
    "settling": state_of("completed", billing={"state": "pending"}),
    "as estimated": state_of("completed", **settled(340_000)),
    "otherwise": state_of("completed", estimate=RANGE, **settled(9_000_000)),
    "unknown price": state_of("completed", estimate=UNKNOWN, **settled(5)),
    "picture": state_of("completed", media_type="image", prompt=None),
    "sound": state_of("completed", media_type="audio"),
    "erased": state_of("completed", url=None, deleted_at=ERASED_AT),
    "reused": state_of("completed", reused=True),
    "from elsewhere": state_of("completed", estimate=None, body={}, prompt=None),
} | {code.value: failed(code.value, HOSTILE, **settled(0)) for code in ErrorCode}


@pytest.fixture(scope="module")
def poster() -> bytes:
    out = BytesIO()
    make_picture((320, 180)).save(out, "JPEG")
    return out.getvalue()


@pytest.mark.parametrize("state", STATES.values(), ids=STATES.keys())
def test_every_state_has_a_card_with_its_facts_that_needs_no_style_sheet_or_script(
    state: JobState, poster: bytes
) -> None:
    page = Markup(card_html(state, Preview(poster)))
    for fact in ("Text to video", JOB_ID, "Estimate: ", "Charge: ", "sandbox"):
        assert fact in page.text
    assert {tag for tag, _ in page.tags} <= TAGS
    for _, attrs in page.tags:
        assert not {"class", "id"} & set(attrs)
        style = attrs.get("style") or ""
        if "color:var(" in style:  # a plain one survives a sanitiser
            assert style.index("color:#") < style.index("color:var(")
    # The plain text tells the same facts.
    for line in card_text(state).splitlines()[1:]:
        label, _, fact = line.partition(": ")
        if label not in ("Prompt", "Result"):
            assert label in page.text
            assert fact in page.text


@pytest.mark.parametrize(
    ("state", "text"),
    [
        (state_of("running"), f"See it now: client.job({JOB_ID!r})"),
        (state_of("completed", estimate=None), "Charge: settling…"),
        (failed("internal"), "Charge: not charged"),
        (
            state_of("completed", reused=True),
            f"Reusing existing job {JOB_ID} (no new charge).",
        ),
        (state_of("completed", prompt=None, kind="video-upscale"), "Video upscale"),
        (state_of("queued", prompt="one\ntwo  three"), "one\ntwo  three"),
    ],
)
def test_a_card_explains_each_state(state: JobState, text: str) -> None:
    assert text in Markup(card_html(state)).text


def test_a_completed_video_shows_player_poster_prompt_price_charge_and_link(
    poster: bytes,
) -> None:
    state = state_of("completed", **settled(340_000))
    page = Markup(card_html(state, Preview(poster)))
    video = page.first("video")
    assert video is not None
    assert video["src"] == URL
    assert (video["poster"] or "").startswith("data:image/jpeg;base64,")
    assert "a kite over dunes" in page.text
    assert "Estimate: $0.34 (exact)" in page.text
    assert "Charge: $0.34 as estimated" in page.text
    assert "Time: 3.9 s in the queue, ran 8.4 s" in page.text
    assert "Settings: 5 s · 720p · 16:9 · audio off" in page.text
    assert f"client.job({JOB_ID!r})" in page.text


def test_a_result_is_its_poster_and_leads_to_the_whole(poster: bytes) -> None:
    state = state_of("completed", media_type="image", url="https://media.test/x.png")
    page = Markup(card_html(state, Preview(poster)))
    picture = page.first("img")
    assert page.first("video") is None
    assert picture is not None
    assert (picture["src"] or "").startswith("data:image/jpeg;base64,")
    assert "a kite over dunes" in (picture["alt"] or "")
    assert "https://media.test/x.png" in page.addresses()


def test_fifty_results_with_the_largest_posters_are_under_two_megabytes() -> None:
    out = BytesIO()
    Image.effect_noise((130, 90), 120).save(out, "JPEG", quality=78)
    poster = out.getvalue()
    assert len(poster) < POSTER_MAX_BYTES
    poster += bytes(POSTER_MAX_BYTES - len(poster))
    state = state_of("completed", prompt="word " * 40, **settled(340_000))
    kept = json.dumps(
        {"html": card_html(state, Preview(poster)), "t": card_text(state)}
    )
    assert 50 * len(kept) < 2_000_000


def test_an_erased_job_keeps_no_picture(poster: bytes) -> None:
    for url in (URL, None):
        state = state_of("completed", url=url, deleted_at=ERASED_AT)
        page = Markup(card_html(state, Preview(poster)))
        assert page.addresses() == []
        assert "Erased" in page.text
        assert "client.job" not in page.text
        assert URL not in card_text(state)


def test_a_failed_job_shows_the_reason_advice_and_that_it_was_free() -> None:
    state = failed("content_moderation", "flagged: <b>kite</b>", **settled(0))
    page = Markup(card_html(state))
    assert "The service refused the content of this request." in page.text
    assert "Change the prompt or the reference media" in page.text
    assert "content_moderation: flagged: <b>kite</b>" in page.text
    assert "$0.00: nothing was charged" in page.text
    assert [tag for tag, _ in page.tags].count("b") == 1


def test_a_long_prompt_is_shortened_and_unfolds_whole() -> None:
    prompt = "a kite over dunes, " * 60
    page = Markup(card_html(state_of("queued", prompt=prompt)))
    assert page.first("details") is not None
    assert "(all 1,140 characters)" in page.text
    assert prompt in page.text


def test_a_card_leads_with_prompt_and_one_line_and_folds_the_rest() -> None:
    info = MediaInfo("video", "video/mp4", 1_200_000, 1280, 720, 3.0)
    state = state_of("completed", **settled(340_000))
    page = Markup(card_html(state, Preview(info=info)))
    open_text, folded = page.text.split("Details")
    assert open_text.index("a kite over dunes") < open_text.index("Completed")
    times = "\N{MULTIPLICATION SIGN}"
    line = f"1280 {times} 720 · 3.0 s · 1.2 MB · $0.34 as estimated · ran 8.4 s"
    assert line in open_text
    assert JOB_ID not in open_text
    assert JOB_ID in folded
    assert f"Output: 1280 {times} 720 · 3.0 s · 1.2 MB" in card_text(
        state, Preview(info=info)
    )


@pytest.mark.parametrize("content", [b"<!doctype html><h1>Sign in</h1>", b""])
def test_the_card_of_a_broken_result_says_that_there_is_no_preview(
    content: bytes,
) -> None:
    preview = preview_of(BytesIO(content), "video")
    state = state_of("completed", **settled(340_000))

    reason = "the file cannot be read here as a video"
    for text in (
        Markup(card_html(state, preview)).text.split("Details")[0],
        card_text(state, preview),
    ):
        assert f"There is no preview of the result: {reason}." in text


WRITTEN_AT = datetime(2026, 3, 1, 23, 18, 49, tzinfo=UTC)


@pytest.mark.parametrize(
    ("state", "is_dated"),
    [
        (state_of("queued"), True),
        (state_of("running"), True),
        (state_of("completed", billing={"state": "pending"}), True),
        (state_of("completed", **settled(340_000)), False),
        (state_of("completed", url=None, deleted_at=ERASED_AT), False),
        (failed("internal", HOSTILE, **settled(0)), False),
    ],
)
def test_a_copy_of_a_job_that_may_change_says_when_it_was_written(
    state: JobState, *, is_dated: bool
) -> None:
    dated = "As of 2026-03-01 23:18 UTC. Run the cell again"
    for copy in (
        Markup(card_html(state, as_of=WRITTEN_AT)).text,
        card_text(state, as_of=WRITTEN_AT),
        *(Markup(waited_html([state] * n, WRITTEN_AT)).text for n in (1, 5)),
        *(waited_text([state] * n, WRITTEN_AT) for n in (1, 5)),
    ):
        assert copy.count(dated) == is_dated
