"""A cell that waits for jobs: a line a job, and one progress for many."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mediakit import Client
from mediakit.client import AsyncJob
from mediakit.clock import VirtualClock
from mediakit.sandbox.server.running import RunningSandbox
from mediakit.widgets.job.waiting.board import WaitBoard
from mediakit.widgets.job.waiting.html import (
    kept_html,
    kept_text,
    line_text,
    lines_html,
    set_html,
    set_text,
)
from mediakit.widgets.toolkit.cell_outputs import CardHandle
from tests.support.job_states import HOSTILE, NOON, Markup, failed, settled, state_of
from tests.support.kernels import run_cells

DONE = state_of("completed", **settled(340_000))


def many(count: int) -> list[Any]:
    return [
        state_of("completed", id=f"media_{n}", prompt=f"kite {n}", **settled(340_000))
        for n in range(count)
    ]


def test_a_line_tells_prompt_price_and_time() -> None:
    assert line_text(DONE) == "a kite over dunes · $0.34 as estimated · ran 8.4 s"
    running = state_of("running", usual_runtime_s=8.0)
    assert line_text(running, NOON) == (
        "a kite over dunes · 0 s of usually 8 s · $0.34 estimated"
    )


def test_a_job_without_a_prompt_is_named_by_its_function() -> None:
    assert line_text(state_of("queued", prompt=None)).startswith("Text to video · ")


def test_few_jobs_are_lines_and_many_are_one_progress_over_a_fold() -> None:
    few, more = Markup(kept_html(many(3))), Markup(kept_html(many(12)))
    assert few.first("details") is None
    assert more.first("details") is not None
    assert "12 jobs: 12 completed · $4.08 charged" in more.text
    for n in range(12):
        assert f"kite {n} · " in more.text


def test_a_set_counts_what_ended_failed_and_is_not_settled() -> None:
    states = [*many(2), state_of("running"), failed("internal"), state_of("completed")]
    assert set_text(states) == (
        "5 jobs: 3 completed, 1 running, 1 failed · $0.68 charged, 3 not settled yet"
    )
    bar = dict(Markup(set_html(states)).tags[3][1])
    assert (bar["aria-valuenow"], bar["aria-valuemax"]) == ("4", "5")


def test_hostile_prompts_stay_words() -> None:
    states = [state_of("completed", id=f"media_{n}", prompt=HOSTILE) for n in range(5)]
    for html in (kept_html(states), lines_html(states)):
        assert Markup(html).first("script") is None
        assert Markup(html).first("img") is None
    assert HOSTILE in kept_text(states)


def board_with(client: Client, *states: Any) -> tuple[WaitBoard, list[AsyncJob]]:
    sent: list[Any] = []
    handle = CardHandle(publish=lambda *data, **more: sent.append(data))
    board = WaitBoard(handle, io=client.io, clock=VirtualClock(NOON))
    jobs = [AsyncJob(client.components.jobs, state) for state in states]
    for job in jobs:
        board.add(job)
    return board, jobs


def shown(board: WaitBoard) -> str:
    html = [getattr(child, "value", "") for child in board.widget.children[1:]]
    return Markup(" ".join(str(each) for each in html)).text


def test_a_board_follows_its_jobs_and_shows_each_once(client: Client) -> None:
    board, (job,) = board_with(client, state_of("running"))
    board.add(job)
    assert shown(board).count("Running") == 1
    job.update(DONE)
    assert "Completed" in shown(board)
    board.close()
    assert job._listeners == []


def test_the_lines_of_many_jobs_unfold(client: Client) -> None:
    board, _ = board_with(client, *many(5))
    assert "kite 3" not in shown(board)
    fold = board.widget.children[2]
    assert fold.description == "Show the 5 jobs"
    fold.value = True
    assert "kite 3" in shown(board)
    assert fold.description == "Hide the 5 jobs"
    board.close()


def test_a_card_in_the_same_cell_replaces_the_line(client: Client) -> None:
    board, (job,) = board_with(client, DONE)
    board.leave_to_card(job.id)
    assert shown(board).strip() == ""
    board.add(job)
    assert shown(board).strip() == ""
    board.close()


CONNECTS = (
    "import asyncio\n"
    "import mediakit as mk\n"
    "client = mk.Client({url!r}, {key!r}, home='.')\n"
    "def ask(n):\n"
    "    return client.submit('text-to-image', prompt=f'kite {{n}}', take='next')\n"
)


def connects(sandbox: RunningSandbox) -> str:
    return CONNECTS.format(url=sandbox.base_url, key=sandbox.api_key)


def texts(cell: Any) -> list[str]:
    """Return what the outputs of a cell say, without those that say nothing."""
    found = (output.get("data", {}).get("text/plain", "") for output in cell.outputs)
    return [text for text in found if text]


@pytest.mark.soak
def test_waits_leave_one_display_in_turn_and_together_and_a_value_leaves_its_card(
    sandbox: RunningSandbox, tmp_path: Path
) -> None:
    cells = [
        connects(sandbox) + "jobs = [ask(n) for n in range(12)]",
        "for job in jobs:\n    job.wait()",
        "one = client.run('text-to-image', prompt='a boat')",
        "one.wait()",
        "async def one(job):\n    return await job\n"
        "done = await asyncio.gather(*(one(ask(n)) for n in range(5)))",
        f"own = mk.AsyncClient({sandbox.base_url!r}, {sandbox.api_key!r}, home='.')\n"
        "jobs = [await own.submit('text-to-image', prompt=f'boat {n}') "
        "for n in range(5)]\n"
        "for next_one in asyncio.as_completed([job.wait() for job in jobs]):\n"
        "    await next_one\n"
        "await own.aclose()",
    ]
    _, loop, assigned, value, gathered, completed = run_cells(cells, tmp_path)
    (text,) = texts(loop)
    assert text.startswith("12 jobs: 12 completed")
    assert len(text.splitlines()) == 13
    assert len(loop.outputs) == 2
    assert "<img" not in str(loop.outputs)
    (line,) = texts(assigned)
    assert line.startswith("Completed: a boat")
    assert any("Text to image: completed" in text for text in texts(value))
    for cell in (gathered, completed):
        (text,) = texts(cell)
        assert text.startswith("5 jobs: 5 completed")
