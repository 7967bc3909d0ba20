"""The studio's queries of the history, and its rows."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from mediakit import Client
from mediakit.api_models import JobStatus
from mediakit.catalog import Catalog
from mediakit.client.job_acts import ACTS, act_of
from mediakit.errors import InputError, MediakitError
from mediakit.history import Entry, EntryState, ratings
from mediakit.history.entry import fresh_entry
from mediakit.widgets.studio.functions import offers_of
from mediakit.widgets.studio.history import (
    HOW_TO_BEGIN,
    NO_MATCH,
    Page,
    Query,
    Selection,
    row_of,
    settings_of,
)
from tests.support.submissions import job, submission

CATALOG = Catalog.default()
AT = datetime(2026, 5, 1, 14, 30, tzinfo=UTC)


def entry(number: int = 1, **changes: Any) -> Entry:
    made = fresh_entry(submission(f"k{number}"), number=number, created_at=AT)
    return replace(made, **changes)


def done(number: int = 1, **changes: Any) -> Entry:
    """A job that has ended with a result."""
    ended = {"status": JobStatus.COMPLETED, "job_id": f"media_{number}"}
    result = {"output_url": "https://a.test/1.mp4", "media_type": "video"}
    return entry(number, **{**ended, **result, "charge_micro_usd": 204_000, **changes})


def test_every_function_is_offered_with_its_price_and_found_by_what_it_makes() -> None:
    offers = {offer.title: offer for offer in offers_of(CATALOG)}
    assert len(offers) == len(CATALOG)
    assert offers["Text to video"].price == "from $0.068 a second"
    assert offers["R1 · reference to video"].price == "billed by tokens used"
    assert "picture" in offers["Image upscale"].searched


@pytest.mark.parametrize(
    ("changes", "state", "charge"),
    [
        ({}, "No answer yet", "not charged yet"),
        ({"status": JobStatus.RUNNING, "job_id": "j"}, "Running", "not charged yet"),
        ({"status": JobStatus.COMPLETED, "job_id": "j"}, "Completed", "settling…"),
        ({"charge_micro_usd": 0, "status": JobStatus.COMPLETED}, "Completed", "$0.00"),
        ({"status": JobStatus.FAILED, "job_id": "j"}, "Failed", "not charged"),
        ({"deleted_at": AT, "charge_micro_usd": 5}, "Erased", "$0.000005"),
        ({"gone_at": AT}, "Gone from the service", "charge unknown"),
    ],
)
def test_a_row_says_how_a_job_stands_and_what_it_cost(
    changes: dict[str, Any], state: str, charge: str
) -> None:
    row = row_of(entry(**changes), CATALOG)
    assert (row["state"], row["charge"]) == (state, charge)
    assert row["date"] == "2026-05-01 14:30"


def test_rows_of_one_prompt_are_told_apart_by_their_settings() -> None:
    bodies = [{"prompt": "a kite", "duration": each} for each in (3, 5)]
    rows = [row_of(entry(body=json.dumps(each).encode()), CATALOG) for each in bodies]
    assert [row["settings"] for row in rows] == ["3 s", "5 s"]


def test_a_row_without_a_job_says_why() -> None:
    refused = entry(state=EntryState.REFUSED, error_message="duration: got 99")
    assert row_of(refused, CATALOG)["problem"].endswith("duration: got 99")
    assert "did not answer" in row_of(entry(), CATALOG)["problem"]
    assert row_of(done(), CATALOG)["problem"] == ""


def test_settings_are_those_that_were_sent_but_for_where_the_end_is_posted() -> None:
    body = json.dumps({"prompt": "a kite", "webhook_url": "https://a.test"}).encode()
    assert settings_of(entry(body=body)) == {"prompt": "a kite"}
    with pytest.raises(MediakitError, match="not submitted from this history"):
        settings_of(entry(body=b"{}"))


def test_a_page_says_where_it_is_and_why_it_is_empty() -> None:
    assert Page().text == "Reading the history…"
    assert Page(entries=()).text == HOW_TO_BEGIN
    assert Page(Query(tag="good"), ()).text == NO_MATCH
    assert Page(entries=(done(),)).text == "1 job · Times are in UTC."
    later = Page(entries=(done(), done(2)), before=(done(3),))
    assert later.text.startswith("Jobs 21 to 22 of 22")
    assert replace(later, has_more=True).text.startswith("Jobs 21 to 22 ·")


def test_selected_jobs_are_counted_and_summed_and_their_acts_offered() -> None:
    selection = Selection([done(1), done(2, charge_micro_usd=None)])
    selection.add([entry(3), done(1), done(4, deleted_at=AT)])
    assert selection.text == "4 selected · $0.408 charged · 1 not settled yet"
    assert [e.number for e in selection.able(act_of(ACTS, "save"))] == [1, 2]
    assert [e.number for e in selection.able(act_of(ACTS, "erase"))] == [1, 2]
    selection.renew([done(2, charge_micro_usd=1), done(9)])
    assert selection.numbers == [1, 2, 3, 4]
    selection.remove([done(1), entry(3), done(4)])
    assert selection.text == "1 selected · $0.000001 charged"


def test_the_history_is_narrowed_by_words_rating_tag_sweep_and_day(
    client: Client,
) -> None:
    store, service = client.components.store, client.service.identity
    owner: dict[str, Any] = client.components.account_history.owner
    for number in range(4):
        mine = submission(f"k{number}", prompt=f"kite {number}", sweep="s1")
        mine = replace(mine, service=service, account=owner["account"])
        store.claim(mine if number else replace(mine, sweep=None))
        store.record_job(f"k{number}", job(job_id=f"media_{number}"))
    for number, rating in enumerate((None, 2, 4, 5)):
        tags = ["best ☀"] if rating == 4 else ["50%"]
        its: dict[str, Any] = {**owner, "job_id": f"media_{number}"}
        ratings.judge(store, **its, rating=rating, keep=rating == 5, tags=tags)

    def found(**wishes: str) -> list[str | None]:
        page = client.history.page(**Query(**wishes).wanted)
        return [each.prompt for each in page]

    assert found() == ["kite 3", "kite 2", "kite 1", "kite 0"]
    assert found(rating="4") == ["kite 3", "kite 2"]
    assert found(keep="yes") == ["kite 3"]
    assert found(keep="no", rating="2") == ["kite 2", "kite 1"]
    assert found(tag="best ☀") == ["kite 2"]
    assert found(tag="5") == []
    assert found(tag="50%", text="1") == ["kite 1"]
    assert found(sweep="s1", order="oldest") == ["kite 1", "kite 2", "kite 3"]
    today = f"{client.history.page(limit=1)[0].created_at:%Y-%m-%d}"
    assert len(found(since=today, until=today)) == 4
    assert found(until="2020-01-01") == []
    assert found(since="2999-01-01") == []
    with pytest.raises(InputError, match="until"):
        found(until="yesterday")
    assert ratings.tags(store, **owner) == ["50%", "best ☀"]
