"""mediakit's widgets inside `Output`, `interact` and other layouts of the user."""

from __future__ import annotations

from contextlib import suppress

import pytest
from playwright.sync_api import Browser, Locator, Page, TimeoutError, expect

from mediakit.sandbox.server.running import RunningSandbox
from tests.browser.harness import VIEWPORT, Lab, LabServer, connected
from tests.browser.harness.wait import WAITS_S, screenshot

pytestmark = pytest.mark.browser

TRIES = 3
MAKES = """
import ipywidgets as w
job = client.run("text-to-image", prompt="a kite")
plan = client.sweep("text-to-image", prompt=["a kite", "a boat"])
boxes = [w.Output() for _ in range(6)]
def fill(_=None):
    with boxes[0]:
        display(client.form("text-to-video", prompt="in an output"))
    with boxes[1]:
        display(job)
    with boxes[2]:
        display(plan)
    with boxes[3]:
        display(client.studio())
    with boxes[4]:
        inner = w.Output()
        display(inner, w.Label("beside a nested output"))
        with inner:
            display(client.spend.dashboard())
    with boxes[5]:
        display(plan.run(budget="$2"))
"""
BUTTON = """
button = w.Button(description="Fill the outputs")
button.on_click(fill)
print("a line above")
display(w.VBox([button, *boxes]), w.Label("a label beside"))
client.form("text-to-image", prompt="beside")
"""
INTERACT = """
w.interact(
    lambda duration: display(client.form("text-to-video", duration=duration)),
    duration=(3, 6),
);
"""
TWO = """
first, second = w.Output(), w.Output()
display(first, second)
with first:
    print("a line in the first")
    display(client.submit("text-to-image", prompt="a hill"))
with second:
    display(w.Button(description="A button of mine"))
"""
WIDGETS = """
import ipywidgets as w
job = client.run("text-to-image", prompt="a kite")
plan = client.sweep("text-to-image", prompt=["a kite", "a boat"])
run = plan.run(budget="$2")
run.wait()
form = client.form("text-to-video", prompt="in a tab")
made = [form, job, run, plan, client.studio(), client.spend.dashboard()]
widgets = [each.widget for each in made]
"""
LAYOUTS = """
titles = ["Form", "Job", "Wall", "Plan", "Studio", "Month"]
w.VBox([w.Label("a page of mine"), w.Tab(widgets, titles=titles)])
"""
OTHERS = """
box = w.Output()
with box:
    display(job.widget)
folds = w.Accordion([run.widget], titles=["The wall"])
button = w.Button(description="Open the wall")
button.on_click(lambda _: setattr(folds, "selected_index", 0))
w.VBox([box, button, folds])
"""
IN_TABS = {
    "Form": ".mk-form h3:text('Text to video')",
    "Job": ".mk-job img",
    "Wall": ".mk-wall",
    "Plan": ".mk-plan-row",
    "Studio": ".mk-studio",
    "Month": ".mk-month",
}
SHOWN = (
    ".mk-form h3:text('Text to video')",
    ".mk-job img",
    ".mk-plan-row",
    ".mk-studio",
    ".mk-month",
    ".mk-wall",
)
"""What stands in each output."""
CARDS = "[class^=mediakit-cards]"
OUTERMOST = ":not(.widget-output *) > .jp-OutputArea-output > .widget-output"
LOST = "Loading widget..."


def expect_filled(where: Locator) -> None:
    outputs = where.locator(".widget-vbox > .widget-output")
    for output, what in zip(outputs.all(), SHOWN, strict=True):
        expect(output.locator(what).first).to_be_visible()
        expect(output.locator(CARDS).filter(visible=True)).to_have_count(0)
    expect(where.get_by_text("beside a nested output")).to_be_visible()


def test_widgets_inside_an_output_are_shown_with_the_users_own_output(
    lab: Lab, sandbox: RunningSandbox
) -> None:
    first = connected(sandbox, "inside") + MAKES
    lab.begin("inside.ipynb", first, BUTTON, INTERACT, TWO, height_px=3000)
    lab.run_all()
    cell = lab.cell(1)
    cell.get_by_role("button", name="Fill the outputs").click()
    expect_filled(cell)
    for words in ("a line above", "Fill the outputs", "a label beside"):
        outside = cell.locator(".jp-Cell-outputArea").get_by_text(words, exact=True)
        expect(outside).to_be_visible()
    expect(cell.get_by_role("heading", name="Text to image")).to_be_visible()
    lab.screenshot("inside-outputs", cell)

    slid = lab.cell(2)
    expect(slid.locator(".mk-form").get_by_text("$0.272").first).to_be_visible()
    slid.locator(".noUi-handle").press("ArrowRight")
    expect(slid.locator(".mk-form").get_by_text("$0.34").first).to_be_visible()
    expect(slid.locator(CARDS).filter(visible=True)).to_have_count(0)
    lab.screenshot("inside-interact", slid)

    two = lab.cell(3)
    expect(two.locator(".mk-job")).to_be_visible()
    for words in ("a line in the first", "A button of mine"):
        expect(two.locator(".jp-Cell-outputArea").get_by_text(words)).to_be_visible()

    # Without a kernel, the user's widgets say what they are; ours has its card.
    lab.save()
    lab.shutdown_kernel()
    lab.open(lab.notebook, kernel=False)
    cell = lab.cell(1)
    expect(cell.locator(CARDS).get_by_text("Text to image")).to_be_visible()
    expect(cell.get_by_text(LOST).filter(visible=True)).to_have_count(2)
    lab.screenshot("inside-without-a-kernel", cell)


def test_each_widget_works_in_the_users_layouts_and_in_two_views(
    lab: Lab, sandbox: RunningSandbox
) -> None:
    first = connected(sandbox, "layouts") + WIDGETS
    lab.begin("layouts.ipynb", first, LAYOUTS, OTHERS, "widgets[0]", height_px=2000)
    lab.run_all()
    cell = lab.cell(1)
    expect(cell.get_by_text("a page of mine", exact=True)).to_be_visible()
    for title, what in IN_TABS.items():
        cell.get_by_role("tab", name=title, exact=True).click()
        expect(cell.locator(what).filter(visible=True).first).to_be_visible()
        lab.screenshot(f"layouts-{title}", cell)
    others = lab.cell(2)
    expect(others.locator(".widget-output .mk-job")).to_be_visible()
    others.get_by_role("button", name="Open the wall").click()
    expect(others.locator(".jupyter-widget-Collapse-open .mk-wall")).to_be_visible()

    # Two views of one form are one form.
    typed = cell.get_by_role("tab", name="Form", exact=True)
    typed.click()
    cell.get_by_label("Prompt").filter(visible=True).first.fill("typed in a tab")
    expect(lab.cell(3).get_by_label("Prompt").first).to_have_value("typed in a tab")
    # Without a page that can show them, a line describes them.
    texts = [
        "".join(output["data"]["text/plain"])
        for output in lab.save()["cells"][1]["outputs"]
        if "data" in output
    ]
    assert "form for text-to-video" in texts[-1]
    assert len(texts[-1]) < 1_000
    assert lab.console_errors() == []


@pytest.fixture
def visitor(browser: Browser, lab_server: LabServer) -> Page:
    page = browser.new_context(viewport=VIEWPORT, device_scale_factor=1).new_page()
    page.set_default_timeout(WAITS_S * 1000)
    return page


@pytest.mark.soak
def test_a_page_of_voila_shows_widgets_inside_outputs(
    visitor: Page, lab_server: LabServer, sandbox: RunningSandbox
) -> None:
    cells = [connected(sandbox, "voila-outputs") + MAKES, "display(*boxes)\nfill()"]
    name = lab_server.add_notebook("voila-outputs.ipynb", cells)
    page = f"{lab_server.url}/voila/render/{name}?token={lab_server.token}"
    outputs = visitor.locator(OUTERMOST)
    for _ in range(TRIES):  # Voilà may wait for ever for a kernel that has begun
        with suppress(TimeoutError):
            visitor.goto(page, timeout=WAITS_S * 1000 / TRIES)
            break
    expect(outputs).to_have_count(len(SHOWN))
    for output, what in zip(outputs.all(), SHOWN, strict=True):
        expect(output.locator(what).first).to_be_visible()
    screenshot(visitor, "inside-outputs-voila")
    visitor.context.close()
    lab_server.shut_down_kernels()
