from datetime import UTC, datetime, timedelta

import pytest

from mediakit.client import JobState
from mediakit.money import MicroUSD
from mediakit.rates import Estimate, EstimateKind, per_second
from mediakit.records import ErrorCode
from mediakit.widgets.job.text import (
    FAILURES,
    asked_text,
    charge_text,
    clock_text,
    estimate_text,
    failure_of,
    over_usual,
    seconds_text,
    status_word,
    times_text,
)
from tests.support.job_states import (
    EXACT,
    NOON,
    RANGE,
    UNKNOWN,
    failed,
    settled,
    state_of,
)

USUAL = "; jobs of this function usually take 8.4 s."
OPEN_END = Estimate(MicroUSD(204_000), None, EstimateKind.UPPER_BOUND)
BY_LENGTH = Estimate.of([per_second("s", 0, None, 40_000, EstimateKind.UPPER_BOUND)])


def after(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (0.04, "0 s"),
        (4.2, "4.2 s"),
        (9.96, "10 s"),
        (59.4, "59 s"),
        (60, "1 min"),
        (72.3, "1 min 12 s"),
        (3_600, "1 h"),
        (7_512, "2 h 5 min"),
        (-3, "0 s"),
    ],
)
def test_a_length_of_time_is_written_as_people_say_it(
    seconds: float, text: str
) -> None:
    assert seconds_text(seconds) == text


def test_a_queued_job_tells_its_time_in_the_queue_and_that_it_starts_by_itself() -> (
    None
):
    text = clock_text(state_of("queued"), after(7.8))
    since = "In the queue for 7 s, since 12:00:00 UTC."
    assert text == f"{since} It starts when a slot is free."
    usual = clock_text(state_of("queued", usual_runtime_s=8.4), after(7.8))
    assert usual == f"{since} It starts when a slot is free{USUAL}"


def test_a_queued_job_from_elsewhere_tells_no_time() -> None:
    text = clock_text(state_of("queued", submitted_at=None), NOON)
    assert text == "In the queue. It starts when a slot is free."


def test_a_running_job_holds_its_time_against_the_usual_one() -> None:
    state = state_of("running", started_at=after(2), usual_runtime_s=8.4)
    text = "Running for 4 s. It was sent 6 s ago"
    assert clock_text(state, after(6)) == f"{text}{USUAL}"


def test_no_job_is_called_slow_for_it_may_be_longer_or_larger_than_the_others() -> None:
    state = state_of("running", started_at=after(2), usual_runtime_s=8.4)
    text = "Running for 18 s. It was sent 20 s ago"
    assert clock_text(state, after(20)) == f"{text}{USUAL}"


def test_a_running_job_from_elsewhere_is_timed_from_when_it_was_seen_to_run() -> None:
    more = {"submitted_at": None, "started_at": NOON, "usual_runtime_s": 8.4}
    text = clock_text(state_of("running", **more), after(6))
    assert text == f"Running for 6 s{USUAL}"


def test_a_running_job_without_a_usual_time_tells_its_own() -> None:
    state = state_of("running", started_at=NOON)
    assert clock_text(state, after(6)) == "Running for 6 s."
    assert not over_usual(state, after(6_000))


def test_a_running_job_whose_start_nobody_saw_does_not_invent_one() -> None:
    state = state_of("running", started_at=None, usual_runtime_s=8.0)
    text = "Running. It was sent 0 s ago; jobs of this function usually take 8 s."
    assert clock_text(state, NOON) == text


def test_an_ended_job_tells_how_long_it_waited_and_ran() -> None:
    assert times_text(state_of("completed")) == "3.9 s in the queue, ran 8.4 s"


def test_the_run_time_that_the_service_reports_comes_before_the_observed_one() -> None:
    state = state_of("completed", runtime_s=8.1)
    assert times_text(state) == "3.9 s in the queue, ran 8.1 s"


def test_a_job_that_nobody_watched_only_tells_when_it_had_ended() -> None:
    state = state_of("completed", started_at=None, finished_at=after(50_000))
    assert times_text(state) == "ended within 13 h 53 min of being submitted"


@pytest.mark.parametrize(
    ("missing", "text"),
    [
        ({"submitted_at": None}, "ran 8.4 s"),
        ({"submitted_at": None, "started_at": None, "runtime_s": 8.1}, "ran 8.1 s"),
        ({"submitted_at": None, "started_at": None}, ""),
        ({"finished_at": None}, ""),
    ],
)
def test_times_that_are_not_known_are_not_written(
    missing: dict[str, object], text: str
) -> None:
    assert times_text(state_of("completed", **missing)) == text


@pytest.mark.parametrize(
    ("estimate", "text"),
    [
        (EXACT, "$0.34 (exact)"),
        (RANGE, "$0.970704 to $7.29 (upper bound)"),
        (UNKNOWN, "unknown (you will be charged)"),
        (OPEN_END, "at least $0.204 (no upper price known)"),
        (BY_LENGTH, "$0.04 per s (no upper price known)"),
        (
            Estimate(MicroUSD(0), None, EstimateKind.UPPER_BOUND),
            "price not known yet (no upper price known)",
        ),
        (None, "none, because the job was submitted elsewhere"),
    ],
)
def test_an_estimate_is_written_with_its_kind(
    estimate: Estimate | None, text: str
) -> None:
    assert estimate_text(estimate) == text


def test_a_nominal_estimate_says_what_is_really_charged() -> None:
    nominal = Estimate(MicroUSD(5), MicroUSD(5), EstimateKind.NOMINAL)
    assert estimate_text(nominal).endswith("(estimate; billed by tokens used)")


@pytest.mark.spec("2.2")
@pytest.mark.parametrize(
    "billing", [None, {"state": "pending"}, {"state": "unavailable"}]
)
@pytest.mark.parametrize("status", ["queued", "running", "completed", "failed"])
def test_no_amount_is_written_before_the_charge_is_settled(
    status: str, billing: dict[str, str] | None
) -> None:
    text = charge_text(state_of(status, billing=billing))
    assert ("not charged" if status == "failed" else "settl") in text
    assert "$" not in text
    assert not any(character.isdigit() for character in text)


@pytest.mark.spec("2.2")
def test_an_unavailable_billing_says_that_it_cannot_be_read() -> None:
    state = state_of("completed", billing={"state": "unavailable"})
    assert charge_text(state) == (
        "settling… (the service cannot read it at the moment)"
    )


def test_a_billing_that_cannot_be_read_here_is_not_laid_to_the_service() -> None:
    billing = {"state": "refunded", "charge_micro_usd": 340_000}
    assert charge_text(state_of("completed", billing=billing)) == (
        "unknown (what the service says of it cannot be read here)"
    )


@pytest.mark.parametrize(
    ("estimate", "charge_micro_usd", "text"),
    [
        (EXACT, 340_000, "$0.34 as estimated"),
        (EXACT, 300_000, "$0.30 ($0.04 less than estimated)"),
        (EXACT, 340_001, "$0.340001 ($0.000001 more than estimated)"),
        (RANGE, 2_000_000, "$2.00 within the estimate"),
        (RANGE, 970_704, "$0.970704 within the estimate"),
        (RANGE, 7_290_001, "$7.290001 ($0.000001 more than estimated)"),
        (UNKNOWN, 126_000, "$0.126"),
        (None, 126_000, "$0.126"),
        (
            Estimate(MicroUSD(5), None, EstimateKind.UPPER_BOUND),
            9,
            "$0.000009 within the estimate",
        ),
    ],
)
def test_a_settled_charge_is_held_against_the_estimate(
    estimate: Estimate | None, charge_micro_usd: int, text: str
) -> None:
    state = state_of("completed", estimate=estimate, **settled(charge_micro_usd))
    assert charge_text(state) == text


def test_a_free_result_is_not_called_a_failure() -> None:
    state = state_of("completed", **settled(0))
    assert charge_text(state) == "$0.00 ($0.34 less than estimated)"


@pytest.mark.spec("7.3")
def test_a_failed_job_that_settled_at_zero_says_that_nothing_was_charged() -> None:
    assert charge_text(failed("internal", **settled(0))) == (
        "$0.00: nothing was charged"
    )


@pytest.mark.spec("7.3")
def test_a_failed_job_that_is_not_settled_says_what_holds_for_failed_jobs() -> None:
    assert charge_text(failed("internal")) == ("not charged, because the job failed")


@pytest.mark.spec("7.3")
@pytest.mark.parametrize("code", list(ErrorCode))
def test_every_error_code_has_plain_words_and_advice(code: ErrorCode) -> None:
    failure = failure_of(failed(code.value, "upstream said no"))
    assert failure is not None
    assert failure.code == code.value
    assert failure.happened.endswith(".")
    assert failure.advice.endswith(".")
    assert code.value not in failure.happened + failure.advice
    assert failure.said == f"The service says {code.value}: upstream said no"


def test_no_two_error_codes_have_the_same_sentence() -> None:
    happened = [words for words, _ in FAILURES.values()]
    assert len(set(happened)) == len(ErrorCode)


def test_an_error_code_that_is_new_to_us_reads_as_the_providers_error() -> None:
    failure = failure_of(failed("meteor_strike"))
    assert failure is not None
    assert failure.code == "provider_error"
    assert failure.said == "The service says provider_error."


def test_a_failure_without_an_error_is_still_explained() -> None:
    failure = failure_of(state_of("failed"))
    assert failure is not None
    assert failure.code == "provider_error"


def test_a_very_long_message_of_the_service_is_cut() -> None:
    failure = failure_of(failed("internal", "x" * 10_000))
    assert failure is not None
    assert len(failure.diagnostic) == 600
    assert failure.diagnostic.endswith("…")


@pytest.mark.parametrize("status", ["queued", "running", "completed"])
def test_a_job_that_did_not_fail_has_no_failure(status: str) -> None:
    assert failure_of(state_of(status)) is None


@pytest.mark.parametrize(
    ("state", "word"),
    [
        (state_of("queued"), "Queued"),
        (state_of("failed"), "Failed"),
        (state_of("completed", deleted_at=datetime(2026, 3, 2, tzinfo=UTC)), "Erased"),
    ],
)
def test_the_status_is_one_word(state: JobState, word: str) -> None:
    assert status_word(state) == word


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (
            {"audio": "off", "duration": 5, "prompt": "a", "resolution": "720p"},
            "5 s · 720p · audio off",
        ),
        (
            {"duration": "auto", "draft": True, "watermark": False},
            "duration auto · draft",
        ),
        (
            {"image_url": "https://a.test/x.png", "model": "cgi", "sharpen": 0.4},
            "cgi · sharpen 0.4",
        ),
        (
            {"images": ["a", "b"], "transition_durations_s": [3, 5], "seed": None},
            "transition durations 3, 5 s · 2 images",
        ),
        ({"image_urls": ["a"], "video_urls": []}, "1 image"),
        ({"transition_duration_s": 4}, "transition duration 4 s"),
        ({}, ""),
    ],
)
def test_what_was_asked_for_is_one_line(body: dict[str, object], text: str) -> None:
    assert asked_text(body) == text
