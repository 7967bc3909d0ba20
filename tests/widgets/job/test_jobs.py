"""The widget of jobs: its messages, and a cell that waits for jobs."""

from __future__ import annotations

from typing import Any

import pytest

from mediakit import Client
from mediakit.client import AsyncJob
from mediakit.widgets.job.card import line_text, set_text, waited_html
from mediakit.widgets.job.jobs import MOST_JOBS, JobsWidget
from mediakit.widgets.job.payload import JobHost
from mediakit.widgets.job.uses import Uses
from mediakit.widgets.job.view import JobView
from mediakit.widgets.job.waiting import WaitBoard
from mediakit.widgets.toolkit.cell_outputs import CardHandle
from tests.support.job_states import NOON, Markup, failed, settled, state_of
from tests.support.widgets import in_use

DONE = state_of("completed", **settled(340_000))


def views_of(client: Client, count: int, host: JobHost | None = None) -> list[JobView]:
    states = [state_of("failed", id=f"media_{n}") for n in range(count)]
    jobs = (AsyncJob(client.components.jobs, state) for state in states)
    return [JobView(job, home=host) for job in jobs]


def sent_by(widget: JobsWidget) -> list[Any]:
    sent: list[Any] = []
    widget.send = lambda content, buffers=None: sent.append(content)
    return sent


def test_all_jobs_share_one_comm_and_a_change_sends_only_its_job(
    client: Client, messages: list[str]
) -> None:
    before, widget = in_use(), JobsWidget()
    views = views_of(client, 3)
    assert messages == ["comm_open"]
    assert in_use() == before + 1
    widget.show_jobs(views)
    sent = sent_by(widget)
    views[1]._say("Saved.")
    views[1]._say("Saved.")
    (said,) = sent
    assert said["jobs"]["order"] == ["media_0", "media_1", "media_2"]
    assert [job["note"] for job in said["jobs"]["changed"]] == ["Saved."]
    # A page that is loaded later finds all of it.
    assert [job["note"] for job in widget.get_state()["jobs"]] == ["", "Saved.", ""]
    widget.close()
    assert in_use() == before
    views[0]._say("Nobody hears it.")
    assert len(sent) == 1


def test_twelve_jobs_are_looked_at_and_drawn_and_the_others_when_asked_for(
    client: Client,
) -> None:
    widget, views = JobsWidget(), views_of(client, 112)
    widget.show_jobs(views)
    assert [job["id"] for job in widget.jobs] == [v.id for v in views[:MOST_JOBS]]
    assert widget.older_count == 100
    assert not views[MOST_JOBS]._opened
    widget._handle_custom_msg({"jobs": "all"}, [])
    assert (len(widget.jobs), widget.older_count) == (112, 0)
    widget.close()


def test_a_message_reaches_its_job_and_other_messages_are_left_to_others(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    widget, (view,) = JobsWidget(), views_of(client, 1)
    widget.show_jobs([view])
    heard: list[Any] = []
    monkeypatch.setattr(view, "act", lambda name, said, _: heard.append((name, said)))
    others: list[Any] = [
        {},
        {"job": "media_9", "act": "erase"},
        {"generate": {}},
        {"job": []},
    ]
    for said in others:
        widget._handle_custom_msg(said, [])
    assert heard == []
    asked = {"job": "media_0", "act": "erase", "ticked": True}
    widget._handle_custom_msg(asked, [])
    assert heard == [("erase", asked)]
    widget.close()


def test_which_functions_take_a_result_is_sent_once(client: Client) -> None:
    widget = JobsWidget()
    widget.show_jobs(views_of(client, 2, JobHost(uses=Uses(client.catalog))))
    titles = [title for _, title, _ in widget.job_uses["image"]]
    assert titles.count("Image upscale") == 1
    widget.close()


# -- a cell that waits ------------------------------------------------------------


def many(count: int) -> list[Any]:
    return [
        state_of("completed", id=f"media_{n}", prompt=f"kite {n}", **settled(340_000))
        for n in range(count)
    ]


def test_few_jobs_are_lines_and_many_are_one_progress_over_a_fold() -> None:
    assert line_text(DONE) == "a kite over dunes · $0.34 as estimated · ran 8.4 s"
    assert line_text(state_of("queued", prompt=None)).startswith("Text to video · ")
    few, more = Markup(waited_html(many(3))), Markup(waited_html(many(12)))
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
    bar = dict(Markup(waited_html(states)).tags[3][1])
    assert (bar["aria-valuenow"], bar["aria-valuemax"]) == ("4", "5")


def board_with(client: Client, *states: Any) -> tuple[WaitBoard, list[AsyncJob]]:
    board = WaitBoard(CardHandle(publish=lambda *data, **more: None))
    jobs = [AsyncJob(client.components.jobs, state) for state in states]
    for job in jobs:
        board.add(job)
    return board, jobs


def test_a_board_follows_its_jobs_shows_each_once_and_leaves_one_to_its_card(
    client: Client,
) -> None:
    before = in_use()
    board, (job,) = board_with(client, state_of("running", usual_runtime_s=8.0))
    assert in_use() == before + 1
    board.add(job)
    (line,) = board.widget.jobs
    assert line["texts"] == ["a kite over dunes", "$0.34 estimated"]
    assert line["clock"]["sent_ms"] == NOON.timestamp() * 1000
    job.update(DONE)
    (line,) = board.widget.jobs
    assert (line["word"], line["clock"]) == ("Completed", None)
    board.leave_to_card(job.id)
    board.add(job)
    assert board.widget.jobs == []
    board.close()
    assert not job._listeners


def test_a_board_of_many_has_one_progress(client: Client) -> None:
    board, _ = board_with(client, *many(5))
    assert board.widget.jobs_set == {
        "text": "5 jobs: 5 completed · $1.70 charged",
        "done": 5,
        "failed": False,
    }
    assert len(board.widget.jobs) == 5
    board.close()
