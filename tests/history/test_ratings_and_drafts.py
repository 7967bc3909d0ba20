"""Other data in a history: parameters, ratings and drafts of forms."""

from __future__ import annotations

import asyncio
import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from mediakit.errors import InputError
from mediakit.history import History, Judgement, Preference, forms, ratings
from mediakit.history.forms import DRAFTS_KEPT_FOR
from tests.support.frames import TEXT
from tests.support.submissions import (
    HERE,
    START,
    completed,
    failed,
    job,
    submission,
)
from tests.support.virtual_clock import VirtualClock

MINE: dict[str, Any] = {**HERE}


def frame_of(history: History, *bodies: dict[str, Any]) -> pd.DataFrame:
    """Return the frame of requests with these bodies, the first in its first row."""
    for number, body in reversed(list(enumerate(bodies))):
        name = f"k{number}"
        history.claim(submission(name, draw_key=name, body=json.dumps(body).encode()))
    return history.frame(params=True)


def listed(column: Any) -> list[Any]:
    return [None if pd.isna(value) else value for value in column]


@pytest.mark.parametrize("place", ["sqlite", "postgres"], indirect=True)
def test_each_parameter_is_a_typed_column_of_its_own(history: History) -> None:
    frame = frame_of(
        history,
        {"duration": 5, "cfg": 0.5, "audio": True, "resolution": "720p"},
        {"duration": 10, "cfg": 1, "text": "x" * 65, "images": ["a", {"b": 1}]},
        {"seed": 2**63, "audio": None},
    )
    assert listed(frame["duration"]) == [5, 10, None]
    assert listed(frame["cfg"]) == [0.5, 1.0, None]
    assert listed(frame["audio"]) == [True, None, None]
    assert listed(frame["resolution"]) == ["720p", None, None]
    assert listed(frame["text"]) == [None, "x" * 65, None]
    assert listed(frame["images"]) == [None, '["a", {"b": 1}]', None]
    assert listed(frame["seed"]) == [None, None, float(2**63)]
    kinds = {name: str(frame[name].dtype) for name in frame.columns[-7:]}
    assert kinds == {
        "audio": "boolean",
        "cfg": "float64",
        "duration": "Int64",
        "images": TEXT,
        "resolution": "category",
        "seed": "float64",
        "text": TEXT,
    }


def test_a_parameter_with_both_numbers_and_texts_is_text(
    history: History,
) -> None:
    frame = frame_of(history, {"duration": 5}, {"duration": "auto"})
    assert listed(frame["duration"]) == ["5", "auto"]
    assert str(frame["duration"].dtype) == "category"


def test_a_parameter_with_the_name_of_a_column_gets_another_one(
    history: History,
) -> None:
    frame = frame_of(
        history, {"take": 7, "rating": "PG", "param_take": 8, "prompt": "a kite"}
    )
    assert listed(frame["take"]) == [1]
    assert (listed(frame["param_take"]), listed(frame["param_param_take"])) in (
        ([7], [8]),
        ([8], [7]),
    )
    assert listed(frame["param_rating"]) == ["PG"]
    assert "param_prompt" not in frame.columns  # the prompt is a column already


def test_the_webhook_url_is_not_a_column(history: History) -> None:
    frame = frame_of(history, {"webhook_url": "https://a.example/?token=secret"})
    assert "webhook_url" not in frame.columns
    assert "secret" not in frame.to_csv()


def test_runtime_and_ratings_are_columns_beside_the_parameters(
    history: History, clock: VirtualClock
) -> None:
    history.claim(submission("k1", sweep="3f2a"))
    history.claim(submission("k2", draw_key="d2"))
    history.record_job("k1", job("running"))
    asyncio.run(clock.advance(12.5))
    history.record_job("k1", completed())
    ratings.judge(history, **MINE, job_id="media_1", rating=4, keep=True)

    frame = history.frame(params=True).set_index("key")
    names = ["runtime_s", "rating", "keep", "sweep"]
    assert listed(frame[names].loc["k1"]) == [12.5, 4, True, "3f2a"]
    assert listed(frame[names].loc["k2"]) == [None] * 4
    kinds = {name: str(frame[name].dtype) for name in ("runtime_s", "rating", "keep")}
    assert kinds == {"runtime_s": "float64", "rating": "Int64", "keep": "boolean"}


# -- ratings, tags and notes -----------------------------------------------------------


def later(clock: VirtualClock, seconds: float) -> None:
    asyncio.run(clock.advance(seconds))


def test_a_judgement_is_read_unchanged(history: History) -> None:
    said = ratings.judge(
        history,
        **MINE,
        job_id="media_1",
        rating=4,
        keep=True,
        tags=["sharp", " warm ", "sharp"],
        note="the best so far\0",
        rater="Ada",
    )
    assert said == Judgement(
        "media_1", 4, True, ("sharp", "warm"), "the best so far\ufffd", "Ada", START
    )
    assert ratings.judgements(history, **MINE) == [said]


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"rating": 0}, "rating must be a whole number from 1 to 5, or null"),
        ({"rating": 6}, "rating must be"),
        ({"rating": True}, "rating must be"),
        ({"rating": 4.5}, "rating must be"),
        ({"keep": 1}, "keep must be true or false"),
        ({"tags": "sharp"}, "tags must be a list of at most 20 items"),
        ({"tags": ["x" * 41]}, "of 1 to 40 characters"),
        ({"tags": [" "]}, "tags[0] must be"),
        ({"tags": [5]}, "tags[0] must be"),
        ({"tags": 5}, "tags must be"),
        ({"tags": [str(n) for n in range(21)]}, "tags must be"),
        ({"note": "x" * 2_001}, "text of at most 2,000 characters"),
        ({"note": None}, "note must be"),
        ({"rater": 5, "rating": 4}, "rater must be"),
        ({"job_id": "", "rating": 4}, "job_id must be"),
    ],
)
def test_an_invalid_value_is_refused_with_a_sentence_and_changes_nothing(
    wrong: dict[str, Any], sentence: str, tmp_path: Path
) -> None:
    with History(tmp_path / "history.db") as history:
        before = ratings.judge(history, **MINE, job_id="media_1", rating=3)
        with pytest.raises(InputError) as caught:
            ratings.judge(history, **MINE, **{"job_id": "media_1", **wrong})
        assert sentence in str(caught.value)
        assert ratings.judgements(history, **MINE) == [before]


def test_comparisons_are_read_in_the_order_they_were_made(
    history: History, clock: VirtualClock
) -> None:
    ratings.prefer(history, **MINE, winner="media_2", loser="media_1", rater="Ada")
    later(clock, 1)
    ratings.prefer(history, **MINE, winner="media_1", loser="media_2", tie=True)
    later(clock, 1)
    ratings.prefer(history, **MINE, winner="media_2", loser="media_1", rater="Ada")
    ratings.prefer(history, service="sandbox", account="other", winner="a", loser="b")

    found = ratings.preferences(history, **MINE)
    assert found[0] == Preference("media_2", "media_1", False, "Ada", START)
    assert [(each.winner, each.tie) for each in found] == [
        ("media_2", False),
        ("media_1", True),
        ("media_2", False),
    ]


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"loser": "media_1"}, "loser must be a different job"),
        ({"winner": None}, "winner must be text"),
        ({"tie": 1}, "tie must be"),
        ({"rater": "x" * 101}, "text of at most 100 characters"),
    ],
)
def test_a_comparison_is_of_two_jobs(
    wrong: dict[str, Any], sentence: str, tmp_path: Path
) -> None:
    with History(tmp_path / "history.db") as history:
        with pytest.raises(InputError) as caught:
            ratings.prefer(
                history, **{**MINE, "winner": "media_1", "loser": "media_2", **wrong}
            )
        assert sentence in str(caught.value)
        assert ratings.preferences(history, **MINE) == []


def test_a_failed_job_has_nothing_to_rate_or_keep(history: History) -> None:
    history.claim(submission("k1"))
    history.record_job("k1", failed())
    for wrong in ({"rating": 4}, {"keep": True}, {"keep": True, "note": "blurred"}):
        with pytest.raises(InputError, match="this one failed"):
            ratings.judge(history, **MINE, job_id="media_1", **wrong)
    assert ratings.judgements(history, **MINE) == []

    said = ratings.judge(
        history, **MINE, job_id="media_1", rating=None, keep=False, note="too long"
    )
    assert ratings.judgements(history, **MINE) == [said]


def test_judgements_of_any_number_of_jobs_are_read(
    history: History, clock: VirtualClock
) -> None:
    for job_id in ("media_2400", "media_7", "media_none"):
        ratings.judge(history, **MINE, job_id=job_id, rating=3)
        later(clock, 1)
    ratings.judge(
        history, service="sandbox", account="other", job_id="media_7", rating=1
    )

    found = ratings.judgements(
        history, **MINE, job_ids=[f"media_{n}" for n in range(2_500)]
    )
    assert [each.job_id for each in found] == ["media_2400", "media_7"]
    assert ratings.judgements(history, **MINE, job_ids=[]) == []
    assert len(ratings.judgements(history, **MINE)) == 3


# -- drafts of forms -------------------------------------------------------------------


MY_FORM, OTHER_FORM = (
    '["", "/home/me/a.ipynb", "cell-1"]',
    '["", "/home/me/b.ipynb", "cell-1"]',
)


def keys(entries):
    return [entry.key for entry in entries]


def test_a_form_finds_only_its_own_requests_newest_first(history):
    for number in range(4):
        origin = OTHER_FORM if number == 2 else MY_FORM
        history.claim(submission(f"k{number}"), origin=origin)
    history.claim(submission("of no form"))

    assert keys(forms.asked_from(history, MY_FORM, limit=9)) == ["k3", "k1", "k0"]
    assert keys(forms.asked_from(history, MY_FORM, limit=2)) == ["k3", "k1"]
    second = forms.asked_from(history, MY_FORM, limit=9)[1]
    after_a_reset = forms.asked_from(history, MY_FORM, limit=9, after=second.number)
    assert keys(after_a_reset) == ["k3"]
    assert keys(forms.asked_from(history, OTHER_FORM, limit=9)) == ["k2"]
    assert forms.asked_from(history, "elsewhere", limit=9) == []


def test_a_claim_of_an_existing_key_does_not_change_its_form(history):
    history.claim(submission("k0"), origin=MY_FORM)
    assert not history.claim(submission("k0"), origin=OTHER_FORM)[1]
    assert forms.asked_from(history, OTHER_FORM, limit=9) == []


def test_drafts_that_are_unused_for_a_year_are_deleted(tmp_path):
    path = tmp_path / "history.db"
    with History(path, clock=VirtualClock(START)) as history:
        forms.save_draft(history, "unused", "{}")
        forms.save_draft(history, "used", "{}")
    later = VirtualClock(START + DRAFTS_KEPT_FOR)
    with History(path, clock=later) as history:
        forms.save_draft(history, "used", "{}")
        assert forms.draft(history, "unused") == "{}"
    later = VirtualClock(START + DRAFTS_KEPT_FOR + timedelta(seconds=1))
    with History(path, clock=later) as history:
        forms.save_draft(history, "new", "{}")
        assert forms.draft(history, "unused") is None
        assert forms.draft(history, "used") == "{}"
