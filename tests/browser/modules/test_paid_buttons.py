"""A paid button takes one click, on a page with two buttons."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from mediakit import Client
from mediakit.widgets.form.controller import Form
from mediakit.widgets.job.jobs import JobsWidget
from mediakit.widgets.toolkit.accessible_names import Namer
from tests.browser.geometry import middle
from tests.browser.modules.bare_page import BarePage
from tests.browser.modules.conftest import open_bare_page
from tests.browser.modules.test_jobs import OneJob
from tests.support.job_states import failed, settled, state_of
from tests.support.soak import IS_SOAK
from tests.support.widgets import finish, say, until

pytestmark = pytest.mark.browser

FEW_GAPS_MS = (50, 400, 700)
GAPS_MS = (50, 150, 300, 400, 500, 600, 700) if IS_SOAK else FEW_GAPS_MS
# The time between clicks means the same at each width.
WIDTHS_PX = {600: FEW_GAPS_MS, 1300: GAPS_MS, 1900: FEW_GAPS_MS}
# Longer than any hold of a button.
LATER_MS = 1_000
BUTTONS = """
document.body.insertAdjacentHTML("beforeend", `
<div class="mk-form" style="position:absolute;top:100px;left:20px;width:210px">
  <div id="above"></div>
  <button class="mk-paid" id="go">Generate · $0.34</button>
  <button id="free">Details</button>
</div>`);
window.clicks = { go: 0, free: 0 };
for (const button of document.querySelectorAll("button")) {
    button.style.cssText = "width:200px;height:40px";
    button.addEventListener("click", () => window.clicks[button.id]++);
}
"""


@pytest.fixture(scope="module")
def bare_page(browser: Browser, bare_address: str) -> Iterator[BarePage]:
    """Open a new page, because an installed clock stays in its page."""
    with open_bare_page(browser, bare_address) as page:
        yield page


@pytest.fixture
def page(bare: BarePage) -> Page:
    """Return a page with a paid button, a free one below it, and a stopped clock."""
    bare.page.clock.install(time=0)
    bare.page.clock.pause_at(60)
    bare.page.evaluate(BUTTONS)
    bare.show(Namer())
    return bare.page


# After a click, every paid button is placed below the pointer, over the others.
COME = """([x, y]) => {
    for (const button of document.querySelectorAll(".mk-paid")) {
        button.disabled = false;
        button.style.cssText =
            `position:fixed!important;z-index:99;left:${x - 30}px;top:${y - 15}px`;
    }
}"""
# Which button is next, as others come and go: its name, whether it pays, its middle.
BUTTON = """(buttons, at) => {
    const button = buttons[at % buttons.length];
    const { left, right, top, bottom } = button.getBoundingClientRect();
    const isPaid = button.classList.contains("mk-paid");
    return [button.innerText, isPaid, (left + right) / 2, (top + bottom) / 2];
}"""
LEAVE = """() => {
    for (const button of document.querySelectorAll(".mk-paid")) {
        button.disabled = false;
        button.style.cssText = "";
    }
}"""


def clicks(page: Page) -> Any:
    return page.evaluate("window.clicks")


def rest(page: Page, name: str) -> tuple[float, float]:
    """Let the pointer rest on a button."""
    x, y = middle(page.locator(f"#{name}"))
    page.mouse.move(x, y)
    page.clock.fast_forward(LATER_MS)
    return x, y


def test_a_slow_double_click_pays_once_and_a_click_after_a_pause_pays_again(
    page: Page,
) -> None:
    x, y = rest(page, "go")
    for number, gap_ms in enumerate(GAPS_MS, 1):
        page.mouse.click(x, y)
        page.clock.run_for(gap_ms)
        page.mouse.click(x + 1, y)
        page.clock.fast_forward(LATER_MS)
        assert clicks(page)["go"] == number, gap_ms


def test_a_free_button_takes_every_click_but_a_paid_one_that_moves_there_does_not(
    page: Page,
) -> None:
    x, y = rest(page, "free")
    page.mouse.dblclick(x, y)
    assert clicks(page) == {"go": 0, "free": 2}
    page.clock.fast_forward(LATER_MS)

    page.evaluate(
        "document.getElementById('free').addEventListener('click', () =>"
        " { document.getElementById('above').style.height = '40px'; })"
    )
    page.mouse.click(x, y)
    page.clock.run_for(100)
    assert abs(middle(page.locator("#go"))[1] - y) < 20, "the paid button is there now"
    page.mouse.click(x, y)
    page.clock.fast_forward(LATER_MS)

    assert clicks(page) == {"go": 0, "free": 3}


def test_only_a_click_on_a_new_button_is_reported_as_ignored(
    page: Page,
) -> None:
    note = page.locator(".mk-again")
    x, y = middle(page.locator("#go"))
    page.evaluate("document.getElementById('above').style.height = '80px'")
    page.mouse.move(x, y)
    page.clock.fast_forward(LATER_MS)
    page.evaluate("document.getElementById('above').style.height = ''")
    page.clock.run_for(200)
    page.mouse.click(x, y)
    assert clicks(page)["go"] == 0
    expect(note).to_have_text("Click again to pay $0.34")
    page.clock.fast_forward(3 * LATER_MS)
    expect(note).to_have_count(0)
    # The second click of a double click is ignored, too, without asking for a third.
    page.mouse.dblclick(x, y)
    assert clicks(page)["go"] == 1
    expect(note).to_have_count(0)


def test_a_paid_button_that_appears_or_changes_ignores_immediate_clicks(
    page: Page,
) -> None:
    x, y = middle(page.locator("#go"))
    page.evaluate("document.getElementById('above').style.height = '80px'")
    page.mouse.move(x, y)
    page.clock.fast_forward(LATER_MS)
    page.evaluate("document.getElementById('above').style.height = ''")
    page.clock.run_for(200)
    page.mouse.click(x, y)
    assert clicks(page)["go"] == 0
    page.clock.fast_forward(LATER_MS)
    page.mouse.move(x, y)
    page.mouse.click(x, y)

    assert clicks(page)["go"] == 1

    page.clock.fast_forward(LATER_MS)
    page.evaluate("document.getElementById('go').textContent = 'Another take'")
    page.clock.run_for(200)
    page.mouse.click(x, y)
    assert clicks(page)["go"] == 1


def test_a_button_in_the_place_of_a_paid_button_ignores_the_second_click(
    page: Page,
) -> None:
    x, y = rest(page, "go")
    page.evaluate(
        "document.getElementById('go').addEventListener('click', () =>"
        " { document.getElementById('go').style.display = 'none'; })"
    )
    for gap_ms in GAPS_MS:
        page.mouse.click(x, y)
        page.clock.run_for(gap_ms)
        page.mouse.click(x, y)
        assert clicks(page)["free"] == 0, gap_ms
        page.evaluate("document.getElementById('go').style.display = ''")
        page.clock.fast_forward(LATER_MS)
        page.mouse.move(5, 5)
        page.mouse.move(x, y)
    assert clicks(page)["go"] == len(GAPS_MS)


def test_a_key_that_is_held_down_pays_once(page: Page) -> None:
    page.locator("#go").focus()
    page.clock.fast_forward(LATER_MS)
    for _ in range(8):
        page.keyboard.press("Enter")
        page.clock.run_for(100)

    assert clicks(page)["go"] == 1


def test_nearby_buttons_have_states_and_no_tooltip_is_null(
    bare: BarePage,
) -> None:
    page = bare.page
    page.evaluate("""() => document.body.insertAdjacentHTML("beforeend", `
<div class="mk-form"><button class="widget-toggle-button mod-active" title="null"
  id="on">On</button><div class="mk-live" id="live"></div><div id="helper"></div>
</div>`)""")
    page.clock.install(time=0)
    bare.show(Namer(), into="#helper")
    page.clock.fast_forward(LATER_MS)

    expect(page.locator("#on")).to_have_attribute("aria-pressed", "true")
    expect(page.locator("#on")).to_have_attribute("title", "")
    expect(page.locator("#live")).to_have_attribute("role", "status")


def paid(bare: BarePage) -> int:
    """Return the number of the page's messages that cost money."""
    acts = [each for each in bare.heard if isinstance(each, dict)]
    return sum(
        each.get("do") == "generate"
        or "run" in each
        or each.get("act") in ("take", "retry")
        for each in acts
    )


@pytest.fixture
def form(client: Client) -> Iterator[Form]:
    """Return a form whose sweep can be run."""
    form = Form(client, client.catalog.function("text-to-video"), {"prompt": "a kite"})
    until(lambda: form.state.funds.balance is not None, form)
    say(form, "sweep", open=True)
    say(form, "sweep", vary="duration", on=True)
    until(lambda: not form.widget.form["sweep"]["off"], form)
    yield form
    finish(form)


@pytest.mark.parametrize("width_px", WIDTHS_PX if IS_SOAK else [1300])
def test_a_second_click_pays_for_nothing_after_a_click_on_any_button(
    bare: BarePage, form: Form, width_px: int
) -> None:
    page = bare.page
    # Everything is in view at each width: a click outside of it would press nothing.
    page.set_viewport_size({"width": width_px, "height": 2400})
    page.clock.install(time=0)
    page.clock.pause_at(60)
    jobs = JobsWidget()
    made = state_of("completed", id="media_1", prompt="a kite", **settled(204_000))
    jobs.show_jobs([OneJob(made), OneJob(failed("provider_error"))])
    for widget in (form.widget, jobs):
        bare.show(widget)
        widget._handle_msg = lambda msg: None  # do not carry out the action
    page.clock.fast_forward(LATER_MS)
    buttons = page.locator("button:visible:enabled:not(.mk-danger)")
    expect(page.locator(".mk-paid:visible")).to_have_count(4)
    names = set()
    for at in range(buttons.count()):
        for gap_ms in WIDTHS_PX[width_px]:
            name, is_paid, x, y = buttons.evaluate_all(BUTTON, at)
            names.add(name)
            page.mouse.move(x, y)
            page.clock.fast_forward(LATER_MS)
            before = paid(bare)
            page.mouse.click(x, y)
            page.evaluate(COME, [x, y])
            page.clock.run_for(gap_ms)
            page.mouse.click(x, y)
            assert paid(bare) - before == is_paid, (name, gap_ms)
            page.mouse.move(1, 1)
            page.evaluate(LEAVE)
            page.clock.fast_forward(LATER_MS)
    assert len(names) > 15, names
