"""A form is used from whatever thread the kernel hears people on."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from importlib.metadata import version
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
    box,
    control,
    error_of,
    finish,
    generate_button,
    shown,
    until,
)

Act = Callable[[], None]
ANSWER_S = 60.0


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
    duration = control(form, "duration").parts[1]
    until(lambda: form.state.funds.balance is not None, form)

    on_a_subshell(lambda: box(form, "prompt").set_state({"value": "a kite"}))
    on_a_subshell(lambda: duration.set_state({"value": 3}))
    assert "<b>$0.204</b>" in shown(form)
    on_a_subshell(generate_button(form).click)
    until(lambda: form._jobs, form)
    assert form._jobs[0].state.body["prompt"] == "a kite"
    assert error_of(form) == ""
    finish(form)


MAKES = """
import time
import mediakit as mk
client = mk.Client({base_url!r}, {api_key!r}, home={home!r})
job = client.submit("text-to-video", prompt="watched", take="next")
form = client.form("text-to-video", prompt="a", duration=5)
slider = form._view.controls["duration"].parts[1]
prompt = form._view.controls["prompt"].parts[0]
print("MODELS", slider.model_id, prompt.model_id, form._view._generate.model_id)
"""
TELLS = 'print("SAYS", form.request(), len(form._jobs))'


class Kernel:
    """A kernel that is spoken to as a notebook's page speaks to it."""

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
        """Open a second road into the kernel, and return its id."""
        request = self.client.session.msg("create_subshell_request")
        self.client.control_channel.send(request)
        reply = self.client.get_control_msg(timeout=ANSWER_S)
        return str(reply["content"]["subshell_id"])

    def change(self, model: str, subshell: str | None, data: dict[str, Any]) -> None:
        """Tell a widget what people did with it."""
        message = self.client.session.msg("comm_msg", {"comm_id": model, "data": data})
        message["header"]["subshell_id"] = subshell
        self.client.shell_channel.send(message)

    def hears(self, text: str) -> None:
        """Wait until something that is sent to the page holds a text."""
        while text not in repr(self.client.get_iopub_msg(timeout=ANSWER_S)["content"]):
            pass


def set_to(value: object) -> dict[str, Any]:
    return {"method": "update", "state": {"value": value}, "buffer_paths": []}


CLICK = {"method": "custom", "content": {"event": "click"}}


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
def test_nothing_that_people_do_is_lost_while_a_real_kernel_is_busy(
    sandbox: RunningSandbox, tmp_path: Path, kernel: Kernel
) -> None:
    url, key, home = sandbox.base_url, sandbox.api_key, str(tmp_path / "home")
    printed = kernel.run(MAKES.format(base_url=url, api_key=key, home=home))
    slider, prompt, go = printed.split("MODELS ")[1].split()
    subshell = kernel.subshell()
    seconds = 5

    busy_ones = ["time.sleep(600)"]
    if IS_SOAK:  # it takes a whole processor
        busy_ones.append("while True: pass")
    for busy in busy_ones:
        kernel.client.execute(busy, stop_on_error=False)
        kernel.hears(busy)  # it has begun
        for _ in range(2):
            seconds += 1
            kernel.change(slider, subshell, set_to(seconds))
            kernel.hears(f"<b>{format_usd(68_000 * seconds)}</b>")
        kernel.change(prompt, subshell, set_to(f"typed with {seconds} s"))
        kernel.hears(f"typed with {seconds} s")  # the echo
        kernel.interrupt()
        assert f"'typed with {seconds} s'" in kernel.run(TELLS)
    # Where all is heard on the main thread, it comes after the cell, and in order.
    kernel.client.execute("time.sleep(1)")
    kernel.change(slider, None, set_to(4))
    kernel.change(prompt, None, set_to("later"))
    kernel.change(go, None, CLICK)
    kernel.run("while form.state.sending or not form._jobs: time.sleep(0.05)")
    assert "'later', 'duration': 4" in (said := kernel.run(TELLS))
    assert said.endswith(" 1\n")
