"""The delivery log as people see it: attempts on a time line, in real JupyterLab."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.harness import Lab, LabServer

pytestmark = pytest.mark.browser

WEBHOOKS = Path(__file__).parents[2] / "notebooks" / "02_webhooks.ipynb"
SHOWN = 9


@pytest.mark.soak
def test_a_broken_receiver_is_seen_on_a_time_line_that_stays_without_a_kernel(
    lab: Lab, lab_server: LabServer
) -> None:
    lab.open(lab_server.add_file(WEBHOOKS))
    lab.hide_sidebar()
    for cell in (1, 3, 5, 7, SHOWN):
        lab.run_cell(cell, timeout_s=60)
    line = lab.cell(SHOWN).get_by_role("img", name="attempts over")
    expect(line).to_be_visible()
    lab.screenshot("deliveries-light", lab.outputs(SHOWN))

    details = lab.cell(SHOWN).locator("summary").first
    details.focus()
    details.press("Enter")
    lab.see(SHOWN, "the receiver failed with 503")
    lab.theme("dark")
    lab.resize(800, 900)
    lab.screenshot("deliveries-dark-800", lab.outputs(SHOWN))

    saved = lab.save()
    kept = json.dumps(saved["cells"][SHOWN]["outputs"])
    assert "attempts over" in kept
    assert "whsec_" not in json.dumps(saved["cells"][:SHOWN])
    lab.shutdown_kernel()
    lab.open(lab.notebook, kernel=False)
    expect(lab.cell(SHOWN).get_by_role("img", name="attempts over")).to_be_visible()
