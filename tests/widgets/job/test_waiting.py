"""A cell that waits for jobs: a line a job, and one progress for many."""

from __future__ import annotations

from typing import Any

from mediakit import Client
from mediakit.client import AsyncJob
from mediakit.widgets.job.waiting.board import WaitBoard
from mediakit.widgets.job.waiting.html import (
    kept_html,
    line_text,
    set_html,
    set_text,
)
from mediakit.widgets.toolkit.cell_outputs import CardHandle
from tests.support.job_states import NOON, Markup, failed, settled, state_of
from tests.support.virtual_clock import VirtualClock

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
        "a kite over dunes · 0 s so far, usually 8 s · $0.34 estimated"
    )
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
