"""White space around a prompt is not part of a request, in any kind of call."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mediakit import Client
from mediakit.client import request_preparation
from mediakit.sandbox.server.running import RunningSandbox
from mediakit.sweep import CellState
from tests.support.widgets import finish, until

KIND = "text-to-video"
PADDED = ("a kite ", " a kite", "a kite\n", "\t a kite \r\n")
PICTURES = ["https://a.test/1.png", "https://a.test/2.png"]


@pytest.mark.parametrize("prompt", PADDED)
def test_a_prompt_with_outer_space_makes_the_same_request_as_without(
    own_client: Client, prompt: str
) -> None:
    job = own_client.submit(KIND, prompt="a kite", duration=3)
    assert own_client.submit(KIND, prompt=prompt, duration=3).id == job.id
    assert len(own_client.history.frame()) == 1

    plan = own_client.sweep(KIND, prompt=[prompt, "a gull "], duration=3)
    assert plan.counts[CellState.OWNED] == 1
    rows = own_client.sweep(KIND, rows=[{"prompt": prompt, "duration": 3}])
    assert rows.counts[CellState.OWNED] == 1
    slots = own_client.sweep(KIND, prompt="a {what}", what=["kite  "], duration=3)
    assert slots.counts[CellState.OWNED] == 1


def test_outer_space_of_prompts_is_removed_and_inner_space_is_kept(
    own_client: Client,
) -> None:
    job = own_client.submit(
        "keyframes",
        images=PICTURES,
        prompt=" two\n lines ",
        negative_prompt="blur\n",
        transition_prompts=[" slow "],
    )
    entry = own_client.components.store.find(job.id)
    assert entry is not None
    body = json.loads(entry.body)
    assert body["prompt"] == entry.prompt == "two\n lines"
    assert body["negative_prompt"] == "blur"
    assert body["transition_prompts"] == ["slow"]


@pytest.mark.parametrize("prompt", PADDED)
def test_a_form_says_that_a_prompt_with_outer_space_is_owned(
    own_client: Client, prompt: str
) -> None:
    job = own_client.submit(KIND, prompt="a kite", duration=3)
    form = own_client.form(KIND, prompt="a", duration=3)
    form.values.prompt = prompt
    until(lambda: form.state.owned is not None, form)
    assert form.state.owned is not None
    assert form.state.owned.job_id == job.id
    assert form.request()["prompt"] == "a kite"
    finish(form)


@pytest.mark.parametrize("now", ["a kite ", "a kite", " a kite"])
def test_a_request_that_an_earlier_version_sent_with_outer_space_is_found(
    sandbox: RunningSandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, now: str
) -> None:
    service = sandbox.base_url, sandbox.api_key
    with monkeypatch.context() as earlier, Client(*service, home=tmp_path) as client:
        earlier.setattr(request_preparation, "stripped", lambda _, value: value)
        job = client.run(KIND, prompt="a kite ", duration=3)
    with Client(*service, home=tmp_path) as client:
        entry = client.components.store.find(job.id)
        assert entry is not None
        assert entry.prompt == "a kite "

        assert client.submit(KIND, prompt=now, duration=3).id == job.id
        plan = client.sweep(KIND, prompt=[now, "a gull"], duration=3)
        assert plan.counts[CellState.OWNED] == 1
        plan.run(budget="$1").wait(60)
        assert len(client.history.frame()) == 2
        form = client.form(KIND, prompt=now, duration=3)
        until(lambda: form.state.owned is not None, form)
        finish(form)
