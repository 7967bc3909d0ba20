import json
from datetime import UTC, datetime
from io import BytesIO

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from mediakit.client import JobState
from mediakit.records import ErrorCode
from mediakit.widgets.job.card import card_html, card_text, prompt_html
from mediakit.widgets.job.preview import POSTER_MAX_BYTES
from mediakit.widgets.job.results.output_facts import OutputFacts
from tests.support.job_states import (
    EXACT,
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
def test_every_state_has_a_card_with_its_facts(state: JobState) -> None:
    page = Markup(card_html(state))
    assert "Text to video" in page.text
    assert JOB_ID in page.text
    assert "Estimate: " in page.text
    assert "Charge: " in page.text
    assert "sandbox" in page.text


@pytest.mark.parametrize("state", STATES.values(), ids=STATES.keys())
def test_a_card_needs_no_style_sheet_no_class_and_no_script(
    state: JobState, poster: bytes
) -> None:
    page = Markup(card_html(state, poster=poster))
    assert {tag for tag, _ in page.tags} <= TAGS
    for _, attrs in page.tags:
        assert not {"class", "id"} & set(attrs)


@pytest.mark.parametrize("state", STATES.values(), ids=STATES.keys())
def test_the_plain_text_tells_the_same_facts(state: JobState) -> None:
    html, text = Markup(card_html(state)).text, card_text(state)
    for line in text.splitlines()[1:]:
        label, _, fact = line.partition(": ")
        if label not in ("Prompt", "Result"):
            assert label in html
            assert fact in html


def test_a_completed_video_shows_player_poster_prompt_price_charge_and_link(
    poster: bytes,
) -> None:
    state = state_of("completed", **settled(340_000))
    page = Markup(card_html(state, poster=poster, player=True))
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


def test_without_a_player_the_poster_and_the_link_stay(poster: bytes) -> None:
    page = Markup(card_html(state_of("completed"), poster=poster, player=False))
    assert page.first("video") is None
    assert page.first("img") is not None
    assert URL in page.addresses()


def test_a_picture_is_its_poster_and_leads_to_the_whole(poster: bytes) -> None:
    state = state_of("completed", media_type="image", url="https://media.test/x.png")
    page = Markup(card_html(state, poster=poster))
    picture = page.first("img")
    assert picture is not None
    assert (picture["src"] or "").startswith("data:image/jpeg;base64,")
    assert "a kite over dunes" in (picture["alt"] or "")
    assert "https://media.test/x.png" in page.addresses()


def test_a_card_with_its_poster_is_small_enough_to_be_kept(poster: bytes) -> None:
    html = card_html(state_of("completed", **settled(340_000)), poster=poster)
    assert len(html) < 3 * len(poster) + 5_000


def test_fifty_results_with_the_largest_posters_are_under_two_megabytes() -> None:
    out = BytesIO()
    Image.effect_noise((130, 90), 120).save(out, "JPEG", quality=78)
    poster = out.getvalue()
    assert len(poster) < POSTER_MAX_BYTES
    poster += bytes(POSTER_MAX_BYTES - len(poster))
    state = state_of("completed", prompt="word " * 40, **settled(340_000))
    kept = json.dumps({"html": card_html(state, poster=poster), "t": card_text(state)})
    assert 50 * len(kept) < 2_000_000


def test_no_number_is_shown_for_a_charge_that_is_not_settled() -> None:
    page = Markup(card_html(state_of("completed", estimate=None)))
    assert "Charge: settling…" in page.text
    assert "$" not in page.text


def test_a_job_that_continues_says_how_to_see_it_now() -> None:
    text = Markup(card_html(state_of("running"))).text
    assert f"See it now: client.job({JOB_ID!r})" in text


def test_an_erased_job_keeps_no_picture_of_what_was_erased(poster: bytes) -> None:
    for url in (URL, None):
        state = state_of("completed", url=url, deleted_at=ERASED_AT)
        page = Markup(card_html(state, poster=poster))
        assert page.addresses() == []
        assert "Erased" in page.text
        assert "client.job" not in page.text
        assert URL not in card_text(state)


def test_a_failed_job_tells_why_what_to_do_and_that_it_cost_nothing() -> None:
    state = failed("content_moderation", "flagged: <b>kite</b>", **settled(0))
    page = Markup(card_html(state))
    assert "The service refused the content of this request." in page.text
    assert "Change the prompt or the reference media" in page.text
    assert "content_moderation: flagged: <b>kite</b>" in page.text
    assert "$0.00: nothing was charged" in page.text
    assert [tag for tag, _ in page.tags].count("b") == 1


def test_a_reused_job_says_that_nothing_is_charged_again() -> None:
    state = state_of("completed", reused=True)
    words = "Reusing an existing job: nothing was sent and nothing is charged again."
    assert words in Markup(card_html(state)).text
    assert words in card_text(state)


def test_a_long_prompt_is_shortened_and_unfolds_whole() -> None:
    prompt = "a kite over dunes, " * 60
    page = Markup(card_html(state_of("queued", prompt=prompt)))
    assert page.first("details") is not None
    assert "(all 1,140 characters)" in page.text
    assert prompt in page.text


def test_a_short_prompt_keeps_its_lines_and_does_not_fold() -> None:
    page = Markup(prompt_html(state_of("queued", prompt="one\ntwo  three")))
    assert page.first("details") is None
    assert page.text == "one\ntwo  three"


def test_a_card_leads_with_prompt_and_one_line_and_folds_the_rest() -> None:
    facts = OutputFacts(1280, 720, 3.0, 1_200_000)
    state = state_of("completed", **settled(340_000))
    page = Markup(card_html(state, facts=facts))
    open_text, folded = page.text.split("Details")
    assert open_text.index("a kite over dunes") < open_text.index("Completed")
    times = "\N{MULTIPLICATION SIGN}"
    line = f"1280 {times} 720 · 3.0 s · 1.2 MB · $0.34 as estimated · ran 8.4 s"
    assert line in open_text
    assert JOB_ID not in open_text
    assert JOB_ID in folded
    assert f"Output: 1280 {times} 720 · 3.0 s · 1.2 MB" in card_text(state, facts)


def test_a_failed_job_whose_billing_is_open_is_not_called_settling() -> None:
    page = Markup(card_html(failed("internal")))
    assert "not charged" in page.text
    assert "settling" not in page.text


def test_a_job_without_a_prompt_is_headed_by_its_function() -> None:
    state = state_of("completed", prompt=None, kind="video-upscale", function="v/x")
    assert prompt_html(state).count("Video upscale · x") == 1


@pytest.mark.parametrize("estimate", [EXACT, RANGE, UNKNOWN, None])
def test_colours_are_given_twice_so_that_one_survives_a_sanitiser(
    estimate: object,
) -> None:
    html = card_html(state_of("completed", estimate=estimate))
    for style in (attrs.get("style") or "" for _, attrs in Markup(html).tags):
        if "color:var(" in style:
            assert style.index("color:#") < style.index("color:var(")


def hostile_state(text: str, *, url: str) -> JobState:
    return state_of(
        "completed",
        id=text,
        url=url,
        prompt=text,
        kind=text,
        function=text,
        service=text,
        trouble=text,
        body={"duration": text, text: text, "images": [text]},
    )


def assert_harmless(html: str) -> None:
    page = Markup(html)
    assert {tag for tag, _ in page.tags} <= TAGS
    for _, attrs in page.tags:
        assert not any(name.startswith("on") for name in attrs)
    for address in page.addresses():
        assert address.startswith(("https://", "http://", "data:image/jpeg;base64,"))


@pytest.mark.parametrize("url", ["javascript:canary()", f"https://x.test/{HOSTILE}"])
def test_hostile_words_from_anywhere_stay_words(url: str, poster: bytes) -> None:
    state = hostile_state(HOSTILE, url=url)
    for player in (True, False):
        html = card_html(state, poster=poster, player=player)
        assert_harmless(html)
        assert HOSTILE in Markup(html).text
    assert_harmless(card_html(failed("internal", HOSTILE, prompt=HOSTILE * 20)))


@given(text=st.text(max_size=400), url=st.text(max_size=60))
def test_no_text_becomes_markup(text: str, url: str) -> None:
    assert_harmless(card_html(hostile_state(text, url=url)))
    assert_harmless(card_html(hostile_state(text, url=f"https://x.test/{url}")))
    assert_harmless(card_html(failed("internal", text)))
