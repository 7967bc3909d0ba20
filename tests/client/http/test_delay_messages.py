"""A form explains why its request has no response yet, as a call does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mediakit import Client
from mediakit.sandbox.server.running import Sandbox, start
from mediakit.widgets.form.controller import Form
from tests.support.advancing_clock import AdvancingClock
from tests.support.samples.media_samples import make_png
from tests.support.widgets import error_of, finish, generate_button, shown, until

KITE: dict[str, Any] = {"prompt": "a kite", "duration": 3}
BUSY = {"kind": "status", "status": 429, "retry_after": 3}
SLOW_UPLOAD = {"kind": "latency", "seconds": 2, "where": {"path": "/uploads/"}}


@pytest.mark.parametrize(
    ("kind", "fault", "words"),
    [
        ("text-to-video", BUSY, "trying again in"),
        ("image-upscale", SLOW_UPLOAD, "Uploading cat.png"),
    ],
)
def test_a_form_says_why_its_request_has_no_response(
    kind: str, fault: dict[str, Any], words: str, tmp_path: Path
) -> None:
    cat = make_png(tmp_path / "cat.png", (64, 48))
    values: dict[str, Any] = (
        KITE if kind == "text-to-video" else {"image_url": str(cat)}
    )
    running = start(Sandbox(tmp_path / "data", concurrency=0))
    with Client(running.base_url, running.api_key, home=tmp_path) as client:
        function = client.catalog.function(kind)
        form = Form(client, function, values, clock=AdvancingClock())
        until(lambda: form.state.funds.balance is not None, form)
        until(lambda: form.state.submit_reason is None, form)
        where = {"function": running.functions[kind]}
        rule: dict[str, Any] = {"where": where, "count": 1, **fault}
        running.fault(**rule)
        seen: list[str] = []
        send = form.widget.send

        def hear(message: dict[str, Any], *more: Any) -> None:
            seen.append(message.get("form", {}).get("go", {}).get("hint", ""))
            send(message, *more)

        form.widget.send = hear
        generate_button(form).click()
        until(lambda: not form.state.sending, form)

        assert "Sending the request." in seen[0]
        assert any(words in each for each in seen)
        assert words not in shown(form)
        assert error_of(form) == ""
        assert len(form.jobs) == 1
        finish(form)
    running.stop()
