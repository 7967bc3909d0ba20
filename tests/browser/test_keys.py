"""Keys and the mouse wheel in text boxes: none pays, all keep their usual effect."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, expect

from mediakit.sandbox.server.running import RunningSandbox
from tests.browser.geometry import middle
from tests.browser.harness import COUNT, Lab, connected
from tests.browser.harness.wait import rest

pytestmark = pytest.mark.browser

FORM = 'client.form("text-to-video", prompt="a kite, {}", duration=3)'
WALL = """
run = client.sweep("text-to-video", prompt=["a", "b"], duration=3).run(budget="$1")
run.wait()
run
"""
PLAN = 'client.sweep("text-to-video", prompt=["a", "b", "never sent"], duration=3)'
TIMELINE = """
client.form("compose-video", tracks=[dict(id="stills", type="image", keyframes=[
    dict(timestamp=0, duration=2000, url="https://a.example/a.png")])])
"""
CARD = 'client.job(client.history.frame()["job_id"].iloc[0])'
DASHBOARD = "client.spend.dashboard()"
PICTURES = (
    'client.form("keyframes", transition_durations_s=[3], '
    'images=["https://a.example/a.png", "https://a.example/b.png"])'
)
# The focusable elements of an output.
PLACES = (
    "textarea, select, button, summary, a[href], video, "
    "input:not([type=hidden]):not([type=file]), [tabindex], [contenteditable=true]"
)
# The numbers of what is visible: all with a price, and the first of each other kind.
TRIED = """places => {
    const kinds = new Set();
    return places.flatMap((place, number) => {
        if (!place.checkVisibility({ visibilityProperty: true })) return [];
        if (!place.getClientRects().length) return [];
        const look = place.getAttribute("class");
        const kind = [place.localName, place.type, look].join(" ");
        const isTried = place.textContent.includes("$") || !kinds.has(kind);
        kinds.add(kind);
        return isTried ? [number] : [];
    });
}"""


def opened(lab: Lab, sandbox: RunningSandbox, name: str, *cells: str) -> Locator:
    """Open a notebook with a form and other cells, run it, and return the form."""
    first = connected(sandbox, name)
    lab.begin(f"{name}.ipynb", first, FORM.format(name), COUNT, *cells)
    lab.run_all()
    return lab.cell(1).locator(".mk-form")


def press_long(lab: Lab, *keys: str) -> None:
    """Hold keys down; the last one repeats."""
    for key in keys:
        lab.page.keyboard.down(key)
    for _ in range(8):
        lab.page.wait_for_timeout(150)
        lab.page.keyboard.down(keys[-1])
    for key in reversed(keys):
        lab.page.keyboard.up(key)


def sweep_boxes(form: Locator) -> list[Locator]:
    """Open the sweep of a form; return its boxes."""
    form.get_by_role("button", name="Sweep…").click()
    sweep = form.locator(".mk-sweep")
    sweep.get_by_role("checkbox", name="Prompt").check()
    boxes = [sweep.locator("textarea").first]
    boxes += [sweep.get_by_label(name, exact=True) for name in ("Takes", "Budget")]
    for box in boxes:
        expect(box).to_be_visible()
    return boxes


def test_in_a_form_only_enter_on_the_button_pays_and_it_pays_once(
    lab: Lab, sandbox: RunningSandbox
) -> None:
    form = opened(lab, sandbox, "keys")
    go = form.locator("button.mk-go").first
    expect(go).to_have_text("Generate · $0.204")
    places = [
        form.get_by_label("Prompt").first,
        form.get_by_role("spinbutton").first,
        form.get_by_role("slider").first,
        form.get_by_role("button", name="720p"),
        *sweep_boxes(form),
    ]
    for place in places:
        place.focus()
        for modifier in ("Control", "Meta", "Shift"):
            press_long(lab, modifier, "Enter")
    rest(lab.page)
    expect(form.locator(".mk-job")).to_have_count(0)
    assert lab.jobs(2) == 0

    go.focus()
    rest(lab.page)
    press_long(lab, "Enter")
    expect(form.locator(".mk-job")).to_have_count(1)
    expect(go).to_have_text("Another take · $0.204")
    go.focus()
    rest(lab.page)  # it has been called so for a while
    lab.page.keyboard.down("Enter")
    for _ in range(60):  # until long after the button can be pressed again
        lab.page.wait_for_timeout(100)
        lab.page.keyboard.down("Enter")
    lab.page.keyboard.up("Enter")
    expect(form.locator(".mk-job")).to_have_count(2)
    rest(lab.page)
    assert lab.jobs(2) == 2


def test_control_enter_saves_a_note_of_the_wall_and_no_key_of_a_tile_pays(
    lab: Lab, sandbox: RunningSandbox
) -> None:
    form = opened(lab, sandbox, "notes")
    values, _, budget = sweep_boxes(form)
    values.fill("a red kite\na blue kite\na black kite")
    budget.fill("$0.5")
    run = form.locator(".mk-sweep button.mk-go")
    expect(run).to_be_enabled()
    rest(lab.page)
    run.click()
    wall = form.locator(".mk-wall")
    unsent = wall.locator(".mk-wall-tile", has=lab.page.get_by_text("(R)"))
    expect(unsent).to_have_count(1)
    expect(wall.locator("video")).to_have_count(2)

    tile = wall.locator(".mk-wall-tile").first
    tile.focus()
    for save in ("Control+Enter", "Shift+Enter"):
        lab.page.keyboard.press("n")
        lab.page.keyboard.type("best ")
        lab.page.keyboard.press(save)
        expect(tile.locator("input")).to_have_count(0)
        expect(tile).to_contain_text("best")
        expect(tile).to_be_focused()
    for key in ("Control+Enter", "Control+Enter", "Escape"):
        lab.page.keyboard.press(key)
    unsent.focus()
    press_long(lab, "r")
    expect(unsent.get_by_role("button", name="(R)")).to_be_focused()
    rest(lab.page)
    lab.screenshot("keys-wall", form)
    assert lab.jobs(2) == 2


def test_control_or_command_with_enter_pays_nowhere_in_any_output(
    lab: Lab, sandbox: RunningSandbox
) -> None:
    cells = [WALL, CARD, PLAN, "client.studio()", TIMELINE, DASHBOARD, PICTURES]
    form = opened(lab, sandbox, "nowhere", *cells)
    expect(form.locator("button.mk-go").first).to_have_text("Generate · $0.204")
    sweep_boxes(form)
    wall = lab.cell(3).locator(".mk-wall")
    expect(wall.locator("video")).to_have_count(2)
    tile = wall.locator(".mk-wall-tile").first
    tile.focus()
    lab.page.keyboard.press("a")
    expect(wall.get_by_role("button", name="Another take")).to_be_visible()
    expect(lab.cell(4).locator(".mk-job button.mk-paid")).to_have_count(1)
    expect(lab.cell(5).locator("button.mk-paid")).to_have_count(1)
    expect(lab.cell(6).locator(".mk-studio")).to_be_visible()
    expect(lab.cell(7).locator(".mk-timeline")).to_be_visible()
    expect(lab.cell(8).locator(".mk-sp-verdict:visible")).to_have_count(1)
    bought = lab.jobs(2)
    tried = {index: keys_tried(lab, index) for index in (1, 3, 4, 5, 6, 7, 8, 9)}
    rest(lab.page)
    lab.wait_idle()
    assert lab.jobs(2) == bought == 2
    for index, names in tried.items():
        paid = [name for name in names if "$" in name]
        assert names, index
        assert paid or index in (6, 8, 9), names


def keys_tried(lab: Lab, index: int) -> list[str]:
    """Press both keys on each element of an output; return their names."""
    places = lab.outputs(index).locator(PLACES)
    names = []
    # A shortcut of JupyterLab may run the cell, which creates its elements again.
    for number in places.evaluate_all(TRIED):
        place = places.nth(number)
        if not (place.count() and place.is_visible()):
            continue
        names.append(place.evaluate("e => { e.focus(); return e.textContent; }"))
        if "$" in names[-1]:
            rest(lab.page)
        for key in ("Control+Enter", "Meta+Enter"):
            lab.page.keyboard.press(key)
    return names


def test_the_wheel_scrolls_the_page_and_leaves_every_number_as_it_is(
    lab: Lab, sandbox: RunningSandbox
) -> None:
    form = opened(lab, sandbox, "wheel", "\n" * 120)
    go = form.locator("button.mk-go").first
    expect(go).to_have_text("Generate · $0.204")
    _, takes, budget = sweep_boxes(form)
    takes.fill("2")
    budget.fill("5")
    scroller = ".jp-WindowedPanel-outer"
    top = f"() => document.querySelector('.jp-NotebookPanel {scroller}').scrollTop"
    for box in (form.get_by_role("spinbutton").first, takes, budget):
        box.click()
        value, before = box.input_value(), lab.page.evaluate(top)
        lab.page.mouse.move(*middle(box))
        for way in (90, 90, -90):
            last = lab.page.evaluate(top)
            lab.page.mouse.wheel(0, way)
            lab.page.wait_for_function(f"last => ({top})() !== last", arg=last)
        assert box.input_value() == value
        assert lab.page.evaluate(top) > before
    expect(go).to_have_text("Generate · $0.204")


def test_undo_and_redo_are_the_browsers_own_in_every_box(
    lab: Lab, sandbox: RunningSandbox
) -> None:
    form = opened(lab, sandbox, "undo", "client.studio()", WALL, PICTURES)
    studio = lab.cell(3).locator(".mk-studio")
    wall = lab.cell(4).locator(".mk-wall")
    wall.get_by_role("button", name="Filter").click()
    boxes = [
        form.get_by_label("Prompt").first,
        form.get_by_role("spinbutton").first,
        *sweep_boxes(form),
        studio.get_by_role("searchbox").first,
        wall.get_by_role("searchbox").first,
    ]
    for box in boxes:
        box.click()
        undone_and_redone(lab, box)
    tile = wall.locator(".mk-wall-tile").first
    for key in ("n", "t"):
        rest(lab.page)  # the wall is drawn again after a search
        tile.focus()
        expect(tile).to_be_focused()
        lab.page.keyboard.press(key)
        undone_and_redone(lab, tile.locator("input"))
        lab.page.keyboard.press("Escape")
    for path in lab.cell(5).locator(".mk-media input:not([type=file])").all():
        path.click()
        undone_and_redone(lab, path)
    lengths = lab.cell(5).locator(".mk-field", has_text="Duration of each transition")
    length = lengths.last.locator("input").first
    length.click()
    undone_and_redone(lab, length)


def undone_and_redone(lab: Lab, box: Locator) -> None:
    """Overwrite a box, then undo and redo it."""
    expect(box).to_be_focused()
    before = box.input_value()
    lab.page.keyboard.press("Control+a")
    lab.page.keyboard.type("7")
    expect(box).to_have_value("7")
    for again in ("Control+Shift+z", "Control+y"):
        lab.page.keyboard.press("Control+z")
        if before:
            lab.page.keyboard.press("Control+z")
        expect(box).to_have_value(before)
        lab.page.keyboard.press(again)
        lab.page.keyboard.press(again)
        expect(box).to_have_value("7")
    lab.page.keyboard.press("Control+z")
    lab.page.keyboard.press("Control+z")


def test_shift_enter_edits_no_prompt_and_control_s_saves_the_notebook_from_it(
    lab: Lab, sandbox: RunningSandbox
) -> None:
    form = opened(lab, sandbox, "saves")
    prompt = form.get_by_label("Prompt").first
    values, *_ = sweep_boxes(form)
    for box in (prompt, values):
        box.click()
        lab.page.keyboard.press("Control+End")
        before = box.input_value()
        for key in ("Shift+Enter", "Control+Enter", "Alt+Enter"):
            lab.page.keyboard.press(key)
        expect(box).to_have_value(before)
        lab.page.keyboard.press("Enter")
        expect(box).to_have_value(f"{before}\n")
        lab.page.keyboard.press("Backspace")
    prompt.click()
    dirty = "() => window.jupyterapp.shell.currentWidget.context.model.dirty"
    model = "window.jupyterapp.shell.currentWidget.context.model"
    lab.page.evaluate(f"() => {{ {model}.dirty = true; }}")
    lab.page.keyboard.press("Control+s")
    lab.page.wait_for_function(f"() => !({dirty})()")
    expect(prompt).to_be_focused()
    lab.page.keyboard.type(" kites")
    expect(prompt).to_have_value("a kite, saves kites")
