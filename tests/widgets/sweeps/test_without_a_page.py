"""The saved outputs of sweeps and jobs in a notebook that runs without a page."""

from __future__ import annotations

import re

import pytest

from mediakit.sandbox.server.running import RunningSandbox, Sandbox, start
from tests.support.kernels import run_cells

# One process runs the notebook, for all of them.
pytestmark = pytest.mark.xdist_group("without a page")

# A busy machine may take longer over a picture than a person would wait for it.
FIRST = """
import mediakit as mk
from mediakit.widgets.form import job_cell
from mediakit.widgets.gallery import gallery_widget
job_cell.LOOK_PATIENCE_S = job_cell.LAST_PATIENCE_S = 600
gallery_widget.PICTURES_PATIENCE_S = gallery_widget.LAST_PATIENCE_S = 600
client = mk.connect({0!r}, {1!r}, home="home")
holding = mk.connect({2!r}, {3!r}, home="held")
def swept(client, name):
    prompts = [f"{{name}} {{letter}}" for letter in "abc"]
    return client.sweep("text-to-video", prompt=prompts, duration=3).run(budget="$6")
def submitted(client, name):
    return client.submit("text-to-video", prompt=name, duration=3)
"""
CELLS = [
    *("run1 = swept(client, 'behind the wait')", "run1.wait();", "run1"),
    *("run2 = swept(client, 'before the wait')", "run2", "run2.wait();"),
    *("run3 = swept(client, 'before the awaiting')", "run3", "await run3;"),
    *("job1 = submitted(client, 'waited for')", "job1", "job1.wait();"),
    *("job2 = submitted(client, 'awaited')", "job2", "await job2;"),
    *("held_job = submitted(holding, 'held')", "held_job"),
    *("held_run = swept(holding, 'held')", "held_run"),
]


@pytest.fixture(scope="module")
def saved(
    sandbox: RunningSandbox, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, str]:
    """Run the cells, and return the HTML that the notebook keeps of each."""
    holding = start(Sandbox(tmp_path_factory.mktemp("holding"), concurrency=0))
    services = (each for of in (sandbox, holding) for each in (of.base_url, of.api_key))
    first = FIRST.format(*services)
    cells = run_cells([first, *CELLS], tmp_path_factory.mktemp("notebook"))
    holding.stop()
    return {
        cell.source: "".join(
            each.get("data", {}).get("text/html", "") for each in cell.outputs
        )
        for cell in cells
    }


@pytest.mark.parametrize("run", ["run1", "run2", "run3"])
def test_a_wall_keeps_a_poster_of_each_clip(saved: dict[str, str], run: str) -> None:
    assert saved[run].count("<video") == 3
    assert saved[run].count('poster="data:image/jpeg') == 3
    assert "3 of 3 done" in saved[run]
    assert "Run the cell again" not in saved[run]


@pytest.mark.parametrize("job", ["job1", "job2"])
def test_a_job_in_an_earlier_cell_keeps_its_poster(
    saved: dict[str, str], job: str
) -> None:
    assert 'poster="data:image/jpeg' in saved[job]
    assert "Completed" in saved[job]


@pytest.mark.parametrize("held", ["held_job", "held_run"])
def test_what_has_not_ended_says_when_it_was_written(
    saved: dict[str, str], held: str
) -> None:
    written = r"As of \d{4}-\d\d-\d\d \d\d:\d\d UTC\. Run the cell again"
    assert re.search(written, saved[held])
