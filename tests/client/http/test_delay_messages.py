"""Messages while a request is pending."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest

from mediakit import Client
from mediakit.client.progress import DelayMessages, Progress, Transfer
from mediakit.sandbox.server.running import RunningSandbox, Sandbox, start
from mediakit.widgets.form.controller import Form
from tests.client.test_account_history import BLOCKED, locked
from tests.support.advancing_clock import AdvancingClock
from tests.support.samples.media_samples import make_png
from tests.widgets.form.test_form import error_of, finish, generate_button, shown, until


@pytest.fixture
def idle(tmp_path: Path) -> Iterator[RunningSandbox]:
    """Serve a sandbox that renders nothing."""
    running = start(Sandbox(tmp_path / "data", concurrency=0))
    yield running
    running.stop()


@pytest.fixture
def idle_client(idle: RunningSandbox, tmp_path: Path) -> Iterator[Client]:
    with Client(idle.base_url, idle.api_key, home=tmp_path / "home") as client:
        yield client


def message(
    *steps: tuple[str, int, int | None], names: Collection[str] | None = None
) -> str:
    """Return the message when uploads of such names are at such bytes."""

    async def main(progress: Progress) -> str:
        with ExitStack() as stack:
            for name, done_bytes, total_bytes in steps:
                tell = stack.enter_context(progress.of("upload", name, total_bytes))
                tell(done_bytes, total_bytes)
            stack.enter_context(progress.of("download", "result.mp4"))
            return DelayMessages(progress, lambda: 0.0, str).upload_text(names)

    with asyncio.Runner() as runner:
        return runner.run(main(Progress()))


def test_uploads_say_how_far_they_are_together() -> None:
    assert message() == ""
    assert message(("a.png", 0, 900)) == "Uploading a.png: 0 bytes of 900 bytes."
    assert (
        message(("a.mp4", 1_500_000, 2_000_000), ("b.mp4", 0, 1_200_000_000))
        == "Uploading 2 files: 1.5 MB of 1,202.0 MB."
    )


def test_only_the_files_that_matter_are_named() -> None:
    steps = (("a.png", 5, 10), ("b.png", 7, 10))
    assert message(*steps, names={"b.png"}) == "Uploading b.png: 7 bytes of 10 bytes."
    assert message(*steps, names=()) == ""


def test_a_transfer_is_under_way_until_it_ends_however_it_ends() -> None:
    async def main(progress: Progress) -> None:
        with suppress(OSError), progress.of("upload", "a", 10) as tell:
            assert progress.under_way == (Transfer("upload", "a", 0, 10),)
            tell(5, 10)
            assert progress.under_way == (Transfer("upload", "a", 5, 10),)
            raise OSError("the connection broke")
        assert progress.under_way == ()

    with asyncio.Runner() as runner:
        runner.run(main(Progress()))


def reasons(form: Form) -> list[str]:
    """Press Generate; return all that stands beside it until the answer has come."""
    seen: list[str] = []
    form._view._reason.observe(lambda change: seen.append(change["new"]), "value")
    generate_button(form).click()
    until(lambda: not form.state.sending, form)
    assert error_of(form) == ""
    assert len(form.jobs) == 1
    return seen


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ({"kind": "status", "status": 429, "retry_after": 3}, "trying again in"),
        ({"kind": "latency", "seconds": 3}, "has not accepted the request yet"),
    ],
    ids=["asked to wait", "slow"],
)
def test_a_form_says_why_its_request_has_no_answer(
    idle: RunningSandbox, idle_client: Client, fault: dict[str, Any], words: str
) -> None:
    values = {"prompt": "a kite", "duration": 3}
    function = idle_client.catalog.function("text-to-video")
    form = Form(idle_client, function, values, clock=AdvancingClock())
    until(lambda: form.state.funds.balance is not None, form)
    idle.fault(**fault, count=1, where={"function": idle.functions["text-to-video"]})

    seen = reasons(form)
    assert "Sending the request." in seen[0]
    assert any(words in each for each in seen)
    assert words not in shown(form)
    finish(form)


def test_a_form_says_that_another_program_holds_the_history(
    idle_client: Client,
) -> None:
    place = idle_client.components.store.place
    function = idle_client.catalog.function("text-to-video")
    form = Form(idle_client, function, {"prompt": "a kite", "duration": 3})
    until(lambda: form.state.funds.balance is not None, form)

    with locked(place):
        generate_button(form).click()
        until(lambda: f"{BLOCKED} {place} is locked" in shown(form), form)
        assert form.state.sending
    until(lambda: not form.state.sending, form)
    assert BLOCKED not in shown(form)
    assert error_of(form) == ""
    assert len(form.jobs) == len(idle_client.components.store.page()) == 1
    finish(form)


def test_a_call_with_files_says_that_another_program_holds_the_history() -> None:
    delays = DelayMessages(Progress(), lambda: 5.0, lambda: BLOCKED)
    assert delays.submit_text() == delays.files_text() == BLOCKED
    free = DelayMessages(Progress(), lambda: 5.0, str)
    assert free.submit_text() == "The service asks to wait; trying again in 5 s."
    assert free.files_text() == "Still reading the media of the request."


def test_a_form_says_how_far_its_upload_is(
    idle: RunningSandbox, idle_client: Client, tmp_path: Path
) -> None:
    cat = make_png(tmp_path / "cat.png", (64, 48))
    function = idle_client.catalog.function("image-upscale")
    form = Form(idle_client, function, {"image_url": str(cat)}, clock=AdvancingClock())
    until(lambda: form.state.submit_reason is None, form)
    idle.fault("latency", seconds=2, count=1, where={"path": "/uploads/"})

    assert any("Uploading cat.png" in each for each in reasons(form))
    finish(form)
