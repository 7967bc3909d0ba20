"""The form of every function, in real JupyterLab."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from mediakit.catalog import Catalog
from tests.browser.harness import Lab, LabServer

pytestmark = pytest.mark.browser

JOB_S = 240.0
EVERY_FORM = """
import mediakit as mk
client = mk.connect()
for function in client.catalog:
    display(client.form(function.kind))
"""


@pytest.mark.soak
def test_every_function_shows_its_form_without_an_error_in_the_console(
    lab: Lab, lab_server: LabServer
) -> None:
    lab.open(lab_server.add_notebook("forms.ipynb", [EVERY_FORM]))
    lab.resize(1280, 1200)
    lab.run_cell(0, timeout_s=JOB_S)
    buttons = lab.cell(0).get_by_role("button", name="Generate")

    expect(buttons).to_have_count(len(Catalog.default()), timeout=90_000)
    assert lab.console_errors() == []
