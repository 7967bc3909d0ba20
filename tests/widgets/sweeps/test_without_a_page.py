"""The saved outputs of a sweep in a notebook that runs without a page."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from mediakit.sandbox.server.running import RunningSandbox, Sandbox, start
from tests.support.kernels import run_cells

RUN = """
import mediakit as mk
client = mk.connect({url!r}, {key!r}, home="home")
plan = client.sweep("text-to-video", prompt=["a", "b", "c"], duration=3)
run = plan.run(budget="$6")
"""
CLIP = """
job = client.submit("text-to-video", prompt="a clip", duration=3)
job
"""


def html_of(cell: Any) -> str:
    return "".join(each["data"].get("text/html", "") for each in cell.outputs)


@pytest.mark.parametrize(
    "cells",
    [["run.wait();", "run"], ["run", "run.wait();"], ["run", "await run;"]],
    ids=["behind the wait", "before the wait", "before the awaiting"],
)
def test_a_wall_keeps_a_poster_of_each_clip(
    sandbox: RunningSandbox, tmp_path: Path, cells: list[str]
) -> None:
    first = RUN.format(url=sandbox.base_url, key=sandbox.api_key)
    ran = run_cells([first, *cells], tmp_path)

    html = html_of(ran[1 + cells.index("run")])
    assert html.count("<video") == 3
    assert html.count('poster="data:image/jpeg') == 3
    assert "3 of 3 done" in html
    assert "Run the cell again" not in html


@pytest.mark.parametrize("wait", ["job.wait();", "await job;"])
def test_a_job_in_an_earlier_cell_keeps_its_poster(
    sandbox: RunningSandbox, tmp_path: Path, wait: str
) -> None:
    first = RUN.format(url=sandbox.base_url, key=sandbox.api_key)
    _, clip, _ = run_cells([first, CLIP, wait], tmp_path)

    html = html_of(clip)
    assert 'poster="data:image/jpeg' in html
    assert "Completed" in html


def test_what_has_not_ended_says_when_it_was_written(tmp_path: Path) -> None:
    stands = start(Sandbox(tmp_path / "data", speed=0.001))
    first = RUN.format(url=stands.base_url, key=stands.api_key)
    _, clip, wall = run_cells([first, CLIP, "run"], tmp_path)
    stands.stop()

    day = f"As of {datetime.now(UTC):%Y-%m-%d}"
    for cell in (clip, wall):
        assert day in html_of(cell)
        assert "Run the cell again" in html_of(cell)
