"""The course from its index page to an executed notebook."""

from __future__ import annotations

import shutil

import pytest

from tests.browser.harness import Lab, LabServer
from tests.browser.harness.wait import within
from tests.support.notebooks import NOTEBOOKS

pytestmark = pytest.mark.browser

CONNECT, CELL = 1, ".jp-NotebookPanel:not(.lm-mod-hidden) .jp-Cell"


@pytest.mark.soak
def test_a_click_in_the_index_opens_the_quickstart_and_all_cells_run(
    lab: Lab, lab_server: LabServer
) -> None:
    shutil.copytree(NOTEBOOKS, lab_server.root / "course")
    index = f"{lab_server.url}/lab/tree/course/README.md?token={lab_server.token}"
    lab.page.goto(index)
    link = lab.page.get_by_role("link", name="1. Quickstart", exact=True)
    with within(lab.page, "the index as a page"):
        link.wait_for(state="visible")
    lab.screenshot("course-index")

    link.click()
    lab.notebook = "course/01_quickstart.ipynb"
    with within(lab.page, "the quickstart"):
        lab.page.locator(CELL).first.wait_for(state="visible")
    lab.wait_idle()
    lab.run_all()
    lab.see(CONNECT, "no real money")
    lab.screenshot("course-quickstart")
    code = [cell for cell in lab.save()["cells"] if cell["cell_type"] == "code"]
    assert all(cell["execution_count"] for cell in code)
    outputs = [each["output_type"] for cell in code for each in cell["outputs"]]
    assert "error" not in outputs
