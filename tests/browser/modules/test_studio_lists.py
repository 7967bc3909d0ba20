"""The studio's lists on a bare page: tabs, search, ticks, and messages to Python."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

import pytest
from playwright.sync_api import Locator, expect

from mediakit.catalog import Catalog
from mediakit.widgets.form.widget import FormWidget
from mediakit.widgets.gallery import Gallery, WallCell
from mediakit.widgets.studio.functions import offers_of
from mediakit.widgets.studio.studio import StudioLists
from tests.browser.harness.wait import until
from tests.browser.modules.bare_page import BarePage

pytestmark = pytest.mark.browser

HOSTILE = "<img src=x onerror='window.canary=1'>"
AXE = files("axe_playwright_python") / "axe.min.js"
FINDINGS = """async (root) => (await axe.run(root, { resultTypes: ["violations"] }))
    .violations.filter(each => ["serious", "critical"].includes(each.impact))
    .map(each => `${each.id}: ${each.nodes[0].html}`)"""
HEARS = """() => {
    window.keys = [];
    document.addEventListener("keydown", event => window.keys.push(event.key));
}"""
QUERY = (
    *("text", "kind", "status", "project", "sweep", "tag"),
    *("rating", "keep", "since", "until"),
)


def row(number: int, **changes: Any) -> dict[str, Any]:
    plain = dict.fromkeys(("project", "problem", "thumb"), "")
    return {
        **plain,
        "number": number,
        "title": f"a kite {number}",
        "function": "Text to video",
        "settings": "3 s · 720p",
        "media": "video",
        "state": "Completed",
        "tone": "good",
        "charge": "$0.204",
        "date": "2026-11-27 03:10",
        "rating": 0,
        "rates": True,
        "kept": False,
        "tags": [],
        "job": f"media_{number}",
        **changes,
    }


def state(place: str, **changes: Any) -> dict[str, Any]:
    return {
        "service": "Sandbox",
        "place": place,
        "search": "",
        "form": False,
        "facts": [{"amount": "$88.09", "label": "balance", "exact": "$88.094164"}],
        "said": "",
        "trouble": "",
        "query": {**dict.fromkeys(QUERY, ""), "order": "newest"},
        "choices": {"kinds": [], "projects": [], "sweeps": [], "tags": [["b", "b"]]},
        "rows": [row(n) for n in range(1, 6)],
        "page": "5 jobs",
        "has_previous": False,
        "has_next": True,
        "selected": [],
        "selection": "",
        "counts": {"compare": 0, "save": 0, "erase": 0},
        "question": "",
        "kept": 0,
        "opened": None,
        "comparing": False,
        **changes,
    }


def show(bare: BarePage, **given: Any) -> tuple[StudioLists, Locator]:
    html = "<main><div class='mk-form mk-studio' id='root'></div></main>"
    put = "html => document.body.insertAdjacentHTML('beforeend', html)"
    bare.page.evaluate(put, html)
    functions = [vars(offer) for offer in offers_of(Catalog.default())]
    lists = StudioLists(functions=functions, state=state(**given))
    return lists, bare.show(lists, into="#root")


def test_functions_are_found_by_words_and_chosen(bare: BarePage) -> None:
    _, el = show(bare, place="Make")
    expect(el.locator(".mk-st-card")).to_have_count(len(Catalog.default()))
    box = el.get_by_label("What do you want to make?")
    box.fill("submarine")
    expect(el.get_by_text("No matching functions. Try fewer words.")).to_be_visible()
    box.fill("Words SOUND")
    expect(el.get_by_role("heading", level=4)).to_have_text(["Make a video from words"])
    el.get_by_role("button", name="Text to video").click()
    path = Catalog.default().function("text-to-video").path
    assert bare.heard[-1] == {"act": "choose", "path": path}


def test_drop_downs_of_studio_and_wall_keep_their_arrows_beside_a_form(
    bare: BarePage,
) -> None:
    _, el = show(bare, place="History")
    wall = bare.show(Gallery([WallCell(0)]).widget, into="#root")
    wall.get_by_role("button", name="Filter").click()
    bare.page.add_style_tag(content=FormWidget._css)
    for select in (el.get_by_label("State"), wall.get_by_label("Status")):
        arrow = select.evaluate("box => getComputedStyle(box).backgroundImage")
        assert arrow.count("linear-gradient") == 2


def test_tabs_are_moved_by_arrows_and_no_key_leaves_the_studio(bare: BarePage) -> None:
    lists, el = show(bare, place="Make")
    bare.page.evaluate(HEARS)
    el.get_by_role("tab", name="Make").focus()
    bare.page.keyboard.press("ArrowRight")
    expect(el.get_by_role("tab", name="History")).to_be_focused()
    assert bare.heard[-1] == {"act": "go", "place": "History"}
    lists.state = state("History")
    expect(el.get_by_role("tab", name="History", selected=True)).to_be_visible()
    expect(el.get_by_role("tabpanel", name="History")).to_be_visible()
    places = (
        el.get_by_role("tab", name="History"),
        el.get_by_label("Search history"),
        el.get_by_role("checkbox").nth(1),
        el.get_by_role("button", name="Open").first,
    )
    for place in places:
        place.focus()
        for key in "axdzsm05":
            bare.page.keyboard.press(key)
    assert bare.page.evaluate("() => window.keys") == []


def test_ticks_ranges_filters_and_questions_are_sent(bare: BarePage) -> None:
    lists, el = show(bare, place="History")
    ticks = el.get_by_role("checkbox", name="Select a kite")
    ticks.nth(0).click()
    assert bare.heard[-1] == {"act": "select", "numbers": [1], "on": True}
    ticks.nth(2).click(modifiers=["Shift"])
    assert bare.heard[-1] == {"act": "select", "numbers": [1, 2, 3], "on": True}
    el.get_by_text("More filters").click()
    el.get_by_role("combobox", name="Rating").select_option("4")
    until(bare.page, lambda: bare.heard[-1].get("query", {}).get("rating") == "4")
    el.get_by_role("button", name="Select all that match").click()
    assert bare.heard[-1] == {"act": "select_match"}
    chosen = {"selected": [1, 2], "selection": "2 selected · $0.408 charged"}
    counts = {"compare": 2, "save": 2, "erase": 2}
    lists.state = state("History", question="erase", kept=1, counts=counts, **chosen)
    expect(el).to_contain_text("You marked 1 of them to keep.")
    expect(el.get_by_role("checkbox", checked=True)).to_have_count(2)
    el.get_by_role("button", name="Yes, erase 2 results").click()
    assert bare.heard[-1] == {"act": "all", "name": "erase", "folder": "results"}


def test_results_are_rated_in_the_list_by_mouse_and_by_keys(bare: BarePage) -> None:
    rows = [row(1, rating=2), row(2, rates=False, state="Failed")]
    lists, el = show(bare, place="History", rows=rows)
    stars = el.get_by_role("slider", name="Rating of a kite 1")
    expect(stars).to_have_text("★★☆☆☆")
    expect(el.get_by_role("slider")).to_have_count(1)
    stars.locator("span").nth(3).click()
    assert bare.heard[-1] == {"act": "rate", "number": 1, "rating": 4}
    stars.locator("span").nth(1).click()  # the same again takes it back
    assert bare.heard[-1] == {"act": "rate", "number": 1, "rating": 0}
    for key, rating in {"5": 5, "0": 0, "ArrowRight": 3, "ArrowLeft": 1}.items():
        stars.press(key)
        assert bare.heard[-1] == {"act": "rate", "number": 1, "rating": rating}
    lists.state = state("History", rows=[row(1, rating=5)])
    expect(stars).to_have_attribute("aria-valuetext", "5 of 5")


@pytest.mark.parametrize("width", [600, 1300])
def test_the_lists_are_accessible_and_text_from_outside_stays_text(
    bare: BarePage, width: int
) -> None:
    bare.page.set_viewport_size({"width": width, "height": 900})
    rows = [row(1, title=HOSTILE, project=HOSTILE, tags=[HOSTILE]), row(2, job="")]
    _, el = show(bare, place="History", rows=rows, trouble=HOSTILE)
    expect(el.locator(".mk-st-prompt").first).to_have_text(HOSTILE)
    expect(el.get_by_role("button", name="Open").nth(1)).to_be_disabled()
    assert not bare.page.evaluate("() => window.canary")
    bare.page.evaluate(AXE.read_text())
    assert bare.page.locator("#root").evaluate(FINDINGS) == []
    fits = "() => document.documentElement.scrollWidth <= innerWidth"
    assert bare.page.evaluate(fits)


@pytest.mark.parametrize("place", ["Make", "History"])
def test_the_lists_look_the_same_beside_any_other_widget(
    bare: BarePage, place: str
) -> None:
    _, el = show(bare, place=place)
    assert bare.redrawn(el, "studio.css") == {}
