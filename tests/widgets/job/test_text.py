from datetime import datetime, timedelta

import pytest

from mediakit.api_models import ErrorCode
from mediakit.client import JobState
from mediakit.estimates import Estimate, EstimateKind, per_second
from mediakit.money import MicroUSD
from mediakit.widgets.job.text import (
    charge_text,
    clock_of,
    estimate_text,
    failure_of,
    seconds_text,
    settings_text,
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

OPEN_END = Estimate(MicroUSD(204_000), None, EstimateKind.UPPER_BOUND)
NOMINAL = Estimate(MicroUSD(5), MicroUSD(5), EstimateKind.NOMINAL)
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


@pytest.mark.parametrize(
    ("state", "since", "text"),
    [
        (
            state_of("queued"),
            NOON,
            "In the queue for …, since 12:00:00 UTC. It starts when a slot is free.",
        ),
        (
            state_of("queued", submitted_at=None, usual_runtime_s=8.4),
            None,
            "In the queue. It starts when a slot is free, then usually about 8.4 s.",
        ),
        # It is not called slow: it may be longer or larger than the others.
        (
            state_of("running", started_at=after(2), usual_runtime_s=84),
            after(2),
            "Running for …; usually about 1 min 24 s.",
        ),
        (state_of("running", started_at=NOON), NOON, "Running for …."),
        (
            state_of("running", started_at=None, usual_runtime_s=8.4),
            None,
            "Running; usually about 8.4 s.",
        ),
    ],
)
def test_a_job_that_is_under_way_tells_where_its_time_goes(
    state: JobState, since: datetime | None, text: str
) -> None:
    clock = clock_of(state)
    assert clock is not None
    assert clock.since == since
    assert f"{clock.before}{'…' if since else ''}{clock.after}" == text
    assert clock_of(state_of("completed")) is None


@pytest.mark.parametrize(
    ("known", "text"),
    [
        ({}, "3.9 s in the queue, ran 8.4 s"),
        ({"runtime_s": 8.1}, "3.9 s in the queue, ran 8.1 s"),  # the service's own
        (
            {"started_at": None, "finished_at": after(50_000)},
            "finished in under 13 h 53 min",
        ),
        ({"submitted_at": None}, "ran 8.4 s"),
        ({"submitted_at": None, "started_at": None, "runtime_s": 8.1}, "ran 8.1 s"),
        ({"submitted_at": None, "started_at": None}, ""),
        ({"finished_at": None}, ""),
    ],
)
def test_an_ended_job_tells_its_times_as_far_as_they_are_known(
    known: dict[str, object], text: str
) -> None:
    assert times_text(state_of("completed", **known)) == text


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
        (NOMINAL, "$0.000005 (estimate · billed by tokens used)"),
        (None, "none, because the job was submitted elsewhere"),
    ],
)
def test_an_estimate_is_written_with_its_kind(
    estimate: Estimate | None, text: str
) -> None:
    assert estimate_text(estimate) == text


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


@pytest.mark.spec("2.2", "7.3")
@pytest.mark.parametrize(
    ("state", "text"),
    [
        (
            state_of("completed", billing={"state": "unavailable"}),
            "settling… (the service cannot read it at the moment)",
        ),
        (
            state_of("completed", billing={"state": "refunded", "charge_micro_usd": 1}),
            "unknown (the service's answer cannot be read)",
        ),
        (state_of("completed", **settled(0)), "$0.00 ($0.34 less than estimated)"),
        (failed("internal", **settled(0)), "$0.00: nothing was charged"),
        (failed("internal"), "not charged, because the job failed"),
    ],
)
def test_the_known_facts_about_a_charge_are_shown(state: JobState, text: str) -> None:
    assert charge_text(state) == text


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


@pytest.mark.spec("7.3")
def test_every_error_code_has_an_explanation_and_advice() -> None:
    happened = set()
    for code in ErrorCode:
        failure = failure_of(failed(code.value, "upstream said no"))
        assert failure is not None
        assert failure.happened.endswith(".")
        assert failure.advice.endswith(".")
        assert code.value not in failure.happened + failure.advice
        assert failure.said == f"The service says {code.value}: upstream said no"
        happened.add(failure.happened)
    assert len(happened) == len(ErrorCode)


@pytest.mark.parametrize("state", [failed("meteor_strike"), state_of("failed")])
def test_a_failure_of_no_known_code_reads_as_the_providers_error(
    state: JobState,
) -> None:
    failure = failure_of(state)
    assert failure is not None
    assert failure.said.startswith("The service says provider_error")


def test_a_very_long_message_of_the_service_is_cut() -> None:
    failure = failure_of(failed("internal", "x" * 10_000))
    assert failure is not None
    assert len(failure.said) == 600 + len("The service says internal: ")
    assert failure.said.endswith("…")


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
def test_the_request_is_shown_in_one_line(body: dict[str, object], text: str) -> None:
    assert settings_text(body) == text
