"""A form works on any thread on which the kernel receives messages."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from importlib.metadata import version
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.manager import KernelManager

from mediakit import Client
from mediakit.money import format_usd
from mediakit.sandbox.server.running import RunningSandbox
from mediakit.widgets.form.controller import Form
from tests.support.soak import IS_SOAK
from tests.support.widgets import (
    edit,
    error_of,
    finish,
    generate_button,
    shown,
    until,
)

Act = Callable[[], None]
ANSWER_S = 180.0


def on_a_subshell(act: Act) -> None:
    """Act in a running loop on a thread of its own, as a subshell does."""

    async def run() -> None:
        act()
        # Handlers leave nothing behind on a loop that may stop at any time.
        assert asyncio.all_tasks() == {asyncio.current_task()}

    thread = threading.Thread(target=lambda: asyncio.run(run()))
    thread.start()
    thread.join()


def test_typing_moving_and_clicking_work_on_a_subshell(client: Client) -> None:
    form = Form(client, client.catalog.function("text-to-video"))
    until(lambda: form.state.funds.balance is not None, form)

    on_a_subshell(lambda: edit(form, prompt="a kite"))
    on_a_subshell(lambda: edit(form, duration="3"))
    assert "$0.204" in shown(form)
    on_a_subshell(generate_button(form).click)
    until(lambda: form.jobs, form)
    assert form.jobs[0].state.body["prompt"] == "a kite"
    assert error_of(form) == ""
    finish(form)


MAKES = """
import time
import mediakit as mk
client = mk.Client({base_url!r}, {api_key!r}, home={home!r})
job = client.submit("text-to-video", prompt="watched", take="next")
form = client.form("text-to-video", prompt="a", duration=5)
print("MODEL", form.widget.model_id)
"""
TELLS = 'print("SAYS", form.request(), len(form.jobs))'


class Kernel:
    """A kernel that gets messages as from a notebook's page."""

    def __init__(self, manager: KernelManager, client: BlockingKernelClient) -> None:
        self.manager, self.client = manager, client

    def run(self, code: str) -> str:
        """Run a cell to its end and return what it printed."""
        texts: list[str] = []

        def hear(message: Any) -> None:
            texts.append(message["content"].get("text", ""))

        self.client.execute_interactive(code, output_hook=hear, timeout=ANSWER_S)
        return "".join(texts)

    def interrupt(self) -> None:
        """End the cell that runs, and wait until it has ended."""
        self.manager.interrupt_kernel()
        reply = self.client.get_shell_msg(timeout=ANSWER_S)
        assert reply["content"]["ename"] == "KeyboardInterrupt"

    def subshell(self) -> str:
        """Open a subshell of the kernel, and return its id."""
        request = self.client.session.msg("create_subshell_request")
        self.client.control_channel.send(request)
        reply = self.client.get_control_msg(timeout=ANSWER_S)
        return str(reply["content"]["subshell_id"])

    def say(self, model: str, subshell: str | None, **content: Any) -> None:
        """Send a form a message about a user's action."""
        data = {"method": "custom", "content": content}
        message = self.client.session.msg("comm_msg", {"comm_id": model, "data": data})
        message["header"]["subshell_id"] = subshell
        self.client.shell_channel.send(message)

    def hears(self, text: str) -> None:
        """Wait until something that is sent to the page holds a text."""
        while text not in repr(self.client.get_iopub_msg(timeout=ANSWER_S)["content"]):
            pass


@pytest.fixture
def kernel(tmp_path: Path) -> Any:
    """Start a kernel, and end it."""
    manager = KernelManager(kernel_name="python3")
    manager.start_kernel(cwd=str(tmp_path))
    client = manager.client()
    client.start_channels()
    client.wait_for_ready(timeout=ANSWER_S)
    yield Kernel(manager, client)
    client.stop_channels()
    manager.shutdown_kernel(now=True)


@pytest.mark.skipif(
    int(version("ipykernel").split(".")[0]) < 7,
    reason="ipykernel has subshells from version 7 on",
)
def test_no_input_is_lost_while_a_real_kernel_is_busy(
    sandbox: RunningSandbox, tmp_path: Path, kernel: Kernel
) -> None:
    url, key, home = sandbox.base_url, sandbox.api_key, str(tmp_path / "home")
    printed = kernel.run(MAKES.format(base_url=url, api_key=key, home=home))
    model = printed.split("MODEL ")[1].strip()
    subshell = kernel.subshell()
    seconds, number = 5, count(1)

    def edit(subshell: str | None, **values: str) -> None:
        said = {"view": "a", "number": next(number), "values": values}
        kernel.say(model, subshell, do="edit", **said)

    busy_ones = ["time.sleep(600)"]
    if IS_SOAK:  # it takes a whole processor
        busy_ones.append("while True: pass")
    for busy in busy_ones:
        kernel.client.execute(busy, stop_on_error=False)
        kernel.hears(busy)  # it has begun
        for _ in range(2):
            seconds += 1
            edit(subshell, duration=str(seconds))
            kernel.hears(f"'{format_usd(68_000 * seconds)}'")
        edit(subshell, prompt=f"typed with {seconds} s")
        kernel.hears(f"typed with {seconds} s")
        kernel.interrupt()
        assert f"'typed with {seconds} s'" in kernel.run(TELLS)
    # Where all is heard on the main thread, it comes after the cell; what is submitted
    # is what the click holds, whatever comes before or after it.
    kernel.client.execute("time.sleep(1)")
    values = {"prompt": "later", "duration": "4"}
    click = {"values": values, "edited": [*values], "price": None, "another": False}
    late, at_last = next(number), next(number)
    kernel.say(model, None, do="generate", view="a", number=at_last, **click)
    edits = {"number": late, "values": {"prompt": "lat"}}
    kernel.say(model, None, do="edit", view="a", **edits)
    kernel.run("while form.state.sending or not form.jobs: time.sleep(0.05)")
    said = kernel.run(TELLS)
    assert "'later', 'duration': 4" in said
    assert said.endswith(" 1\n")
