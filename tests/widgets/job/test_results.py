"""What people do with a result: download it, compare it, erase it."""

from __future__ import annotations

import threading
from typing import Any
from uuid import uuid4

import pytest

from mediakit import Client, Job
from mediakit.client.downloads import Piece
from mediakit.errors import ConflictError
from mediakit.widgets.job.actions import ALSO_FORGET, offered
from mediakit.widgets.job.html import place_html
from mediakit.widgets.job.results.before_and_after import pair_of
from mediakit.widgets.job.results.browser_download import (
    MOST_UNDER_WAY,
    PIECE_BYTES,
    PageSink,
)
from mediakit.widgets.job.view import JobView
from tests.support.job_states import HOSTILE, URL, settled, state_of
from tests.support.widgets import until as eventually
from tests.widgets.job.test_view import (
    buttons,
    part,
    press,
    widgets_of,
    words,
)

# -- download -------------------------------------------------------------------------


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
    known: dict[str, Any], name: str
) -> None:
    assert state_of("completed", **known).file_name(URL) == name


@pytest.mark.parametrize("text", [HOSTILE, "../../etc/passwd", "a\nb\0c", "漢字"])
def test_the_name_of_a_download_is_plain_whatever_the_prompt(text: str) -> None:
    name = state_of("completed", prompt=text, id=text).file_name(URL)
    assert name.endswith(".mp4")
    assert not set(name) - set("abcdefghijklmnopqrstuvwxyz0123456789-.")
    assert ".." not in name


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
    for said in ({}, {"took": 99}, {"stop": None}, {"want": "x"}, {"took": "[]"}):
        widget._handle_custom_msg(said, [])  # what no page of ours says
    widget._handle_custom_msg({"downloaded": len(got)}, [])
    assert f"Your browser saved {widget.name}." in words(view)
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
        ("video-upscale", {"video_url": None}, None),
    ],
)
def test_an_upscale_and_a_replaced_region_have_something_before(
    kind: str, body: dict[str, object], before: str | None
) -> None:
    pair = pair_of(state_of("completed", kind=kind, url=OUT, body=body))
    assert (pair.before if pair else None) == before


def test_comparing_takes_the_place_of_the_result_and_gives_it_back(
    client: Client, picture_job: Job
) -> None:
    view = JobView(picture_job.core, client)
    assert view.widget
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


# -- erase ----------------------------------------------------------------------------


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
    eventually(lambda: "were forgotten here" in words(view))
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
    with pytest.raises(ConflictError, match="was not erased"):
        job.forget()
    view = JobView(job.core, client)
    press(view, "Erase…")
    press(view, "Yes, erase it")
    eventually(lambda: "Forget the prompt…" in buttons(view))
    assert "a secret kite" in view.card_html
    press(view, "Forget the prompt…")
    press(view, "Yes, forget it")
    eventually(lambda: "secret" not in view.card_html)
    assert "secret" not in client.history.frame().to_csv()
    view.close()


def test_an_erased_request_is_submitted_again_after_it_was_forgotten(
    client: Client,
) -> None:
    job = prompted(client)
    prompt = job.state.prompt
    job.erase(forget=True)
    assert job.state.prompt is None
    again = client.run("text-to-image", prompt=prompt, take="next")
    assert again.id != job.id
    assert client.components.store.find(job.id).prompt is None  # type: ignore[union-attr]
