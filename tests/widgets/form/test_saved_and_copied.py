"""What a form and its copies say: prices in full, names, and no secrets."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mediakit import Client
from mediakit.catalog import Catalog, Function
from mediakit.client import media_inputs
from mediakit.sandbox.server.running import RunningSandbox
from mediakit.widgets.form.controller import Form
from tests.support.samples.media_samples import make_mp4
from tests.support.servers.file_server import FileServer
from tests.widgets.form.test_form import (
    _all,
    box,
    finish,
    generate_button,
    shown,
    unfold,
    until,
)
from tests.widgets.form.test_form_media import EDIT

SIGNED = "https://user:hunter2@127.0.0.1/x.png?X-Amz-Signature=abc123"
DUB = {
    "type": "object",
    "required": ["prompt"],
    "properties": {
        "prompt": {"type": "string"},
        "draft": {"type": "boolean", "default": False},
        "guidance-scale": {"type": "integer"},
        "class": {"type": "string"},
        "x=print('pasted'),y": {"type": "string"},
        "boxes": {
            "type": "array",
            "items": {"type": "object", "properties": {"seed": {"type": "integer"}}},
        },
        "cfg": {"type": "integer"},
    },
}
ODD: dict[str, Any] = {"guidance-scale": 7, "class": "news", "x=print('pasted'),y": "z"}


def labels(form: Form) -> set[str]:
    """Return what stands on and beside the controls."""
    unfold(form)
    return {str(getattr(each, "description", "")) for each in _all(form.widget)}


@pytest.fixture
def dubbing(sandbox: RunningSandbox, tmp_path: Path) -> Iterator[Client]:
    """Give a client that knows a function which mediakit does not declare."""
    catalog = Catalog.default().including(Function.from_schema("acme/swift/dub", DUB))
    with Client(
        sandbox.base_url, sandbox.api_key, home=tmp_path, catalog=catalog
    ) as client:
        yield client


def test_the_saved_copy_of_a_form_has_no_password_signature_or_token(
    client: Client,
) -> None:
    form = client.form("r1", prompt="a", duration=5, image_urls=[SIGNED])
    saved = form._repr_mimebundle_()["text/html"]
    for secret in ("hunter2", "user:", "X-Amz", "abc123"):
        assert secret not in saved
    assert "https://127.0.0.1/x.png?…" in saved
    # The form itself still has it, and sends it.
    assert form.request()["image_urls"] == [SIGNED]


def test_the_saved_timeline_of_a_form_has_no_signature(client: Client) -> None:
    frame = {"url": SIGNED, "timestamp": 0, "duration": 1_000}
    track = {"id": "a", "type": "video", "keyframes": [frame]}
    form = client.form("compose-video", tracks=[track])
    saved = form._repr_mimebundle_()["text/html"]
    assert "hunter2" not in saved
    assert "X-Amz" not in saved
    assert "127.0.0.1/x.png" in saved


def test_names_that_are_no_arguments_are_copied_as_text(dubbing: Client) -> None:
    form = dubbing.form("dub", prompt="a", **ODD)
    (call,) = ast.parse(form.as_python()).body
    assert isinstance(call, ast.Expr)
    assert isinstance(call.value, ast.Call)
    given = {each.arg: ast.literal_eval(each.value) for each in call.value.keywords}
    assert given == {"prompt": "a", None: ODD}


def test_the_code_of_a_sweep_writes_such_names_as_text_too(dubbing: Client) -> None:
    plan = dubbing.sweep("dub", prompt=["a", "b"], **ODD)
    (plan_is,) = ast.parse(plan.code).body
    assert isinstance(plan_is, ast.Assign)
    assert isinstance(plan_is.value, ast.Call)
    names = [each.arg for each in plan_is.value.keywords]
    assert names == ["prompt", None]
    assert ast.literal_eval(plan_is.value.keywords[-1].value) == ODD


def test_fields_of_others_have_their_own_names(dubbing: Client, client: Client) -> None:
    assert "Draft (480p preview)" in labels(client.form("r1"))
    foreign = labels(dubbing.form("dub"))
    assert "Draft" in foreign
    assert "Draft (480p preview)" not in foreign
    assert "Add box" in foreign


def test_a_price_that_is_called_exact_is_written_in_full(client: Client) -> None:
    form = client.form("text-to-video", prompt="a kite", duration=3)
    assert "<b>$0.204</b>" in shown(form)
    assert "exact" in shown(form)


def test_a_number_is_written_as_people_write_it(dubbing: Client) -> None:
    form = dubbing.form("dub", prompt="a")
    box(form, "cfg").value = "1_000"
    assert form.request()["cfg"] == "1_000"
    assert generate_button(form).disabled
    box(form, "cfg").value = "1000"
    assert form.request()["cfg"] == 1_000


def test_a_clip_that_could_not_be_read_is_read_again_later(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(media_inputs, "RETRY_AFTER_S", 0.0)
    clip = make_mp4(tmp_path / "a.mp4", (854, 480), 2.5).read_bytes()
    with FileServer({}) as server:
        video_edit: dict[str, Any] = dict(EDIT)
        form = client.form("r1", video_urls=[server.url("a.mp4")], **video_edit)
        until(lambda: server.requests, form)
        until(lambda: not form._tasks._tasks, form)
        assert "its length is not known here" in shown(form)

        server.files["a.mp4"] = clip
        form.values.prompt = "make it snow"
        until(lambda: "remote · 854 x 480" in shown(form), form)
        finish(form)
