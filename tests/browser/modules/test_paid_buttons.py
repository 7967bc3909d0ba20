"""A button that costs money takes one click, on a page with two buttons."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from mediakit.widgets.toolkit.accessible_names import Namer
from tests.browser.modules.bare_page import BarePage
from tests.browser.modules.conftest import open_bare_page
from tests.support.soak import IS_SOAK

pytestmark = pytest.mark.browser

GAPS_MS = (50, 150, 300, 400, 500, 600, 700) if IS_SOAK else (50, 400, 700)
# Longer than any hold of a button.
LATER_MS = 1_000
BUTTONS = """
document.body.insertAdjacentHTML("beforeend", `
<div class="mk-form" style="position:absolute;top:100px;left:20px;width:210px">
  <div id="above"></div>
  <button class="mk-paid" id="go" style="width:200px;height:40px">Generate</button>
  <button id="free" style="width:200px;height:40px">Details</button>
</div>`);
window.clicks = { go: 0, free: 0 };
for (const button of document.querySelectorAll("button"))
    button.addEventListener("click", () => window.clicks[button.id]++);
"""


@pytest.fixture(scope="module")
def bare_page(browser: Browser, bare_address: str) -> Iterator[BarePage]:
    """Open a page of its own: a clock that was installed stays in its page."""
    with open_bare_page(browser, bare_address) as page:
        yield page


@pytest.fixture
def page(bare: BarePage) -> Page:
    """Give a page with a paid button, a free one below it, and a clock that stands."""
    bare.page.clock.install(time=0)
    bare.page.clock.pause_at(60)
    bare.page.evaluate(BUTTONS)
    bare.show(Namer())
    return bare.page


def middle(page: Page, name: str) -> tuple[float, float]:
    box = page.locator(f"#{name}").bounding_box()
    assert box is not None
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def clicks(page: Page) -> Any:
    return page.evaluate("window.clicks")


def rest(page: Page, name: str) -> tuple[float, float]:
    """Let the pointer rest on a button."""
    x, y = middle(page, name)
    page.mouse.move(x, y)
    page.clock.run_for(LATER_MS)
    return x, y


def test_the_second_click_of_a_slow_hand_pays_nothing_and_one_after_a_while_is_meant(
    page: Page,
) -> None:
    x, y = rest(page, "go")
    for number, gap_ms in enumerate(GAPS_MS, 1):
        page.mouse.click(x, y)
        page.clock.run_for(gap_ms)
        page.mouse.click(x + 1, y)
        page.clock.run_for(LATER_MS)
        assert clicks(page)["go"] == number, gap_ms


def test_a_free_button_takes_every_click_and_pays_for_nothing_that_moves_under_it(
    page: Page,
) -> None:
    x, y = rest(page, "free")
    page.mouse.dblclick(x, y)
    assert clicks(page) == {"go": 0, "free": 2}
    page.clock.run_for(LATER_MS)

    page.evaluate(
        "document.getElementById('free').addEventListener('click', () =>"
        " { document.getElementById('above').style.height = '40px'; })"
    )
    page.mouse.click(x, y)
    page.clock.run_for(100)
    assert abs(middle(page, "go")[1] - y) < 20, "the paid button is there now"
    page.mouse.click(x, y)
    page.clock.run_for(LATER_MS)

    assert clicks(page) == {"go": 0, "free": 3}


def test_a_paid_button_that_appears_or_becomes_another_is_not_clicked_at_once(
    page: Page,
) -> None:
    x, y = middle(page, "go")
    page.evaluate("document.getElementById('above').style.height = '80px'")
    page.mouse.move(x, y)
    page.clock.run_for(LATER_MS)
    page.evaluate("document.getElementById('above').style.height = ''")
    page.clock.run_for(200)
    page.mouse.click(x, y)
    assert clicks(page)["go"] == 0
    page.clock.run_for(LATER_MS)
    page.mouse.move(x, y)
    page.mouse.click(x, y)

    assert clicks(page)["go"] == 1

    page.clock.run_for(LATER_MS)
    page.evaluate("document.getElementById('go').textContent = 'Another take'")
    page.clock.run_for(200)
    page.mouse.click(x, y)
    assert clicks(page)["go"] == 1


def test_what_comes_to_the_place_of_a_paid_button_takes_no_second_click(
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
        page.clock.run_for(LATER_MS)
        page.mouse.move(5, 5)
        page.mouse.move(x, y)
    assert clicks(page)["go"] == len(GAPS_MS)


def test_a_key_that_is_held_down_pays_once(page: Page) -> None:
    page.locator("#go").focus()
    page.clock.run_for(LATER_MS)
    for _ in range(8):
        page.keyboard.press("Enter")
        page.clock.run_for(100)

    assert clicks(page)["go"] == 1


def test_buttons_around_it_have_states_and_no_tooltip_is_called_null(
    bare: BarePage,
) -> None:
    page = bare.page
    page.evaluate("""() => document.body.insertAdjacentHTML("beforeend", `
<div class="mk-form"><button class="widget-toggle-button mod-active" title="null"
  id="on">On</button><div class="mk-live" id="live"></div><div id="helper"></div>
</div>`)""")
    page.clock.install(time=0)
    bare.show(Namer(), into="#helper")
    page.clock.run_for(LATER_MS)

    expect(page.locator("#on")).to_have_attribute("aria-pressed", "true")
    expect(page.locator("#on")).to_have_attribute("title", "")
    expect(page.locator("#live")).to_have_attribute("role", "status")
