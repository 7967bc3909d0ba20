"""A form and its media: limits, warnings, and clips behind URLs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import ipywidgets
import pytest

from mediakit import Client
from mediakit.widgets.form.controller import Form
from tests.support.samples.media_samples import make_mp4, make_png
from tests.support.servers.file_server import FileServer
from tests.widgets.form.test_form import (
    _all,
    box,
    finish,
    generate_button,
    shown,
    until,
)

A_PICTURE = "https://a.test/1.png"

EDIT = {
    "prompt": "make it rain",
    "duration": "auto",
    "omni_reference_task_type": "edit",
}


@pytest.fixture
def make_form(client: Client) -> Iterator[Callable[..., Form]]:
    """Make forms that know the balance, and close them in the end."""
    forms: list[Form] = []

    def make(kind: str, **values: object) -> Form:
        form = Form(client, client.catalog.function(kind), values)
        forms.append(form)
        until(lambda: form.state.funds.balance is not None, form)
        return form

    yield make
    for form in forms:
        finish(form)


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("clip") / "a.mp4"
    return make_mp4(path, (854, 480), 2.5).read_bytes()


def test_a_clip_behind_a_url_firms_up_the_price_in_its_own_time(
    make_form: Callable[..., Form], clip: bytes
) -> None:
    with FileServer({"a.mp4": clip}) as server:
        form = make_form("r1", video_urls=[server.url("a.mp4")], **EDIT)
        assert not generate_button(form).disabled
        until(lambda: "<b>$0.73</b>" in shown(form), form)

        assert "remote · 854 x 480" in shown(form)
        assert form.state.submit_reason is None


def test_a_length_is_asked_for_once_another_field_makes_it_matter(
    make_form: Callable[..., Form], clip: bytes
) -> None:
    with FileServer({"a.mp4": clip}) as server:
        form = make_form(
            "r1", video_urls=[server.url("a.mp4")], **EDIT | {"duration": 5}
        )
        until(lambda: not form._tasks._tasks, form)
        assert server.requests == []

        form._view.controls["duration"].parts[0].value = "auto"
        until(lambda: form.state.media.unmeasured == (), form)
        assert server.requests


def test_a_url_that_leads_nowhere_is_no_problem(make_form: Callable[..., Form]) -> None:
    with FileServer({}) as server:
        form = make_form("r1", video_urls=[server.url("gone.mp4")], **EDIT)
        until(lambda: "its length is not known here" in shown(form), form)

        assert form.state.problems == ()
        assert not generate_button(form).disabled


def test_a_file_beyond_a_limit_is_said_in_its_row(
    make_form: Callable[..., Form], tmp_path: Path
) -> None:
    short = make_mp4(tmp_path / "short.mp4", (854, 480), 1.0)
    form = make_form("r1", prompt="a", duration=5, video_urls=[str(short)])

    until(lambda: not form.state.media.unseen, form)
    assert "Must be 2 to 30 s" in shown(form)
    assert generate_button(form).disabled


def test_a_warning_stands_beside_its_field_and_keeps_nothing_back(
    make_form: Callable[..., Form],
) -> None:
    form = make_form("r1", prompt="@Image1 and <b>", duration=5)

    assert "Cites @Image1, but reference images is empty" in shown(form)
    assert not generate_button(form).disabled


def cite_buttons(form: Form) -> list[Any]:
    buttons = (w for w in _all(form.widget) if isinstance(w, ipywidgets.Button))
    return [button for button in buttons if button.description == "Cite"]


def test_a_reference_is_cited_behind_the_prompt_by_its_button(
    make_form: Callable[..., Form], tmp_path: Path
) -> None:
    pictures = [str(make_png(tmp_path / f"{n}.png", (400, 300))) for n in range(2)]
    form = make_form("r1", prompt="a kite ", duration=5, image_urls=pictures)
    first, second = cite_buttons(form)
    assert not second.disabled

    second.click()
    first.click()

    assert box(form, "prompt").value == "a kite @Image2 @Image1"
    assert form.request()["prompt"] == "a kite @Image2 @Image1"


def test_an_empty_row_cannot_be_cited_and_other_functions_have_no_such_button(
    make_form: Callable[..., Form],
) -> None:
    form = make_form("r1", image_urls=[A_PICTURE, ""])
    assert [button.disabled for button in cite_buttons(form)] == [False, True]
    cite_buttons(form)[0].click()
    assert box(form, "prompt").value == "@Image1"

    assert cite_buttons(make_form("keyframes")) == []
