"""Ratings, tags, notes and comparisons are kept by job, and the last value counts."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mediakit.clock import VirtualClock
from mediakit.errors import InputError
from mediakit.history import History, Judgement, Preference, tuning
from tests.support.submissions import HERE, START

MINE: dict[str, Any] = {**HERE}
IDS = [f"media_{n}" for n in range(2_500)]


def later(clock: VirtualClock, seconds: float) -> None:
    asyncio.run(clock.advance(seconds))


def test_a_judgement_is_read_unchanged(history: History) -> None:
    said = tuning.judge(
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
    assert tuning.judgements(history, **MINE) == [said]


def test_fields_that_are_not_given_stay_and_the_last_value_counts(
    history: History, clock: VirtualClock
) -> None:
    tuning.judge(
        history, **MINE, job_id="media_1", rating=2, tags=["dull"], rater="Ada"
    )
    later(clock, 60)
    tuning.judge(history, **MINE, job_id="media_1", keep=True, rater="Bob")
    said = tuning.judge(
        history, **MINE, job_id="media_1", rating=5, note="on a second look"
    )
    assert said == Judgement(
        "media_1",
        5,
        True,
        ("dull",),
        "on a second look",
        "",
        START + timedelta(minutes=1),
    )


def test_a_rating_tags_and_a_note_can_be_removed(history: History) -> None:
    tuning.judge(
        history, **MINE, job_id="media_1", rating=2, keep=True, tags=["dull"], note="x"
    )
    said = tuning.judge(
        history, **MINE, job_id="media_1", rating=None, keep=False, tags=[], note=""
    )
    assert (said.rating, said.keep, said.tags, said.note) == (None, False, (), "")


def test_a_rating_from_a_frame_is_a_whole_number_too(history: History) -> None:
    said = tuning.judge(history, **MINE, job_id="media_1", rating=np.int64(3))
    assert type(said.rating) is int


def test_judgements_of_any_number_of_jobs_are_read(
    history: History, clock: VirtualClock
) -> None:
    for job_id in ("media_2400", "media_7", "media_none"):
        tuning.judge(history, **MINE, job_id=job_id, rating=3)
        later(clock, 1)
    tuning.judge(
        history, service="sandbox", account="other", job_id="media_7", rating=1
    )

    found = tuning.judgements(history, **MINE, job_ids=IDS)
    assert [each.job_id for each in found] == ["media_2400", "media_7"]
    assert tuning.judgements(history, **MINE, job_ids=[]) == []
    assert len(tuning.judgements(history, **MINE)) == 3


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"rating": 0}, "rating must be a whole number from 1 to 5, or None"),
        ({"rating": 6}, "rating must be"),
        ({"rating": True}, "rating must be"),
        ({"rating": 4.5}, "rating must be"),
        ({"keep": 1}, "keep must be True or False"),
        ({"tags": "sharp"}, "tags must be up to 20 texts"),
        ({"tags": ["x" * 41]}, "of 1 to 40 characters"),
        ({"tags": [" "]}, "tags must be"),
        ({"tags": [5]}, "tags must be"),
        ({"tags": 5}, "tags must be"),
        ({"tags": [str(n) for n in range(21)]}, "tags must be"),
        ({"note": "x" * 2_001}, "a text of up to 2,000 characters"),
        ({"note": None}, "note must be"),
        ({"rater": 5, "rating": 4}, "rater must be"),
        ({"job_id": "", "rating": 4}, "job_id must be"),
    ],
)
def test_an_invalid_value_is_refused_with_a_sentence_and_changes_nothing(
    wrong: dict[str, Any], sentence: str, tmp_path: Path
) -> None:
    with History(tmp_path / "history.db") as history:
        before = tuning.judge(history, **MINE, job_id="media_1", rating=3)
        with pytest.raises(InputError) as caught:
            tuning.judge(history, **MINE, **{"job_id": "media_1", **wrong})
        assert sentence in str(caught.value)
        assert tuning.judgements(history, **MINE) == [before]


def test_comparisons_are_read_in_the_order_they_were_made(
    history: History, clock: VirtualClock
) -> None:
    tuning.prefer(history, **MINE, winner="media_2", loser="media_1", rater="Ada")
    later(clock, 1)
    tuning.prefer(history, **MINE, winner="media_1", loser="media_2", tie=True)
    later(clock, 1)
    tuning.prefer(history, **MINE, winner="media_2", loser="media_1", rater="Ada")
    tuning.prefer(history, service="sandbox", account="other", winner="a", loser="b")

    found = tuning.preferences(history, **MINE)
    assert found[0] == Preference("media_2", "media_1", False, "Ada", START)
    assert [(each.winner, each.tie) for each in found] == [
        ("media_2", False),
        ("media_1", True),
        ("media_2", False),
    ]


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"loser": "media_1"}, "loser must be another job"),
        ({"winner": None}, "winner must be a job id"),
        ({"tie": 1}, "tie must be"),
        ({"rater": "x" * 101}, "a text of up to 100 characters"),
    ],
)
def test_a_comparison_is_of_two_jobs(
    wrong: dict[str, Any], sentence: str, tmp_path: Path
) -> None:
    with History(tmp_path / "history.db") as history:
        with pytest.raises(InputError) as caught:
            tuning.prefer(
                history, **{**MINE, "winner": "media_1", "loser": "media_2", **wrong}
            )
        assert sentence in str(caught.value)
        assert tuning.preferences(history, **MINE) == []
