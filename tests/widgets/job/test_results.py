"""What people do with a result: download it, compare it, erase it."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from mediakit import Client, Job
from mediakit.client.downloads import Piece
from mediakit.errors import ConflictError, ServiceError
from mediakit.widgets.job.actions import ALSO_FORGET, offered
from mediakit.widgets.job.html import place_html
from mediakit.widgets.job.results.before_and_after import pair_of
from mediakit.widgets.job.results.browser_download import (
    MOST_UNDER_WAY,
    PIECE_BYTES,
    PageSink,
)
from mediakit.widgets.job.results.file_names import file_name_of
from mediakit.widgets.job.view import JobView
from mediakit.widgets.toolkit.styles import CSS
from tests.support.job_states import HOSTILE, Markup, settled, state_of
from tests.support.samples.media_samples import make_png
from tests.widgets.job.test_view import (
    buttons,
    eventually,
    part,
    press,
    widgets_of,
    words,
)


@pytest.fixture
def picture_job(client: Client, tmp_path: Path) -> Job:
    picture = make_png(tmp_path / "in.png", (96, 64))
    return client.run("image-upscale", image_url=str(picture), timeout_s=60).settle(60)


# -- download -------------------------------------------------------------------------


def test_a_download_is_named_by_prompt_and_job() -> None:
    state = state_of("completed", prompt="A Red Balloon, über a lake!")
    assert file_name_of(state) == "a-red-balloon-uber-a-lake-0f3c9a1e.mp4"


def test_a_download_without_a_prompt_is_named_by_its_function() -> None:
    url = "https://media.test/files/x"
    state = state_of("completed", prompt=None, kind="image-upscale", url=url)
    assert file_name_of(state) == "image-upscale-0f3c9a1e.mp4"


@pytest.mark.parametrize("text", [HOSTILE, "../../etc/passwd", "a\nb\0c", "漢字"])
def test_the_name_of_a_download_is_plain_whatever_the_prompt(text: str) -> None:
    name = file_name_of(state_of("completed", prompt=text, id=text))
    assert name.endswith(".mp4")
    assert not set(name) - set("abcdefghijklmnopqrstuvwxyz0123456789-.")
    assert ".." not in name


def test_a_long_name_is_cut_between_two_words() -> None:
    name = file_name_of(state_of("completed", prompt="balloon " * 40))
    assert len(name) < 70
    assert name.startswith("balloon-balloon-")
    assert "ballo-" not in name


def test_never_more_than_a_few_pieces_are_under_way() -> None:
    sent: list[tuple[dict[str, Any], list[bytes]]] = []
    sink = PageSink(7, lambda content, buffers: sent.append((content, buffers)))
    whole = bytes(range(256)) * (PIECE_BYTES // 32)
    writes = threading.Thread(target=sink.take, args=(Piece(0, whole, len(whole)),))
    writes.start()
    eventually(lambda: len(sent) == 1 + MOST_UNDER_WAY)
    writes.join(0.2)
    assert writes.is_alive()
    assert len(sent) == 1 + MOST_UNDER_WAY
    while writes.is_alive():
        sink.took()
        writes.join(0.01)
    assert b"".join(piece for _, pieces in sent for piece in pieces) == whole
    assert [content["what"] for content, _ in sent[:2]] == ["start", "piece"]
    assert sent[0][0]["bytes"] == len(whole)


def test_a_page_that_does_not_answer_is_given_up() -> None:
    sink = PageSink(1, lambda *_: None, patience_s=0.05)
    content = bytes((MOST_UNDER_WAY + 1) * PIECE_BYTES)
    with pytest.raises(ServiceError, match="did not take the file"):
        sink.take(Piece(0, content, len(content)))


def test_a_stopped_download_ends_at_once() -> None:
    sink = PageSink(1, lambda *_: None)
    sink.stop()
    with pytest.raises(ServiceError):
        sink.take(Piece(5, b"more", 9))


def test_the_kernel_passes_a_whole_result_on(client: Client, picture_job: Job) -> None:
    view = JobView(picture_job.core, client)
    widget = buttons_of_download(view)
    sent: list[tuple[dict[str, Any], list[bytes]]] = []
    widget.send = lambda content, buffers: sent.append((content, buffers))
    widget._handle_custom_msg({"want": 5}, [])
    eventually(lambda: sent and sent[-1][0]["what"] == "end")
    got = b"".join(piece for _, pieces in sent for piece in pieces)
    assert got == picture_job.fetch_output(10_000_000)
    assert {content["stream"] for content, _ in sent} == {5}
    widget._handle_custom_msg({"downloaded": len(got)}, [])
    assert f"Your browser saved {widget.name}." in words(view)
    view.close()


def test_what_the_page_says_of_streams_is_not_relied_on(
    client: Client, picture_job: Job
) -> None:
    view = JobView(picture_job.core, client)
    widget = buttons_of_download(view)
    for said in ({}, {"took": 99}, {"stop": None}, {"want": "x"}, {"took": "[]"}):
        widget._handle_custom_msg(said, [])
    widget._handle_custom_msg({"failed": HOSTILE}, [])
    assert Markup(part(view, "note")).first("script") is None
    view.close()


def buttons_of_download(view: JobView) -> Any:
    (found,) = (x for x in widgets_of(view) if type(x).__name__ == "DownloadButton")
    return found


def test_visitors_of_voila_are_offered_the_download_alone() -> None:
    state = state_of("completed", **settled(340_000))
    voila = {"VOILA_REQUEST_URL": "http://127.0.0.1/"}
    assert offered(state, None) == ("Download", "Save to folder", "Erase…")
    assert offered(state, None, voila) == ("Download", "Erase…")


# -- before and after -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "field"),
    [
        ("image-upscale", "image_url"),
        ("video-upscale", "video_url"),
        ("region-replace", "video"),
    ],
)
def test_an_upscale_and_a_replaced_region_have_something_before(
    kind: str, field: str
) -> None:
    before = "https://media.test/in.mp4"
    pair = pair_of(state_of("completed", kind=kind, body={field: before}))
    assert pair is not None
    assert (pair.before, pair.medium) == (before, "video")


def test_other_jobs_and_strange_addresses_have_nothing_before() -> None:
    assert (
        pair_of(state_of("completed", body={"video_url": "https://a.test/x"})) is None
    )
    for url in ("javascript:canary()", 7, None):
        state = state_of("completed", kind="video-upscale", body={"video_url": url})
        assert pair_of(state) is None


def test_the_input_of_a_sandbox_is_found_at_its_new_port() -> None:
    body = {"image_url": "http://127.0.0.1:1111/files/in.png"}
    now = "http://127.0.0.1:2222/files/out.png"
    state = state_of("completed", kind="image-upscale", url=now, body=body)
    pair = pair_of(state)
    assert pair is not None
    assert pair.before == "http://127.0.0.1:2222/files/in.png"


def test_comparing_takes_the_place_of_the_result_and_gives_it_back(
    client: Client, picture_job: Job
) -> None:
    view = JobView(picture_job.core, client)
    eventually(lambda: "data:image/jpeg" in view.card_html)
    press(view, "Before / after")
    (shown,) = (x for x in widgets_of(view) if type(x).__name__ == "Compare")
    assert (shown.medium, shown.after) == ("image", picture_job.url)
    assert shown.before == picture_job.state.body["image_url"]
    press(view, "Show the result")
    assert "Compare" not in {type(x).__name__ for x in widgets_of(view)}
    assert "<img" in part(view, "stage")
    view.close()


# -- its place ------------------------------------------------------------------------


def test_a_result_that_is_to_come_has_its_place_in_its_shape() -> None:
    assert "aspect-ratio:9/16" in place_html(
        state_of("running", body={"aspect_ratio": "9:16"})
    )
    assert "aspect-ratio:16/9" in place_html(state_of("queued", body={}))
    hostile = state_of("queued", body={"aspect_ratio": HOSTILE})
    assert "aspect-ratio:16/9" in place_html(hostile)
    assert place_html(state_of("failed")) == ""
    assert place_html(state_of("running", media_type="audio")) == ""


def test_a_form_keeps_the_place_of_its_results_from_the_start(client: Client) -> None:
    form = client.form("text-to-video")
    body = form.widget.children[1]
    _, results = body.children
    assert "mk-results" in results._dom_classes
    assert results.children == ()
    assert ".mk-results:empty::before" in CSS
    form.close()


# -- erase ----------------------------------------------------------------------------


def test_erase_says_what_goes_and_what_stays(client: Client, picture_job: Job) -> None:
    view = JobView(picture_job.core, client)
    press(view, "Erase…")
    said = words(view)
    assert "The service deletes the result and the request." in said
    assert "the row in your history with its charge" in said
    assert "files that you saved" in said
    view.close()


def prompted(client: Client) -> Job:
    # The sandbox is shared: the same request would be the job of another test.
    prompt = f"a secret kite {uuid4().hex}"
    return client.run("text-to-image", prompt=prompt).settle(60)


def test_erase_with_the_box_ticked_forgets_prompt_and_settings(client: Client) -> None:
    job = prompted(client)
    view = JobView(job.core, client)
    press(view, "Erase…")
    (tick,) = (x for x in widgets_of(view) if "mk-tick" in x._dom_classes)
    assert tick.description == ALSO_FORGET
    tick.value = True
    press(view, "Yes, erase it")
    eventually(lambda: "are forgotten here" in words(view))
    entry = client.components.store.find(job.id)
    assert entry is not None
    assert (entry.prompt, entry.body) == (None, b"{}")
    assert entry.charge_micro_usd == job.charge_micro_usd
    assert "secret" not in view.card_html + view.card_text + words(view)
    assert list(buttons(view)) == []
    view.close()


def test_without_the_tick_the_prompt_stays_and_can_be_forgotten_later(
    client: Client,
) -> None:
    job = prompted(client)
    view = JobView(job.core, client)
    press(view, "Erase…")
    press(view, "Yes, erase it")
    eventually(lambda: "Forget the prompt…" in buttons(view))
    assert "a secret kite" in view.card_html
    press(view, "Forget the prompt…")
    press(view, "Yes, forget it")
    eventually(lambda: "secret" not in view.card_html)
    found = client.history.frame()
    assert "secret" not in found.to_csv()
    view.close()


def test_a_prompt_is_forgotten_in_code_too_once_the_job_is_erased(
    client: Client,
) -> None:
    job = prompted(client)
    with pytest.raises(ConflictError, match="was not erased"):
        job.forget()
    job.erase(forget=True)
    assert job.state.prompt is None
    assert client.components.store.find(job.id).prompt is None  # type: ignore[union-attr]


def test_an_erased_request_is_submitted_again_after_it_was_forgotten(
    client: Client,
) -> None:
    job = prompted(client)
    prompt = job.state.prompt
    job.erase(forget=True)
    again = client.run("text-to-image", prompt=prompt, take="next")
    assert again.id != job.id
    assert client.components.store.find(job.id).prompt is None  # type: ignore[union-attr]
