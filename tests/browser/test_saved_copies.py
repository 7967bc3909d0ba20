"""The saved notebook has changes that happened after its page was reloaded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from mediakit.sandbox.server.running import RunningSandbox
from tests.browser.harness import Lab, connected

pytestmark = pytest.mark.browser

FORM = "client.form('text-to-video', prompt='a balloon', duration=3)"
SWEEP = """
plan = client.sweep("text-to-video", prompt=["a kite", "a boat"], duration=3)
run = plan.run(budget="$2")
run
"""


def html_of(cell: Mapping[str, Any]) -> str:
    outputs = (output.get("data", {}) for output in cell["outputs"])
    return "".join("".join(data.get("text/html", "")) for data in outputs)


def has_ended(notebook: Mapping[str, Any]) -> bool:
    """Return whether the page has written both copies."""
    form, sweep = (html_of(notebook["cells"][index]) for index in (1, 2))
    is_whole = "2 of 2 done" in sweep and sweep.count("<video") == 2
    return is_whole and "Completed" in form and "data:image/jpeg" in form


def test_a_job_that_ends_after_a_reload_is_in_the_saved_notebook(
    lab: Lab, sandbox: RunningSandbox
) -> None:
    lab.begin("copies.ipynb", connected(sandbox, "copies"), FORM, SWEEP)
    lab.run_cell(0)
    lab.run_cell(1)
    lab.save()
    lab.reload()
    lab.run_cell(2)
    before = html_of(lab.save()["cells"][1])
    assert "a balloon" in before
    assert "Completed" not in before
    lab.reload()

    lab.cell(1).locator("button.mk-go").click()
    lab.see(1, "as estimated")
    lab.see(2, "$0.408")
    cells = lab.save_until(has_ended)["cells"]
    saved = html_of(cells[1])
    assert saved.count("Completed") == 1
    assert "a balloon" in saved

    lab.shutdown_kernel()
    lab.open(lab.notebook, kernel=False)
    lab.see(1, "Completed")
    lab.screenshot("copies-after-a-reload", lab.cell(1))
    lab.screenshot("copies-of-a-sweep-after-a-reload", lab.cell(2))
