"""Existing draws of one function are read at once, the newest attempts alone."""

from __future__ import annotations

from mediakit.history import History, OwnedDraw, tuning
from tests.support.submissions import (
    START,
    URL,
    completed,
    failed,
    job,
    submission,
)

FUNCTION = submission().function
MINE = {"service": "sandbox", "function": FUNCTION}


def test_a_draw_has_the_values_of_its_entry(history: History) -> None:
    history.claim(submission("k1"))
    history.record_job("k1", completed(300_000))

    assert tuning.owned_draws(history, **MINE) == [
        OwnedDraw(
            draw_key="d1",
            asked_key="k1",
            take=1,
            state="settled",
            status="completed",
            error_code=None,
            job_id="media_1",
            charge_micro_usd=300_000,
            reserved_micro_usd=340_000,
            output_url=URL,
            media_type="video",
            submitted_at=START,
            finished_at=START,
            gone_at=None,
            deleted_at=None,
        )
    ]


def test_only_the_newest_attempt_at_each_take_is_read(history: History) -> None:
    kite = {"asked_key": "a kite"}
    history.claim(submission("k1", **kite))
    history.record_job("k1", failed())
    history.claim(submission("k2", take=2, **kite))
    history.claim(submission("k3", draw_key="d2"))
    history.claim(submission("k4", attempt=2, **kite))
    history.record_job("k4", job("running", "media_4"))

    found = [
        (draw.draw_key, draw.take, draw.state, draw.status, draw.job_id)
        for draw in tuning.owned_draws(history, **MINE)
    ]
    assert found == [
        ("d1", 2, "unanswered", None, None),
        ("d2", 1, "unanswered", None, None),
        ("d1", 1, "submitted", "running", "media_4"),
    ]


def test_only_this_function_of_this_service_is_read(history: History) -> None:
    history.claim(submission("k1"))
    history.claim(submission("k2", function="sandbox/r1/text-to-video"))
    history.claim(submission("k3", account="other"))
    history.claim(submission("k4", service="hosted"))

    found = [draw.asked_key for draw in tuning.owned_draws(history, **MINE)]
    assert found == ["k1", "k3"]
    assert (
        tuning.owned_draws(history, service="sandbox", function="sandbox/r9/none") == []
    )
