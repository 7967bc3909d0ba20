"""A form and its media: limits, warnings, and clips behind URLs."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from mediakit.client import media_inputs
from mediakit.widgets.form.controller import Form
from tests.support.samples.media_samples import make_mp4
from tests.support.servers.file_server import FileServer
from tests.support.widgets import edit, generate_button, shown, until

A_PICTURE = "https://a.test/1.png"

EDIT = {
    "prompt": "make it rain",
    "duration": "auto",
    "omni_reference_task_type": "edit",
}


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("clip") / "a.mp4"
    return make_mp4(path, (854, 480), 2.5).read_bytes()


def test_the_length_of_a_clip_at_a_url_makes_the_price_exact_later(
    make_form: Callable[..., Form], clip: bytes
) -> None:
    with FileServer({"a.mp4": clip}) as server:
        form = make_form("r1", video_urls=[server.url("a.mp4")], **EDIT)
        assert not generate_button(form).disabled
        until(lambda: "$0.73" in shown(form), form)

        assert "remote · 854 \N{MULTIPLICATION SIGN} 480" in shown(form)
        assert form.state.submit_reason is None


def test_a_length_is_read_once_another_field_makes_the_price_depend_on_it(
    make_form: Callable[..., Form], clip: bytes
) -> None:
    with FileServer({"a.mp4": clip}) as server:
        form = make_form(
            "r1", video_urls=[server.url("a.mp4")], **EDIT | {"duration": 5}
        )
        until(lambda: not form._tasks._tasks, form)
        assert server.requests == []

        edit(form, duration=0)
        until(lambda: form.state.media.unmeasured == (), form)
        assert server.requests


def test_a_clip_that_could_not_be_read_is_no_problem_and_is_read_again_later(
    make_form: Callable[..., Form], clip: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(media_inputs, "RETRY_AFTER_S", 0.0)
    with FileServer({}) as server:
        form = make_form("r1", video_urls=[server.url("a.mp4")], **EDIT)
        until(lambda: server.requests, form)
        until(lambda: not form._tasks._tasks, form)
        assert form.state.problems == ()
        assert not generate_button(form).disabled

        server.files["a.mp4"] = clip
        form.values.prompt = "make it snow"
        until(lambda: "remote · 854 \N{MULTIPLICATION SIGN} 480" in shown(form), form)
