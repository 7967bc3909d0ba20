import asyncio
from datetime import UTC, datetime, timedelta

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mediakit.api_models import BillingState, JobStatus
from mediakit.errors import ServiceError
from mediakit.history import EntryState, History
from tests.support.soak import trials
from tests.support.submissions import (
    HERE,
    OUTPUT,
    START,
    completed,
    failed,
    job,
    race,
    start,
    submission,
)
from tests.support.virtual_clock import VirtualClock

# -- claiming ---------------------------------------------------------------------


def test_a_claim_writes_the_whole_submission(history):
    entry, is_new = history.claim(
        submission(
            body=b'{"prompt": "\xc3\xa9 "}', webhook_url="https://example.org/hook"
        )
    )
    assert is_new
    assert entry.state is EntryState.UNANSWERED
    assert entry.body == b'{"prompt": "\xc3\xa9 "}'
    assert entry.webhook_url == "https://example.org/hook"
    assert entry.created_at == START
    assert entry.job_id is entry.status is entry.charge_micro_usd is None
    assert history.find_key("k1") == entry


def test_a_refused_key_can_be_claimed_again(history):
    first, _ = history.claim(submission())
    history.record_refusal("k1", code="auth", message="The API key is invalid.")
    again, is_new = history.claim(submission(reserved_micro_usd=500_000))
    assert is_new
    assert again.state is EntryState.UNANSWERED
    assert again.error_code is again.error_message is None
    assert (again.number, again.reserved_micro_usd) == (first.number, 500_000)
    assert history.unanswered_entries(**HERE) == [again]
    assert history.account_use(**HERE).reserved_micro_usd == 500_000
    assert history.claim(submission())[1] is False


def test_each_key_is_claimed_once_by_processes_that_race_from_the_first_moment(place):
    script = """
import sys
from mediakit.history import History
from tests.support.submissions import submission
sys.stdin.readline()
history = History(sys.argv[1])
print(*(n for n in range(150) if history.claim(submission(key=f"k{n}"))[1]))
"""
    won = race([start(script, place) for _ in range(4)])
    claimed = sorted(int(number) for numbers in won for number in numbers.split())
    assert claimed == list(range(150))
    with History(place) as history:  # it has one version, or it would be refused
        assert len(history.page(limit=1_000)) == 150


# -- outcomes ---------------------------------------------------------------------


def test_an_entry_follows_its_job_and_has_the_time_of_each_step(place):
    clock = Ticking()
    with History(place, clock=clock) as history:
        history.claim(submission())
        steps = [
            job("queued"),
            job("running"),
            job("completed", output=OUTPUT),
            completed(),
        ]
        seen = [history.record_job("k1", record) for record in steps]
        found = history.find("media_1")
    assert [entry.state for entry in seen] == [
        EntryState.SUBMITTED,
        EntryState.SUBMITTED,
        EntryState.TERMINAL,
        EntryState.SETTLED,
    ]
    assert seen[2].charge_micro_usd is None
    assert found == seen[3]
    assert found.charge_micro_usd == 340_000
    assert (found.media_type, found.content_type) == ("video", "video/mp4")
    assert found.created_at < found.submitted_at < found.finished_at < found.settled_at
    kinds = (EntryState, JobStatus, BillingState)
    for value, kind in zip(
        (found.state, found.status, found.billing_state), kinds, strict=True
    ):
        assert type(value) is kind


class Ticking:
    def __init__(self):
        self.ticks = 0

    def now(self):
        self.ticks += 1
        return START + timedelta(seconds=self.ticks)


@pytest.mark.spec("2.2")
@pytest.mark.parametrize("billing", [None, {"state": "pending"}])
def test_a_billing_that_is_not_settled_is_not_a_charge(history, billing):
    history.claim(submission())
    entry = history.record_job("k1", job("completed", output=OUTPUT, billing=billing))
    assert entry.charge_micro_usd is None
    assert entry.state is EntryState.TERMINAL
    assert history.settled_total_micro_usd() == 0
    assert history.unsettled(service="sandbox") == [entry]


@pytest.mark.spec("2.2")
def test_a_failed_job_settles_at_a_real_zero(history):
    history.claim(submission())
    entry = history.record_job(
        "k1", failed(billing={"state": "settled", "charge_micro_usd": 0})
    )
    assert (entry.state, entry.charge_micro_usd) == (EntryState.SETTLED, 0)
    assert entry.error_code == "provider_error"
    assert history.unsettled(service="sandbox") == []


@pytest.mark.spec("2.2")
def test_the_first_settled_charge_stays_and_a_later_amount_is_stored_beside_it(history):
    history.claim(submission())
    history.record_job("k1", completed(340_000))
    restated = history.record_job("k1", completed(680_000))
    assert restated.charge_micro_usd == 340_000
    assert restated.restated_charge_micro_usd == 680_000
    assert history.settled_total_micro_usd() == 340_000
    agreed = history.record_job("k1", completed(340_000))
    assert agreed.restated_charge_micro_usd is None


@pytest.mark.spec("3.1")
def test_an_erased_job_keeps_prompt_body_and_charge_but_no_dead_link(history):
    history.claim(submission())
    history.record_job("k1", completed())
    erased = job("completed", deleted_at="2026-10-02T00:00:00Z")
    entry = history.record_job("k1", erased)
    assert entry.deleted_at == datetime(2026, 10, 2, tzinfo=UTC)
    assert entry.output_url is None
    assert (entry.prompt, entry.body) == ("a kite", submission().body)
    assert (entry.charge_micro_usd, entry.content_type) == (340_000, "video/mp4")
    assert history.record_job("k1", completed()).output_url is None


def test_the_newest_output_url_counts_because_a_sandbox_changes_ports(history):
    history.claim(submission())
    history.record_job("k1", completed())
    moved = "http://127.0.0.1:9999/files/out.mp4"
    output = {"media_type": "video", "video": {"url": moved}}
    entry = history.record_job("k1", job("completed", output=output))
    assert (entry.output_url, entry.content_type) == (moved, "video/mp4")


@pytest.mark.spec("4.3")
def test_a_refusal_is_stored_with_its_reason_and_holds_nothing(history):
    history.claim(submission())
    entry = history.record_refusal("k1", code="422", message="prompt is required")
    assert entry.state is EntryState.REFUSED
    assert (entry.error_code, entry.error_message) == ("422", "prompt is required")
    assert entry.job_id is None
    assert history.account_use(**HERE).reserved_micro_usd == 0
    assert history.unanswered_entries(**HERE) == []


def test_a_job_replaces_a_refusal_in_either_order(history):
    history.claim(submission())
    history.record_refusal("k1", code="401", message="bad key")
    after = history.record_job("k1", job("running"))
    assert after.state is EntryState.SUBMITTED
    assert after.error_code is after.error_message is None
    assert history.record_refusal("k1", code="401", message="bad key") == after


def test_a_job_can_have_an_id_that_no_database_can_store(history):
    history.claim(submission())
    assert history.record_job("k1", job(job_id="media\0\ud800")).job_id
    assert history.find("media\0\ud800").key == "k1"
    history.claim(submission("k2"))
    with pytest.raises(ServiceError, match="the job of another request"):
        history.record_job("k2", job(job_id="media\0\ud800"))


@st.composite
def lives(draw):
    """All the records of one job, from queued to settled or erased."""
    end = draw(st.sampled_from(["completed", "failed"]))
    charge = draw(st.integers(0, 10**12)) if end == "completed" else 0
    ended = {"output": OUTPUT} if end == "completed" else {}
    if end == "failed":
        ended = {"error": {"code": "timed_out", "message": "too slow"}}
    states = [None, {"state": "unavailable"}, {"state": "pending"}]
    states.append({"state": "settled", "charge_micro_usd": charge})
    last = [job(end, **ended, billing=state) for state in states]
    ended.pop("output", None)
    erased = job(end, **ended, billing=states[3], deleted_at="2026-10-02T00:00:00Z")
    return [job("queued"), job("running"), *last, erased]


@settings(max_examples=trials(30, soak=100))
@given(data=st.data(), life=lives())
def test_records_in_any_order_and_number_end_in_the_same_entry(data, life):
    seen = data.draw(st.lists(st.sampled_from(range(len(life))), min_size=1))
    in_order = sorted(set(seen))
    assert after([life[n] for n in seen]) == after([life[n] for n in in_order])


def after(records):
    with History("sqlite://", clock=VirtualClock(START)) as history:
        entry, _ = history.claim(submission())
        for record in records:
            entry = history.record_job("k1", record)
        assert history.find_key("k1") == entry
        return entry


# -- money ------------------------------------------------------------------------


def test_the_settled_total_can_be_of_an_account_and_begin_at_an_instant(place):
    clock = VirtualClock(START)
    with History(place, clock=clock) as history, asyncio.Runner() as runner:
        history.claim(submission("k1"))
        history.record_job("k1", completed(1, job_id="media_1"))
        runner.run(clock.advance(60))
        history.claim(submission("k2"))
        history.record_job("k2", completed(20, job_id="media_2"))
        history.claim(submission("k3", account="other"))
        history.record_job("k3", completed(300, job_id="media_3"))
        later = clock.now()
        assert history.settled_total_micro_usd() == 321
        assert history.settled_total_micro_usd(START, **HERE) == 21
        assert history.settled_total_micro_usd(later, **HERE) == 20
        assert history.settled_total_micro_usd(account="other") == 300
        assert history.settled_total_micro_usd(later, service="hosted") == 0


# -- reading ----------------------------------------------------------------------


def test_one_attempt_is_written_once_although_its_exact_content_has_changed(history):
    wanted = {"asked_key": "the clip of media_1"}
    first, is_new = history.claim(submission("k1", draw_key="d1", **wanted))
    again, is_new_again = history.claim(submission("k2", draw_key="d2", **wanted))
    assert (is_new, is_new_again) == (True, False)
    assert again == first
    history.record_refusal("k1", code="422", message="no")
    fresh, is_new = history.claim(submission("k2", draw_key="d2", **wanted))
    assert (fresh.key, fresh.number, is_new) == ("k2", first.number, True)
    assert len(history.page()) == 1


# -- the frame --------------------------------------------------------------------


def test_the_frame_has_a_typed_row_per_submission_newest_first(history):
    largest = 9_007_199_254_740_991
    history.claim(submission("k1"))
    history.record_job("k1", completed(largest))
    no_price = {"estimate_low_micro_usd": None, "estimate_high_micro_usd": None}
    history.claim(submission("k2", prompt=None, estimate_kind="unknown", **no_price))
    frame = history.frame()
    assert frame["key"].tolist() == ["k2", "k1"]
    assert frame["charge_micro_usd"].isna().tolist() == [True, False]
    assert frame.loc[1, "charge_micro_usd"] == largest
    assert frame.loc[1, ["kind", "state", "status", "billing_state"]].tolist() == [
        "text-to-video",
        "settled",
        "completed",
        "settled",
    ]
    assert frame.loc[1, "created_at"] == pd.Timestamp(START)
    assert frame["settled_at"].isna().tolist() == [True, False]
    assert pd.isna(frame.loc[0, "prompt"])


# -- the database -----------------------------------------------------------------


def test_the_usual_runtime_is_the_median_of_completed_jobs_and_none_before(tmp_path):
    clock = VirtualClock(START)
    with History(tmp_path / "h.db", clock=clock) as history, asyncio.Runner() as runner:
        function = {
            "service": "sandbox",
            "kind": submission().kind,
            "function": submission().function,
        }
        assert history.usual_runtime_s(**function) is None
        for number, seconds in enumerate([10, 30, 500]):
            key = f"k{number}"
            history.claim(submission(key))
            history.record_job(key, job(job_id=f"media_{number}"))
            runner.run(clock.advance(seconds))
            history.record_job(key, completed(job_id=f"media_{number}"))

        assert history.usual_runtime_s(**function) == 30
        assert history.usual_runtime_s(**function | {"service": "other"}) is None


def test_the_writes_of_another_process_are_not_lost(place):
    with History(place) as mine, History(place) as others:
        entry, _ = mine.claim(submission())
        mine.record_job(entry.key, job("running"))
        others.record_job(entry.key, completed(204_000))

        after = mine.record_job(entry.key, completed(999_000))

        assert after.charge_micro_usd == 204_000
        assert after.restated_charge_micro_usd == 999_000
        assert others.find_key(entry.key) == after


def test_an_entry_s_repr_shows_neither_body_nor_webhook_url(history):
    hook = "https://example.org/hook?token=hunter2"
    entry, _ = history.claim(submission(body=b"hunter2", webhook_url=hook))
    assert "hunter2" not in repr(entry)
    assert "a kite" in repr(entry)
