"""Wall, dashboard and studio checked by axe-core: narrow, at 200%, and dark."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.harness import Lab
from tests.browser.harness.lab import Theme
from tests.browser.test_layout import AXE, findings

pytestmark = [pytest.mark.browser, pytest.mark.soak]

CELLS = [
    "import mediakit as mk\nclient = mk.connect()\n"
    "_ = client.seed_past(days=40, jobs=30)",
    "prompts = ['a kite', 'a gull', 'a kite, sandbox:fail=content_moderation']\n"
    "results = client.sweep('text-to-image', prompt=prompts).run().wait()\n"
    "results.keep(results.frame()['job_id'][0])\nresults.gallery(cols='prompt')",
    "client.spend.dashboard()",
    "client.studio()",
]
WALL, DASHBOARD, STUDIO = 1, 2, 3
LOOKS: tuple[tuple[Theme, int, int], ...] = (
    ("light", 600, 1),
    ("dark", 1280, 1),
    ("dark", 1280, 2),
)


def test_axe_finds_nothing_serious_in_wall_dashboard_and_studio(
    lab: Lab,
) -> None:
    lab.begin("accessible.ipynb", *CELLS, height_px=1400)
    lab.run_all()
    wall = lab.cell(WALL).locator(".mk-wall")
    expect(wall.locator("img").first).to_be_visible()
    lab.see(DASHBOARD, "all of it is explained")
    studio = lab.cell(STUDIO).locator(".mk-studio")
    lab.page.evaluate(AXE.read_text())
    found = []
    for theme, width, zoom in LOOKS:
        lab.theme(theme)
        lab.resize(width, 1400)
        lab.page.evaluate("zoom => document.body.style.zoom = zoom", zoom)
        look = f"{theme}, {width} px, {100 * zoom}%"
        found += [f"wall, {look}: {each}" for each in findings(wall)]
        tile = wall.locator(".mk-wall-tile").first
        tile.focus()
        tile.press("Enter")
        sheet = lab.page.get_by_role("dialog")
        expect(sheet).to_be_visible()
        found += [f"large view, {look}: {each}" for each in findings(sheet)]
        sheet.press("Escape")
        dashboard = lab.cell(DASHBOARD).locator(".mk-month")
        found += [f"dashboard, {look}: {each}" for each in findings(dashboard)]
        lab.cell(STUDIO)
        for tab in ("Make", "History", "Spend"):
            studio.get_by_role("tab", name=tab).click()
            expect(studio.get_by_role("tabpanel", name=tab)).to_be_visible()
            found += [f"{tab}, {look}: {each}" for each in findings(studio)]
    lab.page.evaluate("document.body.style.zoom = 1")
    assert not found, "\n".join(found)
    assert lab.console_errors() == []
