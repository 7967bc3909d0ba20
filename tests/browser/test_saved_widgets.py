"""Saved widgets, and widgets whose kernel restarted, look inactive."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, expect

from mediakit.sandbox.server.running import RunningSandbox
from tests.browser.harness import Lab, connected
from tests.browser.harness.wait import until

pytestmark = pytest.mark.browser

FORM = 'client.form("text-to-video", prompt="a kite, {}", duration=3)'
PLAN = 'client.sweep("text-to-video", prompt=["a saved kite"], duration=3)'
WALL = """
run = client.sweep("text-to-video", prompt=["a", "b"], duration=3).run(budget="$0.3")
run.wait()
run
"""
STUDIO = "client.studio()"
SAVE_STATE = """() => window.jupyterapp.commands.execute(
    "@jupyter-widgets/jupyterlab-manager:saveWidgetState")"""
BANNER = "e => getComputedStyle(e, '::before').content"


def is_dead(form: Locator) -> None:
    """Wait until a form reports a dead kernel and disables its paid buttons."""
    expect(form).to_have_class(re.compile("mk-gone|jupyter-widgets-disconnected"))
    until(form.page, lambda: "kernel" in form.evaluate(BANNER))
    for pays in form.locator(".mk-paid").all():
        expect(pays).to_be_disabled()
        expect(pays).to_have_css("opacity", re.compile(r"^0\."))


def test_widgets_from_saved_state_say_that_they_are_read_only_and_pay_nothing(
    lab: Lab, sandbox: RunningSandbox
) -> None:
    first = connected(sandbox, "stored")
    lab.begin("stored.ipynb", first, FORM.format("stored"), PLAN, WALL, STUDIO)
    lab.run_all()
    go = lab.cell(1).locator("button.mk-go")
    expect(go).to_have_text("Generate · $0.204")
    for index in (2, 4):
        expect(lab.cell(index).locator(".mk-form").first).to_be_visible()
    expect(lab.cell(3).locator(".mk-wall")).to_be_visible()
    lab.page.evaluate(SAVE_STATE)
    lab.save()
    lab.shutdown_kernel()
    lab.open("stored.ipynb")
    for index in (1, 2, 4):
        is_dead(lab.cell(index).locator(".mk-form").first)
        lab.screenshot(f"stored-{index}", lab.cell(index))
    wall = lab.cell(3).locator(".mk-wall")
    expect(wall.get_by_role("alert")).to_contain_text("kernel")
    for pays in wall.locator(".mk-paid").all():
        expect(pays).to_be_disabled()
    lab.screenshot("stored-3", lab.cell(3))


def test_the_button_of_a_form_is_disabled_as_soon_as_its_kernel_restarts(
    lab: Lab, sandbox: RunningSandbox
) -> None:
    first = connected(sandbox, "restarted")
    lab.begin("restarted.ipynb", first, FORM.format("restarted"), PLAN)
    lab.run_all()
    go = lab.cell(1).locator("button.mk-go")
    expect(go).to_have_text("Generate · $0.204")
    expect(go).to_be_enabled()
    lab.restart_kernel()
    for index in (1, 2):
        is_dead(lab.cell(index).locator(".mk-form").first)
    lab.cell(1).get_by_role("button", name="More settings").click()
    is_dead(lab.cell(1).locator(".mk-form").first)
    lab.screenshot("restarted-form", lab.cell(1))
