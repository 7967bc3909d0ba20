"""A form and a job's view in real JupyterLab while the kernel is busy."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

from mediakit.sandbox.server.running import RunningSandbox
from tests.browser.harness import COUNT, Lab
from tests.browser.harness.wait import rest

pytestmark = pytest.mark.browser

CONNECT = """
import time
import mediakit as mk
client = mk.Client({base_url!r}, {api_key!r}, home={home!r})
form = client.form("text-to-video", prompt="a", duration=5)
form
"""
WATCH = 'job = client.submit("text-to-video", prompt="watched")\njob'
BUSY = ("time.sleep(600)", "while True: pass", "job.wait(timeout_s=600)")
ASKED = "form.request()"
FORM, JOB, FIRST, LAST = 0, 1, 2, 2 + len(BUSY)
KERNEL = "window.jupyterapp.shell.currentWidget.sessionContext.session.kernel"
PRICES = ("$0.408", "$0.476", "$0.544", "$0.612")


@pytest.mark.soak
def test_typing_and_clicking_arrive_while_the_kernel_sleeps_computes_and_waits(
    lab: Lab, holding: RunningSandbox, tmp_path: Path
) -> None:
    url, key, home = holding.base_url, holding.api_key, str(tmp_path / "home")
    first = CONNECT.format(base_url=url, api_key=key, home=home)
    lab.begin("busy.ipynb", first, WATCH, *BUSY, ASKED, height_px=1600)
    lab.run_cell(FORM)
    lab.see(FORM, "$0.34")
    lab.run_cell(JOB)
    lab.see(JOB, "queued")
    form = lab.cell(FORM)

    for number, price in enumerate(PRICES[: len(BUSY)]):
        lab.start_cell(FIRST + number)
        prompt = lab.cell(FIRST + number).locator(".jp-InputPrompt")
        expect(prompt).to_have_text("[*]:")
        use(form, price, lines=number % 2 == 0)
        moves(lab.cell(JOB))
        expect(prompt).to_have_text("[*]:")  # it was busy all the time
        if number == 0:
            lab.screenshot("busy-kernel")
        lab.page.evaluate(f"() => {KERNEL}.interrupt()")
        lab.wait_idle()
        form.get_by_label("prompt").first.press_sequentially("z")
    use(form, PRICES[-1], lines=False)
    lab.run_cell(LAST)
    lab.see(LAST, "'prompt': 'abzbzbzb', 'duration': 9")
    assert lab.console_errors() == []


def use(form: Locator, price: str, *, lines: bool) -> None:
    """Type, move the slider and click; the form responds to each."""
    form.get_by_label("prompt").first.press_sequentially("b")
    handle = form.get_by_role("slider").first
    handle.focus()
    handle.press("ArrowRight")
    expect(form.locator(".mk-price b")).to_have_text(price)
    form.get_by_role("button", name="Price breakdown").click()
    expect(form.locator("table.mk-lines .mk-num")).to_have_count(3 if lines else 0)


def moves(job: Locator) -> None:
    """Wait until the view of a job shows another time than now."""
    clock = job.get_by_text("In the queue for").filter(visible=True).last
    expect(clock).not_to_have_text(clock.inner_text())


@contextmanager
def hanging(lab: Lab) -> Iterator[None]:
    """Suspend the kernel's process within the block."""
    process = lab.kernel_process()
    process.suspend()
    try:
        yield
    finally:
        process.resume()


@pytest.mark.soak
def test_no_price_is_called_exact_for_values_that_a_hanging_kernel_has_not_seen(
    lab: Lab, holding: RunningSandbox, tmp_path: Path
) -> None:
    url, key, home = holding.base_url, holding.api_key, str(tmp_path / "home")
    first = CONNECT.format(base_url=url, api_key=key, home=home)
    lab.begin("hanging.ipynb", first, COUNT, height_px=1000)
    lab.run_cell(0)
    form = lab.cell(0).locator(".mk-form")
    price = form.locator(".mk-price")
    expect(price).to_have_text("$0.34exact")
    rest(lab.page)
    with hanging(lab):
        form.get_by_label("Duration").and_(
            form.locator("input:not([type=range])")
        ).fill("15")
        expect(price).to_have_text("$0.34waiting for the kernel")
        lab.screenshot("price-waits", form)
        form.locator("button.mk-go").click()
        expect(form.locator("button.mk-go")).to_be_disabled()
    expect(price).to_have_text("$1.02exact")
    expect(form).to_contain_text("The price is now $1.02 instead of $0.34.")
    lab.run_cell(1)
    lab.see(1, "0 jobs of this history")
