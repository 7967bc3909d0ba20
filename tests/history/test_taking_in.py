"""Entries that are taken in as a whole: below all that is there, each once."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from mediakit.history import (
    BudgetUse,
    Entry,
    EntryState,
    History,
    Judgement,
    rebuilding,
    tuning,
)
from mediakit.history.database import LONGEST_LIST
from mediakit.history.entry import fresh_entry
from mediakit.records import JobStatus
from tests.support.submissions import HERE, submission

LONG_AGO = datetime(2024, 1, 1, tzinfo=UTC)
COUNT = LONGEST_LIST * 2 + 1


def past(count: int, charge_micro_usd: int = 7) -> list[Entry]:
    return [_settled(n, charge_micro_usd) for n in range(count)]


def _settled(n: int, charge_micro_usd: int) -> Entry:
    at = LONG_AGO + timedelta(minutes=n)
    entry = fresh_entry(submission(f"past-{n}"), number=0, created_at=at)
    return replace(
        entry,
        state=EntryState.SETTLED,
        job_id=f"media_{n}",
        settled_at=at,
        charge_micro_usd=charge_micro_usd,
        status=JobStatus.COMPLETED,
    )


def test_many_entries_are_older_than_all_and_keep_their_order(place: str) -> None:
    with History(place) as history:
        real, _ = history.claim(submission("real"))

        assert rebuilding.take_in(history, past(COUNT)) == COUNT

        later, _ = history.claim(submission("later"))
        frame = history.frame()
        keys = [later.key, real.key, *(f"past-{n}" for n in reversed(range(COUNT)))]
        assert list(frame["key"]) == keys
        assert later.number > real.number > 0


@pytest.mark.parametrize("place", ["sqlite", "postgres"], indirect=True)
def test_what_is_known_stays_and_the_rest_is_added(place: str) -> None:
    with History(place) as history:
        rebuilding.take_in(history, past(3))
        added = rebuilding.take_in(history, past(5, charge_micro_usd=9))

        assert added == 2
        charges = history.frame().set_index("key")["charge_micro_usd"]
        assert charges.to_dict() == {f"past-{n}": 7 if n < 3 else 9 for n in range(5)}
        assert history.settled_total_micro_usd() == 3 * 7 + 2 * 9
        assert history.account_use(**HERE) == BudgetUse(3 * 7 + 2 * 9, 0)
        assert list(history.search("media_1")["key"]) == ["past-1"]
        assert rebuilding.take_in(history, []) == 0


def test_a_judgement_comes_with_its_entry_and_never_changes_one(place: str) -> None:
    judged = {
        f"past-{n}": Judgement(f"media_{n}", 4, True, ("calm",), "", "", LONG_AGO)
        for n in (1, 2, 9)
    }
    with History(place) as history:
        rebuilding.take_in(history, past(2), judged)
        entry = history.find("media_1")
        assert entry is not None
        owner = {"service": entry.service, "account": entry.account}
        tuning.judge(
            history,
            service=entry.service,
            account=entry.account,
            job_id="media_1",
            rating=1,
        )
        rebuilding.take_in(history, past(3), judged)

        found = {each.job_id: each for each in tuning.judgements(history, **owner)}

    assert set(found) == {"media_1", "media_2"}
    assert found["media_1"].rating == 1
    assert found["media_2"] == judged["past-2"]
