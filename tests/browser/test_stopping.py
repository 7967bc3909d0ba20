"""A request that is being retried can be stopped wherever it was made."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

from mediakit.sandbox.server.running import RunningSandbox, Sandbox, start
from tests.browser.harness import Lab, connected
from tests.browser.harness.wait import rest

pytestmark = [pytest.mark.browser, pytest.mark.soak]

POSTS = {"method": "POST", "path": "/v1/media/"}
FORM = 'client.form("text-to-image", prompt="a kite, {}")'
JOB = 'client.run("text-to-image", prompt="a gull, once")'
WALL = """
results = client.sweep("text-to-image", prompt=["a hill", "a lake"]).run().wait()
results
"""
COUNT = 'print(client.history.frame()["job_id"].notna().sum(), "jobs of this history")'
STOPPED = "Stopped. No job was created, and nothing is charged."


@pytest.fixture
def service(tmp_path: Path) -> Iterator[RunningSandbox]:
    """Serve a sandbox for one test, because its faults affect all clients."""
    running = start(Sandbox(tmp_path / "data", speed=50))
    yield running
    running.stop()


def stop(
    place: Locator, said: str = "No job exists yet, and nothing is charged."
) -> None:
    """Wait for the button that stops the retries, and press it."""
    expect(place).to_contain_text(said)
    button = place.get_by_role("button", name="Stop trying")
    expect(button).to_have_count(1)
    button.click()
    expect(button).to_have_count(0)


def paid(place: Locator, name: str) -> Locator:
    button = place.get_by_role("button", name=name).first
    expect(button).to_be_enabled()
    button.scroll_into_view_if_needed()
    rest(place.page)
    return button


def test_a_request_to_a_busy_service_is_stopped_in_form_card_wall_and_sweep(
    lab: Lab, service: RunningSandbox
) -> None:
    form_of = FORM.format
    cells = [connected(service, "stopped"), form_of("alone"), JOB, WALL, COUNT]
    lab.begin("stopped.ipynb", *cells, height_px=1000)
    for index in range(4):
        lab.run_cell(index)
    before = lab.jobs(4)
    service.fault("status", status=429, message="Busy.", retry_after=100, where=POSTS)

    form = lab.cell(1).locator(".mk-form")
    paid(form, "Generate").click()
    expect(form.get_by_role("button", name="Stop trying")).to_be_visible()
    for width in (600, 870, 1300, 1900):
        lab.resize(width, 1000)
        lab.screenshot(f"stop-form-{width}", form)
    lab.theme("dark")
    lab.screenshot("stop-form-dark", form)
    lab.theme("light")
    lab.resize(1280, 1000)
    stop(form)
    expect(form).to_contain_text(STOPPED)
    expect(paid(form, "Generate")).to_be_enabled()

    card = lab.cell(2).locator(".mk-job")
    paid(card, "Another take").click()
    expect(card.get_by_role("button", name="Stop trying")).to_be_visible()
    lab.screenshot("stop-card", card)
    stop(card)
    expect(card).to_contain_text(STOPPED)

    wall = lab.cell(3).locator(".mk-wall")
    wall.locator(".mk-wall-tile").first.click()
    lab.page.keyboard.press("a")
    paid(wall, "Another take").click()
    expect(wall.get_by_role("button", name="Stop trying")).to_be_visible()
    lab.screenshot("stop-wall", wall)
    stop(wall)
    expect(wall).to_contain_text(STOPPED)

    form.get_by_role("button", name="Sweep…").click()
    panel = form.locator(".mk-sweep")
    varies = panel.get_by_role("group", name="what varies")
    varies.get_by_label("Prompt", exact=True).check()
    panel.get_by_label("Prompts, one per line").fill("a fox\na hen\na cow")
    paid(panel, "Run 3 cells").click()
    sweep = form.locator(".mk-below .mk-wall")
    expect(sweep).to_contain_text("No job exists yet, and nothing is charged.")
    lab.screenshot("stop-sweep", sweep)
    sweep.get_by_role("button", name="Stop", exact=True).click()
    expect(sweep).to_contain_text("3 not sent")
    expect(sweep).not_to_contain_text("No job exists yet")
    lab.screenshot("stop-sweep-stopped", sweep)

    service.clear_faults()
    assert lab.jobs(4) == before
    assert lab.console_errors() == []


def test_a_request_without_a_response_says_that_a_job_may_exist_and_is_paid_once(
    lab: Lab, service: RunningSandbox
) -> None:
    cells = [connected(service, "doubtful"), FORM.format("lost"), COUNT]
    lab.begin("doubtful.ipynb", *cells, height_px=1000)
    lab.run_cell(0)
    lab.run_cell(1)
    service.fault("drop_after", where=POSTS)
    form = lab.cell(1).locator(".mk-form")
    paid(form, "Generate").click()
    stop(form, "A job may exist already; it is charged once.")
    expect(form).to_contain_text("a job may exist; if it does, you are charged once")
    lab.screenshot("stop-in-doubt", form)
    service.clear_faults()
    lab.restart_kernel()
    lab.run_cell(0)
    lab.run_cell(1)
    assert lab.jobs(2) == 0  # connecting sends nothing that was stopped

    paid(form, "Generate").click()
    expect(form.locator(".mk-job")).to_have_count(1)
    assert lab.jobs(2) == 1
